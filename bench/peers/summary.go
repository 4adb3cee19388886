package main

import (
	"math"
	"slices"

	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/lab/stats"
)

// A row is what the windows of one peer under one load come to: medians over
// the rounds.
type row struct {
	Peer peer.Peer
	// Rate is in calls a second. Spread is half the distance between its
	// quartiles, over the median.
	Rate, Spread float64
	// Fastest and Raw are the rate over that of the fastest framework and of the
	// bare socket, round by round; NaN without one.
	Fastest, Raw float64
	// ClientCPU and ServerCPU are µs a call, Mallocs the allocations a call of
	// both processes together.
	ClientCPU, ServerCPU, Mallocs float64
	Error                         string
}

// A table is all peers under one load.
type table struct {
	Load load
	Rows []row
	// Fastest is the name of the fastest framework, "" if none was measured.
	Fastest string
	cells   map[string]*cell
}

// tables summarizes a run, one table for each load, in the plan's order.
func (r *result) tables() []table {
	var all []table
	for _, l := range r.Plan.Loads {
		t := table{Load: l, cells: map[string]*cell{}}
		for _, c := range r.Cells {
			if c.Load == l {
				t.cells[c.Peer] = c
			}
		}
		t.fill()
		all = append(all, t)
	}
	return all
}

func (t *table) fill() {
	var best float64
	for _, p := range peer.All() {
		c := t.cells[p.Name]
		if c == nil {
			continue
		}
		rates := each(c, (*sample).rate)
		r := row{
			Peer: p, Rate: stats.Median(rates), Spread: spread(rates), Error: c.Error,
			ClientCPU: stats.Median(each(c, func(s *sample) float64 { return perCall(s, float64(s.ClientCPU.Nanoseconds())/1e3) })),
			ServerCPU: stats.Median(each(c, func(s *sample) float64 { return perCall(s, float64(s.ServerCPU.Nanoseconds())/1e3) })),
			Mallocs:   stats.Median(each(c, func(s *sample) float64 { return perCall(s, float64(s.Mallocs)) })),
		}
		if p.Kind == peer.Framework && r.Rate > best {
			best, t.Fastest = r.Rate, p.Name
		}
		t.Rows = append(t.Rows, r)
	}
	for i := range t.Rows {
		name := t.Rows[i].Peer.Name
		t.Rows[i].Fastest = stats.Median(t.ratios(name, t.Fastest))
		t.Rows[i].Raw = stats.Median(t.ratios(name, rawName))
	}
	// Kind by kind, the fastest first.
	order := map[peer.Kind]int{peer.Limit: 0, peer.Ours: 1, peer.Framework: 2, peer.API: 3, peer.HTTP: 4}
	slices.SortStableFunc(t.Rows, func(a, b row) int {
		switch {
		case a.Peer.Kind != b.Peer.Kind:
			return order[a.Peer.Kind] - order[b.Peer.Kind]
		case a.Rate > b.Rate || math.IsNaN(b.Rate) && !math.IsNaN(a.Rate):
			return -1
		default:
			return 1
		}
	})
}

// ratios are the rates of one peer over those of another, for each round in
// which both were measured.
func (t *table) ratios(of, over string) []float64 {
	a, b := t.cells[of], t.cells[over]
	if a == nil || b == nil {
		return nil
	}
	var ratios []float64
	for i := range a.Samples {
		if a.Samples[i] != nil && b.Samples[i] != nil {
			ratios = append(ratios, a.Samples[i].rate()/b.Samples[i].rate())
		}
	}
	return ratios
}

// each is f of the samples that there are.
func each(c *cell, f func(*sample) float64) []float64 {
	var values []float64
	for _, s := range c.Samples {
		if s != nil {
			values = append(values, f(s))
		}
	}
	return values
}

func perCall(s *sample, total float64) float64 { return total / float64(s.Calls) }

// spread is half the distance between the quartiles over the median; NaN for
// fewer than four values.
func spread(values []float64) float64 {
	if len(values) < 4 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2 / quantile(sorted, 0.5)
}

// quantile interpolates between the two sorted values around it.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
