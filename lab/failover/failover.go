// Package failover shows what becomes of calls when a replica goes: it kills one of
// several under load, behind NGINX or behind a client that balances, and compares
// what callers were told with what the replicas did.
//
// Calls are of two methods in turn. One may run twice, and is made again when it
// fails (package resilience). The other may not, and a failure of it is reported
// unless it has surely not run. Every replica writes down the id of each call before
// it does anything for it, in a file that outlives it.
package failover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/resilience"
)

// Config is one experiment.
type Config struct {
	// Exe with ReplicaArgs is the program that calls [Replica].
	Exe         string
	ReplicaArgs []string
	Wires       Wires
	// Shape is the target of the wire without its address: "grpc", "rest",
	// "jsonrpc+tcp".
	Shape string
	// Nginx is what NGINX in front of the replicas understands; "" has the client
	// spread its calls over them, by lb=round_robin.
	Nginx cluster.Protocol
	// Replicas is how many there are, at least two; the first is killed.
	Replicas int
	// Callers call at once, for For; the replica is killed after KillAfter.
	Callers        int
	For, KillAfter time.Duration
}

// A Report is what became of the calls.
type Report struct {
	// Calls are all that were made, Answered those with a right reply.
	Calls    int64 `json:"calls"`
	Answered int64 `json:"answered"`
	// Retries are attempts after one that had failed, as the client's Guard counts
	// them; what NGINX or a wire sends again by itself is not among them.
	Retries int64 `json:"retries"`
	// Replicas are how many calls began at each. The first was killed.
	Replicas []int64 `json:"replicas"`
	// Again are calls that may run twice and did.
	Again int64 `json:"again"`
	// Reported are calls that must not run twice and failed, which their callers
	// were told; RanOnce are those of them that had begun at a replica.
	Reported int64 `json:"reported"`
	RanOnce  int64 `json:"ran_once"`
	// Lost are failures that need not have been: of calls that may run twice.
	Lost int64 `json:"lost"`
	// Twice are calls that ran twice and must not have.
	Twice int64 `json:"twice"`
	// Untrue are calls of which the caller was told what is not so: a reply without a
	// call, or that it had not run when it had.
	Untrue int64 `json:"untrue"`
	// FirstError is the text of the first failure.
	FirstError string `json:"first_error,omitempty"`
}

// Err says what must not have happened, nil if nothing has.
func (r *Report) Err() error {
	if r.Lost == 0 && r.Twice == 0 && r.Untrue == 0 {
		return nil
	}
	return fmt.Errorf("failover: of %d calls %d were lost, %d ran twice that must not, and of %d callers were told what is not so: %s",
		r.Calls, r.Lost, r.Twice, r.Untrue, r.FirstError)
}

// rules for calls that may run twice: a replica that goes takes every call in flight
// on it, and the next attempt may meet another that has just gone.
var rules = resilience.Rules{Attempts: 5, Backoff: 5 * time.Millisecond}

// Run makes the experiment. The error is [cluster.ErrNoNginx], or another of
// [cluster.StartNginx], where NGINX is wanted and cannot be had. What the report
// says is no error: see [Report.Err].
func Run(ctx context.Context, c Config) (_ *Report, err error) {
	if c.Replicas < 2 || c.Callers < 1 || c.KillAfter <= 0 || c.KillAfter >= c.For {
		return nil, fmt.Errorf("failover: %d replicas, %d callers, killed after %v of %v: want two, one, and less than all of the time",
			c.Replicas, c.Callers, c.KillAfter, c.For)
	}
	r := &replicas{}
	if r.dir, err = os.MkdirTemp("", "everywire-failover-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	defer r.stop()
	if err := r.serve(ctx, &c); err != nil {
		return nil, err
	}
	addrs := r.addrs
	if c.Nginx != "" {
		config := cluster.Config{Protocol: c.Nginx, Backends: addrs}
		if c.Nginx != cluster.Stream {
			config.KeepAlive = c.Callers
		}
		n, err := cluster.StartNginx(ctx, config)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, n.Stop()) }()
		addrs = []string{n.Addr()}
	}
	made, err := c.load(ctx, addrs, func() error { return r.kill(0) })
	if err != nil {
		return nil, err
	}
	r.stop() // so that nothing begins any more
	return made.compare(r)
}

// load calls while kill kills.
func (c *Config) load(ctx context.Context, addrs []string, kill func() error) (_ *calls, err error) {
	methods := everywire.NewRegistry()
	register(methods, 0, nil)
	conn, err := c.Wires.Dial(c.Shape, addrs, methods)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	guard, err := resilience.New(resilience.Policy{Methods: methods, Default: rules})
	if err != nil {
		return nil, err
	}
	made := &calls{conn: conn, guard: guard}
	killed := make(chan error, 1)
	timer := time.AfterFunc(c.KillAfter, func() { killed <- kill() })
	_, err = load.Run(ctx, load.Config{Conn: made, Workload: turns{c.Replicas}, Callers: c.Callers, For: c.For})
	if timer.Stop() {
		return nil, errors.Join(err, errors.New("failover: the load was over before a replica was killed"))
	}
	return made, errors.Join(err, <-killed)
}

// compare puts what callers were told beside what the replicas did.
func (c *calls) compare(r *replicas) (*Report, error) {
	runs := map[int64]int{}
	report := &Report{Calls: int64(len(c.outcomes)), Retries: c.guard.Stats().Retries}
	for i := range r.children {
		n, err := readLedger(r.ledger(i), runs)
		if err != nil {
			return nil, err
		}
		report.Replicas = append(report.Replicas, n)
	}
	for id, o := range c.outcomes {
		report.add(o, runs[int64(id)])
	}
	return report, nil
}

func (r *Report) add(o outcome, ran int) {
	if o.err != nil && r.FirstError == "" {
		r.FirstError = o.err.Error()
	}
	switch {
	case o.err == nil:
		r.Answered++
	case o.write:
		r.Reported++
	default:
		r.Lost++
	}
	switch {
	case o.write && ran > 1:
		r.Twice++
	case o.write && o.err != nil && ran == 1:
		r.RanOnce++
	case !o.write && ran > 1:
		r.Again++
	}
	if o.err == nil && ran == 0 || !o.mayHaveRun && ran > 0 {
		r.Untrue++
	}
}
