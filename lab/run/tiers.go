package run

import (
	"context"
	"fmt"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/proc"
)

// The serving side of an arm is one process, or more where a service calls
// another: the front that the generator calls, the replicas of what it calls, and
// NGINX between them if the arm has it. All of them run on the server's cores, and
// their CPU time is the server's.

// A role is which of an arm's servers a process is; none if there is one alone.
type role string

const (
	// front serves the service that calls the backend.
	front role = "front"
	// backend serves what the front calls.
	backend role = "backend"
)

// tiers are the processes of the serving side. The first server is the one that
// the generator calls.
type tiers struct {
	servers []*proc.Child
	far     bool     // they are on another machine
	balance balancer // nil without one
}

// balancer is a process that spreads calls over replicas.
type balancer interface {
	// CPU is the user and system time of its processes so far.
	CPU() (time.Duration, error)
	Stop() error
}

// serve starts the serving side and returns where the generator finds it. The
// processes end with ctx at the latest; starting is of the second context.
func (t *tiers) serve(ctx, starting context.Context, r *runner, arm plan.Arm, l linkArg) (served, error) {
	arg := serveArg{Arm: arm, Plan: *r.plan, Link: l, Payload: r.config.Payload}
	if !twoTiers(r.plan) {
		return t.start(ctx, starting, r, arg)
	}
	var behind Endpoint
	for range replicas(arm) {
		s, err := t.start(ctx, starting, r, serveArg{Arm: arm, Plan: *r.plan, Role: backend})
		if err != nil {
			return served{}, fmt.Errorf("a replica: %w", err)
		}
		behind.Addrs = append(behind.Addrs, s.To.Addrs...)
		behind.CA = append(behind.CA, s.To.CA...)
	}
	if arm.Cluster != nil && arm.Cluster.Balancer == plan.Nginx {
		balance, at, err := startNginx(ctx, arm, behind, r.serverCores)
		if err != nil {
			return served{}, err
		}
		t.balance, behind = balance, at
	}
	arg.Role, arg.Behind = front, behind
	s, err := t.start(ctx, starting, r, arg)
	// The front was started last, and is the first that is asked.
	last := len(t.servers) - 1
	t.servers[0], t.servers[last] = t.servers[last], t.servers[0]
	return s, err
}

// start starts one server, here or on the other machine.
func (t *tiers) start(ctx, starting context.Context, r *runner, arg serveArg) (served, error) {
	var child *proc.Child
	var err error
	if far := r.config.Server; far != nil {
		child, err = proc.Dial(ctx, far.Addr, far.Token, new(Remote))
		t.far = true
	} else {
		child, err = proc.Start(ctx, r.config.Exe, r.config.ServerArgs, r.serverCores)
	}
	if err != nil {
		return served{}, err
	}
	t.servers = append(t.servers, child)
	var s served
	return s, child.Call(starting, opServe, arg, &s)
}

// twoTiers reports whether the service calls another.
func twoTiers(p *plan.Plan) bool { return p.Service == "relay" }

func replicas(arm plan.Arm) int {
	if arm.Cluster == nil {
		return 1
	}
	return arm.Cluster.Replicas
}

// usage is the CPU time of all of them.
func (t *tiers) usage(ctx context.Context) (time.Duration, error) {
	var sum time.Duration
	for _, s := range t.servers {
		cpu, err := s.Usage(ctx)
		if err != nil {
			return 0, err
		}
		sum += cpu
	}
	if t.balance == nil {
		return sum, nil
	}
	cpu, err := t.balance.CPU()
	return sum + cpu, err
}

// seen is what the servers' own counters tell since they were last asked: how
// long the service took, and how many calls each replica had.
func (t *tiers) seen(ctx context.Context) (first observed, calls []int64, err error) {
	for i, s := range t.servers {
		var o observed
		if err := s.Call(ctx, opObserve, none{}, &o); err != nil {
			return first, nil, err
		}
		if i == 0 {
			first = o
			continue
		}
		calls = append(calls, o.Calls)
	}
	return first, calls, nil
}

// stop ends all of them: who calls before who is called.
func (t *tiers) stop() {
	for _, s := range t.servers {
		s.Stop()
	}
	if t.balance != nil {
		_ = t.balance.Stop() // it was measured; what it leaves behind is a folder at most
	}
}
