package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/lab/proc"
)

// childFlag is the hidden argument that makes this program one end of a
// measurement, spoken to by lab/proc.
const childFlag = "child"

// warmUp is how long a load runs before it is measured.
const warmUp = 50 * time.Millisecond

// A child is a server or a client; what it is asked decides which.
type child struct {
	clients *clients
	trial   *trialClient
	slow    *slowSender
	idle    []*trialClient
	grpc    *grpcClient
}

func runChild() error {
	proc.IgnoreInterrupt()
	out := os.Stdout
	os.Stdout = os.Stderr // what a library prints is not taken for a reply
	c := new(child)
	return proc.Serve(os.Stdin, out, map[string]proc.Handler{
		"serve":    proc.Handle(c.serve),
		"counters": proc.Handle(func(context.Context, struct{}) (counters, error) { return readCounters() }),
		"open":     proc.Handle(c.open),
		"measure":  proc.Handle(c.measure),
		"close":    proc.Handle(c.close),

		"serve-trial":    proc.Handle(c.serveTrial),
		"serve-dripping": proc.Handle(c.serveDripping),
		"burn":           proc.Handle(c.burn),
		"collect":        proc.Handle(c.collect),
		"dial-trial":     proc.Handle(c.dialTrial),
		"fast":           proc.Handle(c.fast),
		"tasks":          proc.Handle(c.tasks),
		"large":          proc.Handle(c.large),
		"slow-open":      proc.Handle(c.slowOpen),
		"slow-send":      proc.Handle(c.slowSend),
		"idle":           proc.Handle(c.openIdle),

		"serve-grpc": proc.Handle(c.serveGRPC),
		"dial-grpc":  proc.Handle(c.dialGRPC),
		"run-grpc":   proc.Handle(c.runGRPC),
	})
}

// counters are what a process has used so far.
type counters struct {
	CPU     time.Duration `json:"cpu_ns"`
	Mallocs uint64        `json:"mallocs"`
}

func readCounters() (counters, error) {
	cpu, err := proc.CPUTime()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return counters{cpu, m.Mallocs}, err
}

func (c counters) minus(before counters) counters {
	return counters{c.CPU - before.CPU, c.Mallocs - before.Mallocs}
}

// serve serves a peer for as long as the process lives, and returns where.
func (*child) serve(ctx context.Context, name string) (string, error) {
	p, ok := peer.Find(name)
	if !ok {
		return "", fmt.Errorf("no peer %q", name)
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		err := p.Serve(lis)
		fmt.Fprintf(os.Stderr, "%s serves no more: %v\n", name, err) // the parent tells it on
		os.Exit(1)
	}()
	return lis.Addr().String(), nil
}

type openArg struct {
	Peer string
	Addr string
	Load load
}

// open makes a load's connections and warms them up.
func (c *child) open(ctx context.Context, a openArg) (struct{}, error) {
	p, ok := peer.Find(a.Peer)
	if !ok {
		return struct{}{}, fmt.Errorf("no peer %q", a.Peer)
	}
	var err error
	if c.clients, err = dialAll(ctx, p, a.Addr, a.Load); err != nil {
		return struct{}{}, err
	}
	_, _, err = c.clients.run(warmUp)
	return struct{}{}, err
}

// A window is what a client says of one.
type window struct {
	Calls int64         `json:"calls"`
	Took  time.Duration `json:"took_ns"`
	Used  counters      `json:"used"`
}

func (c *child) measure(_ context.Context, length time.Duration) (w window, err error) {
	if c.clients == nil {
		return w, errors.New("nothing is open")
	}
	before, err := readCounters()
	if err != nil {
		return w, err
	}
	if w.Calls, w.Took, err = c.clients.run(length); err != nil {
		return w, err
	}
	after, err := readCounters()
	w.Used = after.minus(before)
	return w, err
}

func (c *child) close(context.Context, struct{}) (struct{}, error) {
	if c.clients != nil {
		c.clients.close()
		c.clients = nil
	}
	return struct{}{}, nil
}
