package reproduce

import (
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/stats"
)

// The arms of the authentication service.
const (
	authRPC  = "jsonrpc+http?version=1.0"
	authREST = "rest"
)

// lightauth compares an authentication service by JSON-RPC with the same by
// REST, under a mix of one login and twenty verifications.
func lightauth() Article {
	const experiment, callers = "mix", 50
	at := func(arm, op string, figure stats.Figure) Value {
		return Value{Experiment: experiment, Arm: arm, Callers: callers, Op: op, Figure: figure}
	}
	a := Article{
		Name:   "lightauth",
		Title:  "JWT authentication: JSON-RPC or REST",
		System: "50 callers with a connection each: one login (PBKDF2, 4096 iterations), then twenty checks of its token, by JSON-RPC 1.0 over HTTP and by REST.",
		Experiments: []Experiment{{Name: experiment, Plan: func(s Scale, _ Machine) plan.Plan {
			p := basic("auth", s, callers)
			p.Arms, p.Baseline, p.ConnEach = arms(authRPC, authREST, jsonTCP, "grpc"), authRPC, true
			switch s {
			case Full:
				p.Warmup, p.Measure = 200*time.Millisecond, 1500*time.Millisecond
			case Quick:
				p.Measure = 600 * time.Millisecond
			case AsPublished:
				p.Shape.Calls, p.Measure = 1000*21, 20*time.Minute
			}
			return again(p)
		}}},
		Claims: []Claim{
			{
				Short: "REST : JSON-RPC",
				Says:  "REST answers 1 % more calls than JSON-RPC", Published: 2918.38 / 2887.05,
				Over: at(authREST, "", stats.Rate), OverName: "REST", Under: at(authRPC, "", stats.Rate), UnderName: "JSON-RPC over HTTP",
			},
			{
				Short: "login, REST : JSON-RPC",
				Says:  "a login by REST takes 119 ms where JSON-RPC takes 120 ms", Published: 120. / 119,
				Over: at(authREST, "Authenticate", stats.MeanTime), OverName: "a login by REST", Under: at(authRPC, "Authenticate", stats.MeanTime), UnderName: "one by JSON-RPC",
			},
			{
				Short: "check, REST : JSON-RPC",
				Says:  "a check of a token takes 11 ms by either", Published: 1,
				Over: at(authREST, "Verify", stats.MeanTime), OverName: "a check by REST", Under: at(authRPC, "Verify", stats.MeanTime), UnderName: "one by JSON-RPC",
			},
			{
				Short: "gRPC : REST",
				Over:  at("grpc", "", stats.Rate), OverName: "gRPC", Under: at(authREST, "", stats.Rate), UnderName: "REST",
			},
		},
		Differs: []string{
			"The article's 1 % is one run without an interval on six Raspberry Pis; here ten paired blocks are compared, and what lies within 5 % is not called different.",
			"A login is almost all password hashing, which no wire changes. So that it costs what it did, the old hash is kept here; new users of the service get argon2id.",
			"Bytes received differ by headers that servers choose (X-Worker, dates) more than by the protocol.",
			"The article's load test could not see a refused token, which was answered as a success; here each reply is checked.",
		},
	}
	latency := Table{Caption: "Average time of a call, in ms", Unit: "ms"}
	rates := Table{Caption: "Calls a second", Unit: "calls/s"}
	for _, op := range []struct {
		name, op                  string
		rpc, rest, rpcPer, resPer float64
	}{
		{"Authenticate", "Authenticate", 120, 119, 137.53, 139.01},
		{"Verify", "Verify", 11, 11, 2750.75, 2780.49},
		{"all calls", "", 17, 16, 2887.05, 2918.38},
	} {
		rpc, rest := at(authRPC, op.op, stats.MeanTime), at(authREST, op.op, stats.MeanTime)
		latency.Rows = append(latency.Rows,
			Row{Label: op.name + ", JSON-RPC", Published: op.rpc, Ours: rpc},
			Row{Label: op.name + ", REST", Published: op.rest, Ratio: op.rest / op.rpc, Ours: rest, Base: rpc})
		rpc, rest = at(authRPC, op.op, stats.Rate), at(authREST, op.op, stats.Rate)
		rates.Rows = append(rates.Rows,
			Row{Label: op.name + ", JSON-RPC", Published: op.rpcPer, Ours: rpc},
			Row{Label: op.name + ", REST", Published: op.resPer, Ratio: op.resPer / op.rpcPer, Ours: rest, Base: rpc})
	}
	received := Table{Caption: "Bytes received per call, average", Unit: "bytes", Rows: []Row{
		{Label: "all calls, JSON-RPC", Published: 261.19, Ours: at(authRPC, "", stats.BytesIn)},
		{Label: "all calls, REST", Published: 214, Ratio: 214 / 261.19, Ours: at(authREST, "", stats.BytesIn), Base: at(authRPC, "", stats.BytesIn)},
	}}
	a.Tables = []Table{latency, rates, received}
	return a
}
