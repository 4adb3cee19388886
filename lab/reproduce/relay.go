package reproduce

import (
	"fmt"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/stats"
)

// hopDelay is how long the second service takes.
const hopDelay = 10 * time.Millisecond

// keptUpstream is how many idle connections NGINX keeps to the replicas where
// an arm says that it keeps them.
const keptUpstream = 64

// relay compares the hop from one service to the next: HTTP/1.1 or gRPC, to one
// server or to three behind NGINX.
func relay() Article {
	const callers = 50
	one := func(arm string) Value {
		return Value{Experiment: "one", Arm: arm, Callers: callers, Figure: stats.MedianTime}
	}
	three := func(arm string) Value {
		return Value{Experiment: "three", Arm: arm, Callers: callers, Figure: stats.MedianTime}
	}
	a := Article{
		Name:  "relay",
		Title: "Effectively communicate between Microservices",
		System: "50 callers call service A by HTTP/1.1; A calls B, which answers after 10 ms. The call from A to B is by HTTP/1.1 or by gRPC: " +
			"to one B, or to three behind NGINX or behind A's own round robin.",
		Experiments: []Experiment{
			{Name: "one", Plan: func(s Scale, _ Machine) plan.Plan {
				p := hop(s, callers, arms(httpEachCall, httpKept, "grpc", jsonTCP, ref.NetHTTP, ref.GRPCGo))
				return again(p)
			}},
			{Name: "three", Plan: func(s Scale, m Machine) plan.Plan {
				p := hop(s, callers, []plan.Arm{
					nginx("rest", 0, false), nginx("rest", keptUpstream, false), nginx("rest", keptUpstream, true),
					nginx("grpc", keptUpstream, true), nginx(jsonTCP, 0, false), balanced("rest"), balanced("grpc"), balanced(jsonTCP),
				})
				p.Baseline = nginx("rest", 0, false).Name
				exclude(&p, m.NoNginx, func(a plan.Arm) bool { return a.Cluster.Balancer == plan.Nginx })
				if m.NoNginx != "" {
					p.Baseline = balanced("rest").Name
				}
				return again(p)
			}},
		},
		Tables: []Table{{Caption: "Median time of a call of A, in ms, of which 10 are B's timer", Unit: "ms", Rows: []Row{
			{Label: "one B, HTTP/1.1", Published: 37, Ours: one(httpEachCall)},
			{Label: "one B, HTTP/1.1, connection kept", Ours: one(httpKept), Base: one(httpEachCall)},
			{Label: "one B, gRPC", Published: 27, Ratio: 0.73, Ours: one("grpc"), Base: one(httpEachCall)},
			{Label: "three Bs behind NGINX, HTTP/1.1", Ours: three(nginx("rest", 0, false).Name)},
			{Label: "the same, NGINX keeps connections", Ours: three(nginx("rest", keptUpstream, false).Name), Base: three(nginx("rest", 0, false).Name)},
			{Label: "the same, and TLS", Ours: three(nginx("rest", keptUpstream, true).Name), Base: three(nginx("rest", 0, false).Name)},
			{Label: "three Bs behind NGINX, gRPC, TLS", Ratio: 0.69, Ours: three(nginx("grpc", keptUpstream, true).Name), Base: three(nginx("rest", 0, false).Name)},
			{Label: "three Bs, round robin, HTTP/1.1", Ours: three(balanced("rest").Name), Base: three(nginx("rest", 0, false).Name)},
			{Label: "three Bs, round robin, gRPC", Ours: three(balanced("grpc").Name), Base: three(nginx("rest", 0, false).Name)},
		}}},
		Claims: []Claim{
			{
				Short: "one B, gRPC : HTTP",
				Says:  "gRPC to one B is 27 % faster than HTTP/1.1", Published: 1 / 0.73, Where: "through one B",
				Over: one("grpc"), OverName: "gRPC", Under: one(httpEachCall), UnderName: "HTTP/1.1 with a connection for each call, as there",
			},
			{Short: "one B, gRPC : HTTP kept", Over: one("grpc"), OverName: "gRPC", Under: one(httpKept), UnderName: "HTTP/1.1 that keeps its connections", Where: "through one B"},
			{Short: "one B, grpc-go : net/http", Over: one(ref.GRPCGo), OverName: "grpc-go", Under: one(ref.NetHTTP), UnderName: "net/http, neither of them ours,", Where: "through one B"},
			{
				Short: "NGINX, gRPC : HTTP",
				Says:  "gRPC to three Bs behind NGINX is 31 % faster than HTTP/1.1", Published: 1 / 0.69, Where: "through NGINX",
				Over: three(nginx("grpc", keptUpstream, true).Name), OverName: "gRPC with TLS",
				Under: three(nginx("rest", 0, false).Name), UnderName: "HTTP/1.1 that NGINX opens a connection for each call for, as there",
			},
			{
				Short: "NGINX, TLS, gRPC : HTTP kept",
				Over:  three(nginx("grpc", keptUpstream, true).Name), OverName: "gRPC with TLS",
				Under: three(nginx("rest", keptUpstream, true).Name), UnderName: "HTTP/1.1 with TLS and kept connections", Where: "through NGINX",
			},
			{
				Short: "gRPC, round robin : NGINX",
				Over:  three(balanced("grpc").Name), OverName: "gRPC with round robin in A",
				Under: three(nginx("grpc", keptUpstream, true).Name), UnderName: "gRPC through NGINX",
			},
		},
		Differs: []string{
			"\"27 % faster\" is read as 27 % less time in the median. Of each call 10 ms are B's timer, which no protocol shortens.",
			"The article's HTTP client opened a connection for each call, and its HTTP server logged each response while its gRPC server did not; its gRPC had TLS, its HTTP had not. Here each of these is an arm of its own.",
			"A, its Bs and NGINX share the cores of one machine, so that the time of a call here is mostly their CPU time under 50 callers, not the network's.",
			"NGINX before 1.29.7 speaks HTTP/1.0 to its upstreams and keeps no connection unless it is told to: arms that keep them say so.",
			"Behind a balancer of connections (NGINX's stream) every call of one connection goes to one B; behind NGINX's http and grpc, and with round robin in A, each call is balanced: the calls of each replica stand below.",
		},
	}
	return a
}

// hop is a plan of the relay.
func hop(s Scale, callers int, arms []plan.Arm) plan.Plan {
	p := basic("relay", s, callers)
	p.Arms, p.Baseline, p.Front, p.Delay = arms, arms[0].Name, "rest", hopDelay
	switch s {
	case Full:
		p.Warmup, p.Measure = 150*time.Millisecond, 800*time.Millisecond
	case Quick:
		p.Measure = 300 * time.Millisecond
	case AsPublished:
		p.Shape.Ramp, p.Shape.Calls, p.Measure = 5*time.Second, 2000, 20*time.Minute
	}
	return p
}

// nginx is an arm with three replicas behind NGINX.
func nginx(target string, keep int, tls bool) plan.Arm {
	a := arm(target)
	a.Name = fmt.Sprintf("%s, nginx", target)
	if tls {
		a.Target += "+tls"
	}
	if keep > 0 && target == "rest" {
		a.Name += " keeping connections"
	}
	if tls {
		a.Name += ", TLS"
	}
	a.Cluster = &plan.Cluster{Replicas: 3, Balancer: plan.Nginx, KeepAlive: keep, TLS: tls}
	return a
}

// balanced is an arm with three replicas over which A spreads its calls.
func balanced(target string) plan.Arm {
	a := arm(target)
	a.Name = target + ", round robin"
	a.Cluster = &plan.Cluster{Replicas: 3, Balancer: plan.RoundRobin}
	return a
}
