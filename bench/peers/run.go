package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/lab/proc"
)

// A plan says what to measure.
type plan struct {
	Peers  []string      `json:"peers"`
	Loads  []load        `json:"loads"`
	Rounds int           `json:"rounds"`
	Window time.Duration `json:"window_ns"`
	Pin    bool          `json:"pin"`
}

// A sample is one window of one peer under one load.
type sample struct {
	Calls     int64         `json:"calls"`
	Took      time.Duration `json:"took_ns"`
	ClientCPU time.Duration `json:"client_cpu_ns"`
	ServerCPU time.Duration `json:"server_cpu_ns"`
	Mallocs   uint64        `json:"mallocs"` // of both processes
}

func (s *sample) rate() float64 { return float64(s.Calls) / s.Took.Seconds() }

// A cell holds what was measured of one peer under one load.
type cell struct {
	Peer string `json:"peer"`
	Load load   `json:"load"`
	// Samples has one for each round, nil where it failed or was not tried.
	Samples []*sample `json:"samples"`
	// Error is why there are none from some round on.
	Error string `json:"error,omitempty"`
}

// A result is everything that a run has found.
type result struct {
	Environment environment `json:"environment"`
	Plan        plan        `json:"plan"`
	Cells       []*cell     `json:"cells"`
}

// opTime bounds what a child does besides running a window.
const opTime = 30 * time.Second

// pair is one peer's server and client.
type pair struct {
	server, client *proc.Child
	addr           string
}

func (p *pair) stop() {
	for _, c := range []*proc.Child{p.client, p.server} {
		if c != nil {
			c.Stop()
		}
	}
}

// cores are the one of the servers and the one of the clients; both are empty
// if nothing is pinned.
type cores struct{ server, client []int }

// pick takes the first core and the last: one each, on any machine, so that
// results of different machines are of the same shape.
func pick(pin bool) cores {
	all := proc.Cores()
	if !pin || len(all) < 2 {
		return cores{}
	}
	return cores{all[:1], all[len(all)-1:]}
}

// start starts this program again as a child.
func start(ctx context.Context, on []int) (*proc.Child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return proc.Start(ctx, exe, []string{childFlag}, on)
}

// ask has a child do something, within opTime and extra.
func ask(ctx context.Context, c *proc.Child, extra time.Duration, op string, arg, result any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, opTime+extra, fmt.Errorf("no answer to %s within %v", op, opTime+extra))
	defer cancel()
	return c.Call(ctx, op, arg, result)
}

func startPair(ctx context.Context, on cores, serveOp, name string) (p *pair, err error) {
	p = new(pair)
	if p.server, err = start(ctx, on.server); err == nil {
		if p.client, err = start(ctx, on.client); err == nil {
			err = ask(ctx, p.server, 0, serveOp, name, &p.addr)
		}
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// run carries out a plan. Each round has every load in random order, and under
// each load every peer in random order, so that what is compared was measured
// within seconds. A peer that fails is left out from then on; that is told in
// its cells. The error is of the run as a whole.
func run(ctx context.Context, p plan, progress io.Writer) (*result, error) {
	on := pick(p.Pin)
	res := &result{Environment: describe(on, p.Peers), Plan: p}
	pairs := map[string]*pair{}
	defer func() {
		for _, pr := range pairs {
			pr.stop()
		}
	}()
	cells := map[string]map[load]*cell{}
	for _, name := range p.Peers {
		pr, err := startPair(ctx, on, "serve", name)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			pairs[name] = pr
		}
		cells[name] = map[load]*cell{}
		for _, l := range p.Loads {
			c := &cell{Peer: name, Load: l, Samples: make([]*sample, p.Rounds)}
			if err != nil {
				c.Error = err.Error()
			}
			if one, _ := peer.Find(name); l.Size == document && !one.Documents {
				continue
			}
			cells[name][l] = c
			res.Cells = append(res.Cells, c)
		}
	}
	began := time.Now()
	for round := range p.Rounds {
		for i, l := range rand.Perm(len(p.Loads)) {
			done := float64(round*len(p.Loads)+i) / float64(p.Rounds*len(p.Loads))
			fmt.Fprintf(progress, "round %d of %d: %v%s\n", round+1, p.Rounds, p.Loads[l], remaining(time.Since(began), done))
			for _, n := range rand.Perm(len(p.Peers)) {
				c := cells[p.Peers[n]][p.Loads[l]]
				if c == nil || c.Error != "" {
					continue
				}
				s, err := one(ctx, pairs[c.Peer], c, p.Window)
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				if err == nil {
					c.Samples[round] = s
					continue
				}
				fmt.Fprintf(progress, "%s failed: %v\n", c.Peer, err)
				for _, other := range cells[c.Peer] {
					if other == c || gone(pairs[c.Peer]) {
						other.Error = err.Error()
					}
				}
			}
		}
	}
	return res, nil
}

// gone says whether either of the children has ended.
func gone(p *pair) bool {
	select {
	case <-p.server.Done():
		return true
	case <-p.client.Done():
		return true
	default:
		return false
	}
}

// remaining tells how much longer a run will take.
func remaining(spent time.Duration, done float64) string {
	if done == 0 {
		return ""
	}
	left := time.Duration(float64(spent) * (1 - done) / done)
	return fmt.Sprintf(", %v to go", left.Round(time.Second))
}

// one measures one window, on connections of its own.
func one(ctx context.Context, p *pair, c *cell, length time.Duration) (*sample, error) {
	var none struct{}
	openErr := ask(ctx, p.client, 0, "open", openArg{c.Peer, p.addr, c.Load}, &none)
	s, err := measured(ctx, p, openErr, length)
	if gone(p) {
		return nil, err
	}
	return s, errors.Join(err, ask(ctx, p.client, 0, "close", none, &none))
}

func measured(ctx context.Context, p *pair, openErr error, length time.Duration) (*sample, error) {
	if openErr != nil {
		return nil, openErr
	}
	var before, after counters
	var w window
	if err := ask(ctx, p.server, 0, "counters", struct{}{}, &before); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := ask(ctx, p.client, length, "measure", length, &w); err != nil {
		return nil, err
	}
	if err := ask(ctx, p.server, 0, "counters", struct{}{}, &after); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if w.Calls == 0 {
		return nil, errors.New("no call ended within the window")
	}
	used := after.minus(before)
	return &sample{w.Calls, w.Took, w.Used.CPU, used.CPU, w.Used.Mallocs + used.Mallocs}, nil
}

// defaultPeers are all, ours first.
func defaultPeers() []string {
	var names []string
	for _, p := range peer.All() {
		names = append(names, p.Name)
	}
	return names
}
