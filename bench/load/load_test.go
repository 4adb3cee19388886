package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/internal/needs"
)

const (
	wrkText = `Running 1s test @ http://127.0.0.1:18090/f.txt
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.60ms    8.93ms  65.79ms   94.98%
    Req/Sec    18.56k     6.46k   26.64k    70.00%
  Latency Distribution
     50%  357.00us
     75%  670.00us
     90%    2.64ms
     99%   53.83ms
  18464 requests in 1.00s, 22.26MB read
`
	wrkRateText = `Requests/sec:  18399.05
Transfer/sec:     22.18MB
`
	h2loadText = `finished in 1.00s, 16037.00 req/s, 17.59MB/s
requests: 16037 total, 16047 started, 16037 done, 16037 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 16037 2xx, 0 3xx, 0 4xx, 0 5xx
                     min         max         mean         sd        +/- sd
time for request:       72us     39.84ms       603us      1.30ms    97.31%
time for connect:      101us       101us       101us         0us   100.00%
`
	ghzText = `{"count":12,"average":250000,"rps":3000.5,"statusCodeDistribution":{"OK":10,"Unavailable":2},
"latencyDistribution":[{"percentage":50,"latency":200000},{"percentage":99,"latency":900000}]}`
	oursText = `{"total":{"right":7,"failed":1,"right_per_second":3.5,"average_ns":1000.5,"service_ns":{"p50":900,"p99":null}}}`
)

// What generators print is read, and what they did not print is told.
func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		read func([]byte) (figures, error)
		text string
		want figures
	}{
		"wrk":        {readWrk, wrkText + wrkRateText, figures{calls: 18464, rate: 18399.05, mean: 2.6e6, p99: 53.83e6}},
		"wrk, bad":   {readWrk, wrkText + "  Non-2xx or 3xx responses: 5\n  Socket errors: connect 1, read 2, write 3, timeout 4\n" + wrkRateText, figures{calls: 18464, rate: 18399.05, mean: 2.6e6, p99: 53.83e6, failed: 15}},
		"h2load":     {readH2load, h2loadText, figures{calls: 16037, rate: 16037, mean: 603e3}},
		"h2load bad": {readH2load, strings.Replace(h2loadText, "0 failed", "3 failed", 1), figures{calls: 16037, rate: 16037, mean: 603e3, failed: 3}},
		"ghz":        {readGhz, ghzText, figures{calls: 10, rate: 3000.5, mean: 250e3, p99: 900e3, failed: 2}},
		"ours":       {readOurs, oursText, figures{calls: 7, rate: 3.5, mean: 1000.5, failed: 1}},
	} {
		if got, err := tc.read([]byte(tc.text)); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, tc.want)
		}
		if _, err := tc.read([]byte("nothing")); err == nil {
			t.Errorf("%s: reads nothing", name)
		}
	}
}

// Ratios are those of pairs, and only what was asked beforehand is judged.
func TestReport(t *testing.T) {
	c := &comparison{tool: tools[0]}
	for i := range 12 {
		rate := 1000 * float64(1+i%3)
		c.ours = append(c.ours, figures{calls: rate, rate: 2 * rate, mean: 100, cpu: time.Second})
		c.theirs = append(c.theirs, figures{calls: rate, rate: rate, mean: 101, cpu: time.Second})
	}
	got := map[string]string{}
	for _, l := range lines([]*comparison{c}) {
		got[l.name] = l.verdict
		if l.name == "right calls a second" && l.ratio.Median != 2 {
			t.Errorf("the ratio is %g", l.ratio.Median)
		}
	}
	if got["right calls a second"] != "different" || got["mean time"] != "not distinguished" || got["generator's CPU a call"] != "–" {
		t.Errorf("%q", got)
	}
	if _, ok := got["p99"]; ok {
		t.Error("p99 of nobody")
	}
	var b bytes.Buffer
	report(&b, &machine{}, &settings{callers: 3, pairs: 2, window: time.Second}, []*comparison{c})
	if !strings.Contains(b.String(), "2 pairs show no difference, however large: 7 are needed for 2 claims") {
		t.Error(b.String())
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"-only nope", "-callers 0", "-pairs 0", "-window 1500ms", "-nope", "x"} {
		var out, errs bytes.Buffer
		if status := command(t.Context(), strings.Fields(args), &out, &errs); status != exitUsage || errs.Len() == 0 {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
	var out, errs bytes.Buffer
	if status := command(t.Context(), []string{"-h"}, &out, &errs); status != 0 || !strings.Contains(out.String(), "ghz") {
		t.Errorf("-h: status %d, %s%s", status, &out, &errs)
	}
}

// One pair beside h2load, through all that a whole run goes through.
func TestPair(t *testing.T) {
	needs.Program(t, "h2load", "on Debian, apt-get install nghttp2-client")
	needs.Program(t, "nginx", "on Debian, apt-get install nginx-light")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	if status := command(ctx, []string{"-only", "h2load", "-pairs", "1", "-window", "1s"}, &out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	if got := out.String(); strings.Count(got, "h2load, HTTP/2") != 4 || !strings.Contains(got, "1 pairs show no difference") {
		t.Error(got)
	}
}
