package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/everywire/everywire/lab/stats"
)

// A grpcLoad is a method, or the size of the value that kv's Retrieve returns,
// and callers on one connection.
type grpcLoad struct {
	Method  string
	Callers int
}

func (l grpcLoad) String() string {
	if l.Method == "arith" {
		return "arith, " + count(l.Callers, "caller")
	}
	return "kv " + l.Method + ", " + count(l.Callers, "caller")
}

// grpcGoal is the least that the lower end of the ratio's interval may be.
const grpcGoal = 0.93

// grpcRatio compares the wire on plain structs with bare grpc-go on generated
// code, both with the options that the wire sets, in pairs that follow each other.
func grpcRatio(ctx context.Context, b *bench) ([]finding, error) {
	ours, bare := grpcArm{false, defaultOption}, grpcArm{true, defaultOption}
	var loads []grpcLoad
	for _, method := range []string{"arith", "64", "64K"} {
		loads = append(loads, grpcLoad{method, 1}, grpcLoad{method, 64})
	}
	got, err := b.grpc(ctx, []grpcArm{ours, bare}, loads)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, l := range loads {
		rates := got.ratios(l, ours, bare, (*sample).rate)
		f := finding{What: l.String() + ": calls a second over bare grpc-go's", Goal: fmt.Sprintf("interval from ≥ %v", grpcGoal), Figure: stats.Median(rates), Unit: "x"}
		cpu := stats.Median(got.ratios(l, ours, bare, cpuPerCall))
		interval, ok := stats.MedianInterval(rates, stats.Level)
		if !ok {
			f.Verdict, f.Note = open, fmt.Sprintf("too few rounds for an interval; CPU a call %.2fx", cpu)
		} else {
			f.Verdict, f.Note = judged(interval.Low >= grpcGoal), fmt.Sprintf("%.3f to %.3f; CPU a call %.2fx", interval.Low, interval.High, cpu)
		}
		found = append(found, f)
	}
	return found, nil
}

// grpcSettings compares options of grpc-go with what the wire sets: in each round
// every option is measured once under each load, in random order, and paired with
// the default of that round.
func grpcSettings(ctx context.Context, b *bench) ([]finding, error) {
	var arms []grpcArm
	for _, o := range grpcOptions {
		arms = append(arms, grpcArm{false, o.name})
	}
	loads := []grpcLoad{{"arith", 64}, {"64K", 16}}
	got, err := b.grpc(ctx, arms, loads)
	if err != nil {
		return nil, err
	}
	fmt.Fprint(b.table, "\n| options | what |")
	for _, l := range loads {
		fmt.Fprintf(b.table, " %v: calls/s | CPU a call |", l)
	}
	fmt.Fprint(b.table, "\n|---|---|---|---|---|---|\n")
	var found []finding
	for i, arm := range arms {
		o := grpcOptions[i]
		fmt.Fprintf(b.table, "| `%s` | %s |", o.name, o.about)
		for _, l := range loads {
			if arm == arms[0] {
				fmt.Fprintf(b.table, " %s | %s |", thousands(stats.Median(got.each(l, arm, (*sample).rate))), micros(stats.Median(got.each(l, arm, cpuPerCall))))
				continue
			}
			rates := got.ratios(l, arm, arms[0], (*sample).rate)
			cpu := got.ratios(l, arm, arms[0], cpuPerCall)
			fmt.Fprintf(b.table, " %s | %s |", withInterval(rates), withInterval(cpu))
			f := finding{What: fmt.Sprintf("%v, %s: calls a second over the default's", l, o.name), Goal: "none", Figure: stats.Median(rates), Unit: "x", Verdict: open, Note: "CPU a call " + withInterval(cpu)}
			if interval, ok := stats.MedianInterval(rates, sameLevel); ok && (interval.Low > 1 || interval.High < 1) {
				f.Note = fmt.Sprintf("distinguished, %.2f to %.2f; %s", interval.Low, interval.High, f.Note)
			}
			found = append(found, f)
		}
		fmt.Fprintln(b.table)
	}
	fmt.Fprintf(b.table, "\nRatios to `%s`, medians of %d pairs with their 99 %% intervals.\n\n", defaultOption, b.rounds)
	return found, nil
}

// withInterval writes a median ratio and its interval, in bold if 1 is not in it.
func withInterval(ratios []float64) string {
	interval, ok := stats.MedianInterval(ratios, sameLevel)
	if !ok {
		return fixed(stats.Median(ratios))
	}
	s := fmt.Sprintf("%.2f (%.2f–%.2f)", stats.Median(ratios), interval.Low, interval.High)
	if interval.Low > 1 || interval.High < 1 {
		s = "**" + s + "**"
	}
	return s
}

// cpuPerCall is the microseconds that both processes used for a call.
func cpuPerCall(s *sample) float64 {
	return perCall(s, float64((s.ClientCPU + s.ServerCPU).Microseconds()))
}

// grpcSamples holds what each round has found.
type grpcSamples map[grpcLoad]map[grpcArm][]*sample

func (g grpcSamples) each(l grpcLoad, arm grpcArm, f func(*sample) float64) []float64 {
	values := make([]float64, 0, len(g[l][arm]))
	for _, s := range g[l][arm] {
		values = append(values, f(s))
	}
	return values
}

func (g grpcSamples) ratios(l grpcLoad, of, over grpcArm, f func(*sample) float64) []float64 {
	a, b := g.each(l, of, f), g.each(l, over, f)
	for i := range a {
		a[i] /= b[i]
	}
	return a
}

// grpc measures arms under loads, all of them in each round, on servers and
// connections that live as long as the experiment.
func (b *bench) grpc(ctx context.Context, arms []grpcArm, loads []grpcLoad) (grpcSamples, error) {
	pairs := map[grpcArm]*pair{}
	defer func() {
		for _, p := range pairs {
			p.stop()
		}
	}()
	for _, arm := range arms {
		p, err := startPair(ctx, b.cores, "serve-grpc", arm.String())
		if err != nil {
			return nil, err
		}
		pairs[arm] = p
		var none struct{}
		if err := ask(ctx, p.client, 0, "dial-grpc", dialArg{arm.String(), p.addr}, &none); err != nil {
			return nil, err
		}
	}
	got := grpcSamples{}
	began := time.Now()
	for round := range b.rounds {
		b.say("round %d of %d%s", round+1, b.rounds, remaining(time.Since(began), float64(round)/float64(b.rounds)))
		for _, l := range loads {
			if got[l] == nil {
				got[l] = map[grpcArm][]*sample{}
			}
			for _, i := range rand.Perm(len(arms)) {
				s, err := b.grpcWindow(ctx, pairs[arms[i]], l)
				if err != nil {
					return nil, fmt.Errorf("%v, %v: %w", arms[i], l, err)
				}
				got[l][arms[i]] = append(got[l][arms[i]], s)
			}
		}
	}
	return got, nil
}

func (b *bench) grpcWindow(ctx context.Context, p *pair, l grpcLoad) (*sample, error) {
	var w window
	var before, after counters
	for _, step := range []struct {
		run    func() error
		failed string
	}{
		{func() error { return ask(ctx, p.client, warmUp, "run-grpc", grpcRunArg{l, warmUp}, &w) }, "warming up"},
		{func() error { return ask(ctx, p.server, 0, "counters", struct{}{}, &before) }, "the server"},
		{func() error { return ask(ctx, p.client, b.window, "run-grpc", grpcRunArg{l, b.window}, &w) }, "the client"},
		{func() error { return ask(ctx, p.server, 0, "counters", struct{}{}, &after) }, "the server"},
	} {
		if err := step.run(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.failed, err)
		}
	}
	if w.Calls == 0 {
		return nil, errors.New("no call ended within the window")
	}
	used := after.minus(before)
	return &sample{w.Calls, w.Took, w.Used.CPU, used.CPU, w.Used.Mallocs + used.Mallocs}, nil
}
