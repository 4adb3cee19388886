package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// synthetic makes a result of one load; rates are in calls a second, 0 for a
// round without a sample.
func synthetic(l load, rates map[string][]float64) *result {
	r := &result{Plan: plan{Loads: []load{l}}}
	for name, values := range rates {
		c := &cell{Peer: name, Load: l}
		for _, v := range values {
			var s *sample
			if v > 0 {
				s = &sample{Calls: int64(v), Took: time.Second, ClientCPU: time.Duration(v) * 3 * time.Microsecond,
					ServerCPU: time.Duration(v) * 5 * time.Microsecond, Mallocs: uint64(v) * 7}
			}
			c.Samples = append(c.Samples, s)
		}
		r.Cells = append(r.Cells, c)
		r.Plan.Rounds = len(values)
	}
	return r
}

func TestTables(t *testing.T) {
	r := synthetic(load{1, 1, 64}, map[string][]float64{
		rawName:     {1000, 2000, 4000},
		jsonrpcName: {800, 1800, 0},
		"arpc":      {100, 200, 400},
		"rpcx":      {150, 190, 160}, // faster in one round, slower in the median
		"fasthttp":  {500, 500, 500},
		"jrpc2":     {0, 0, 0},
	})
	all := r.tables()
	if len(all) != 1 {
		t.Fatalf("%d tables", len(all))
	}
	tab := all[0]
	var names []string
	for _, row := range tab.Rows {
		names = append(names, row.Peer.Name)
	}
	if got := strings.Join(names, " "); got != "raw jsonrpc+tcp arpc rpcx jrpc2 fasthttp" {
		t.Errorf("the order is %s", got)
	}
	if tab.Fastest != "arpc" {
		t.Errorf("the fastest framework is %s", tab.Fastest)
	}
	ours, ok := tab.row(jsonrpcName)
	if !ok || ours.Rate != 1300 || ours.Fastest != 8.5 || math.Abs(ours.Raw-0.85) > 1e-9 {
		t.Errorf("the ratios are not of the rounds that both have: %+v", ours)
	}
	if ours.ClientCPU != 3 || ours.ServerCPU != 5 || ours.Mallocs != 7 {
		t.Errorf("a call costs %+v", ours)
	}
	if _, ok := tab.row("jrpc2"); ok {
		t.Error("what was never measured has a row to be judged")
	}
}

func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{10, 10, 10, 10}, 0},
		{[]float64{5, 1, 4, 2, 3}, 1.0 / 3}, // quartiles 2 and 4, median 3
		{[]float64{4, 3, 2, 1}, 0.75 / 2.5}, // quartiles 1.75 and 3.25
	} {
		if got := spread(tc.values); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%v: %v, not %v", tc.values, got, tc.want)
		}
	}
	if !math.IsNaN(spread([]float64{1, 2, 3})) {
		t.Error("three values have no quartiles")
	}
}

func TestJudge(t *testing.T) {
	for _, tc := range []struct {
		load  load
		rates map[string][]float64
		want  []verdict
	}{
		{load{1, 1, 64}, map[string][]float64{rawName: {100}, jsonrpcName: {75}, "arpc": {30}}, []verdict{pass, pass}},
		{load{1, 1, 64}, map[string][]float64{rawName: {100}, jsonrpcName: {74}, "arpc": {30}}, []verdict{short, short}},
		{load{1, 1, 1024}, map[string][]float64{rawName: {100}, jsonrpcName: {74}, "arpc": {30}}, nil},
		{load{64, 1, 64}, map[string][]float64{rawName: {100}, jsonrpcName: {9}, "arpc": {3}}, []verdict{pass}},
		{load{64, 64, 64}, map[string][]float64{rawName: {100}, jsonrpcName: {74}, "arpc": {3}}, []verdict{short}},
		{load{64, 64, 64}, map[string][]float64{jsonrpcName: {74}}, nil},
		{load{8, 1, 64}, map[string][]float64{msgpackrpcName: {100}, jsonrpcName: {100}}, []verdict{pass}},
		{load{8, 1, 64}, map[string][]float64{msgpackrpcName: {99}, jsonrpcName: {100}}, []verdict{open}},
		{load{8, 1, 64}, map[string][]float64{
			msgpackrpcName: {90, 91, 92, 93, 94, 95, 96, 97, 98}, jsonrpcName: {100, 100, 100, 100, 100, 100, 100, 100, 100},
		}, []verdict{short}},
		{load{8, 1, 64}, map[string][]float64{
			msgpackrpcName: {90, 91, 92, 93, 94, 95, 96, 97, 101}, jsonrpcName: {100, 100, 100, 100, 100, 100, 100, 100, 100},
		}, []verdict{pass}},
	} {
		found := judge(synthetic(tc.load, tc.rates).tables())
		var got []verdict
		for _, f := range found {
			got = append(got, f.Verdict)
		}
		if len(got) != len(tc.want) {
			t.Errorf("%v, %v: %+v", tc.load, tc.rates, found)
			continue
		}
		for i := range got {
			if got[i] != tc.want[i] {
				t.Errorf("%v, %v: %+v, not %s", tc.load, tc.rates, found[i], tc.want[i])
			}
		}
	}
}

func TestWriteText(t *testing.T) {
	r := synthetic(load{64, 1, 64}, map[string][]float64{
		rawName: {1e7, 1e7, 1e7, 1e7}, jsonrpcName: {3e6, 3e6, 3e6, 3e6}, "net/rpc/jsonrpc": {30, 30, 30, 30}, "net/http": {12345, 0, 0, 0},
	})
	r.Cells[0].Error = strings.Repeat("a long story ", 20)
	var out bytes.Buffer
	writeText(&out, r)
	fits(t, out.String())
	for _, want := range []string{"3,000,000", "100000.00", "net/http *", "a connection for each caller", "failed: a long story", "pass  jsonrpc+tcp over the fastest framework"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
