package main

import (
	"context"
	"fmt"
	"time"

	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/stats"
)

// sleepy times fast calls alone, and with requests that sleep on the same
// connection. Each has a server of its own, because a server may learn from
// what it has seen of a method.
func sleepy(ctx context.Context, b *bench) ([]finding, error) {
	alone, err := b.start(ctx, "serve-trial", b.cores)
	if err != nil {
		return nil, err
	}
	defer alone.stop()
	mixed, err := b.start(ctx, "serve-trial", b.cores)
	if err != nil {
		return nil, err
	}
	defer mixed.stop()
	var found []finding
	for _, callers := range []int{1, 8} {
		var a, m []float64
		for range b.rounds {
			pa, err := b.fast(ctx, alone, callers, false)
			if err != nil {
				return nil, err
			}
			pm, err := b.fast(ctx, mixed, callers, true)
			if err != nil {
				return nil, err
			}
			a, m = append(a, pa), append(m, pm)
		}
		f := atMost("p50 of "+count(callers, "fast caller")+", with sleepers over alone", medianRatio(m, a), 2, "x")
		f.Note = fmt.Sprintf("%v and %v", duration(stats.Median(m)), duration(stats.Median(a)))
		found = append(found, f)
	}
	return found, nil
}

func duration(ns float64) time.Duration {
	return time.Duration(ns).Round(100 * time.Nanosecond)
}

// computeTime is how long a handler computes.
const computeTime = 200 * time.Microsecond

// compute compares calls that compute with the same computation in a loop on
// one core. Nothing is pinned: the server shall use every core.
func compute(ctx context.Context, b *bench) ([]finding, error) {
	p, err := b.start(ctx, "serve-trial", cores{})
	if err != nil {
		return nil, err
	}
	defer p.stop()
	burn := func(turns int64, length time.Duration) (w window, err error) {
		err = ask(ctx, p.server, length, "burn", burnArg{turns, length}, &w)
		return w, err
	}
	const try = 100_000
	w, err := burn(try, b.window)
	if err != nil {
		return nil, err
	}
	turns := int64(float64(computeTime) / float64(w.Took) * float64(w.Calls) * try)
	var served, alone []float64
	for range b.rounds {
		one, err := burn(turns, b.window)
		if err != nil {
			return nil, err
		}
		var all window
		if err := ask(ctx, p.client, b.window, "tasks", tasksArg{64, b.window, turns}, &all); err != nil {
			return nil, err
		}
		alone = append(alone, float64(one.Calls)/one.Took.Seconds())
		served = append(served, float64(all.Calls)/all.Took.Seconds())
	}
	f := atLeast("64 callers on 1 connection over one core", medianRatio(served, alone), 1.6, "x")
	f.Note = fmt.Sprintf("%s and %s a second, on %s", thousands(stats.Median(served)), thousands(stats.Median(alone)),
		count(max(len(proc.Cores()), 1), "core"))
	return []finding{f}, nil
}

// slowPerMilli is how many bytes a millisecond of the large request come in
// while others are timed, each with a write of its own.
const slowPerMilli = 10

// trickle times fast calls while a large request arrives byte by byte on
// another connection, from a process of its own, and while it does not. Between
// the rounds much of the request is sent as fast as single bytes go, so that
// the rounds see all its sizes. Then it compares what the server spends on a
// request and on one of half the size.
func trickle(ctx context.Context, b *bench) ([]finding, error) {
	felt, err := b.feel(ctx)
	if err != nil {
		return nil, err
	}
	cost, err := b.cost(ctx)
	return []finding{felt, cost}, err
}

func (b *bench) feel(ctx context.Context) (f finding, err error) {
	p, err := b.start(ctx, "serve-trial", b.cores)
	if err != nil {
		return f, err
	}
	defer p.stop()
	sender, err := start(ctx, b.cores.client)
	if err != nil {
		return f, err
	}
	defer sender.Stop()
	var total, sent int
	if err := ask(ctx, sender, 0, "slow-open", slowOpenArg{dialArg{b.wire, p.addr}, b.slowSize}, &total); err != nil {
		return f, err
	}
	send := func(ctx context.Context, a slowSendArg) error {
		var n int
		err := ask(ctx, sender, 2*time.Minute, "slow-send", a, &n)
		sent += n
		return err
	}
	during := int(b.window.Milliseconds()) * slowPerMilli
	between := max(total/b.rounds-during-1, 0)
	var quiet, busy []float64
	for round := range b.rounds {
		b.say("round %d of %d, %d of %d bytes sent", round+1, b.rounds, sent, total)
		q, err := b.fast(ctx, p, 1, false)
		if err != nil {
			return f, err
		}
		sending := make(chan error, 1)
		go func() { sending <- send(ctx, slowSendArg{Bytes: during, Over: b.window}) }()
		t, err := b.fast(ctx, p, 1, false)
		if sendErr := <-sending; err == nil {
			err = sendErr
		}
		if err == nil {
			err = send(ctx, slowSendArg{Bytes: between})
		}
		if err != nil {
			return f, err
		}
		quiet, busy = append(quiet, q), append(busy, t)
	}
	if err := send(ctx, slowSendArg{Finish: true}); err != nil {
		return f, err
	}
	f = atMost("p50 of a fast caller, during over without", medianRatio(busy, quiet), 1.2, "x")
	f.Note = fmt.Sprintf("%v and %v", duration(stats.Median(busy)), duration(stats.Median(quiet)))
	return f, nil
}

// cost is the server's CPU time for a request over that for one of half its
// size: 2 if it is linear, 4 if with every byte all before it is looked at
// again, and the goal the middle of the two as ratios go. The server's own connections see to it that every read brings one
// byte. Over a socket bytes would gather while the server works, and a slow
// server would have the fewer reads.
func (b *bench) cost(ctx context.Context) (f finding, err error) {
	p, err := b.start(ctx, "serve-dripping", b.cores)
	if err != nil {
		return f, err
	}
	defer p.stop()
	sizes := []int{b.slowSize / 2, b.slowSize}
	costs := make([][]float64, len(sizes))
	for n := range b.rounds {
		b.say("cost of whole requests, %d of %d", n+1, b.rounds)
		for i, size := range sizes {
			var before, after counters
			var none struct{}
			err := ask(ctx, p.server, 0, "counters", none, &before)
			if err == nil {
				err = ask(ctx, p.client, 2*time.Minute, "large", size, &none)
			}
			if err == nil {
				err = ask(ctx, p.server, 0, "counters", none, &after)
			}
			if err != nil {
				return f, fmt.Errorf("a request of %d bytes that comes in single bytes: %w", size, err)
			}
			costs[i] = append(costs[i], float64(after.CPU-before.CPU))
		}
	}
	f = atMost(fmt.Sprintf("server CPU for %s in single bytes over %s", formatSize(sizes[1]), formatSize(sizes[0])), medianRatio(costs[1], costs[0]), 2.8, "x")
	f.Note = fmt.Sprintf("%s and %s ns a byte", short3(stats.Median(costs[1])/float64(sizes[1])), short3(stats.Median(costs[0])/float64(sizes[0])))
	return f, nil
}
