package flowmetrics_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flowmetrics"
)

// scraped is the exposition as Prometheus reads it: a value for each series, with
// its labels in the order of their names.
func scraped(t *testing.T, reg *prometheus.Registry) (values map[string]float64, types map[string]string) {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	values, types = map[string]float64{}, map[string]string{}
	for all := bufio.NewScanner(w.Body); all.Scan(); {
		line := all.Text()
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, typ, _ := strings.Cut(rest, " ")
			types[name] = typ
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if _, twice := values[line[:i]]; err != nil || twice {
			t.Fatalf("the line %q: %v", line, err)
		}
		values[line[:i]] = v
	}
	return values, types
}

// slow answers after 3 ms, 30 ms, 280 ms, then with an error, then not for an hour.
type slow struct{ calls int }

func (s *slow) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	s.calls++
	if s.calls == 4 {
		return status.Error(codes.Unavailable, "down")
	}
	took := []time.Duration{3 * time.Millisecond, 30 * time.Millisecond, 280 * time.Millisecond, 0, time.Hour}[s.calls-1]
	select {
	case <-time.After(took):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (*slow) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	panic("a flow makes no streams")
}
func (*slow) Close() error { return nil }

const file = `
name: shop
version: 1.2.3
methods: {a.B/C: {}}
triggers:
  tick: {timer: {every: 100ms, count: 8}, flow: main}
flows:
  main:
    steps:
      - {name: ask, invoke: {target: 'grpc://h:1', method: a.B/C, deadline: 1h}}
      - {flow: {name: tell}}
  tell:
    steps:
      - {log: {message: m}}
`

// Metrics of runs whose times are known, as they are exposed.
func TestExposition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := flow.Parse("f.yaml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		reg := prometheus.NewPedanticRegistry()
		metrics, err := flowmetrics.New(reg)
		if err != nil {
			t.Fatal(err)
		}
		conn := new(slow)
		a, err := flow.New(f, flow.Options{
			Observer: metrics, Logger: slog.New(slog.DiscardHandler), Drain: time.Second,
			Dial: func(string, *everywire.Registry) (flow.Conn, error) { return conn, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		// Runs at 0, 100 and 200 ms take 3, 30 and 280 ms, so that the ticks at 300 and
		// 400 ms are skipped; that at 500 ms fails, and that at 600 ms takes too long.
		ctx, cancel := context.WithTimeout(t.Context(), 650*time.Millisecond)
		defer cancel()
		if err := a.Run(ctx); fmt.Sprint(err) != "runs that had not finished after 1s were stopped" {
			t.Error(err)
		}

		values, types := scraped(t, reg)
		wantTypes := map[string]string{
			"flow_runs_started_total": "counter", "flow_run_duration_seconds": "histogram",
			"flow_activities_started_total": "counter", "flow_activity_duration_seconds": "histogram", "flow_ticks_skipped_total": "counter",
		}
		if diff := cmp.Diff(wantTypes, types); diff != "" {
			t.Errorf("types: - want, + got:\n%s", diff)
		}
		const app = `application="shop",`
		ofAsk := func(state string) string {
			return `{activity="ask",` + app + `flow="main",kind="invoke",state="` + state + `",version="1.2.3"`
		}
		want := map[string]float64{
			`flow_runs_started_total{` + app + `flow="main",version="1.2.3"}`:                                    5,
			`flow_runs_started_total{` + app + `flow="tell",version="1.2.3"}`:                                    3,
			`flow_run_duration_seconds_count{` + app + `flow="main",state="completed",version="1.2.3"}`:          3,
			`flow_run_duration_seconds_count{` + app + `flow="main",state="failed",version="1.2.3"}`:             1,
			`flow_run_duration_seconds_count{` + app + `flow="main",state="canceled",version="1.2.3"}`:           1,
			`flow_run_duration_seconds_count{` + app + `flow="tell",state="completed",version="1.2.3"}`:          3,
			`flow_run_duration_seconds_sum{` + app + `flow="main",state="completed",version="1.2.3"}`:            0.313,
			`flow_run_duration_seconds_sum{` + app + `flow="main",state="failed",version="1.2.3"}`:               0,
			`flow_run_duration_seconds_sum{` + app + `flow="main",state="canceled",version="1.2.3"}`:             1.05,
			`flow_activities_started_total{activity="ask",` + app + `flow="main",kind="invoke",version="1.2.3"}`: 5,
			`flow_activities_started_total{activity="flow",` + app + `flow="main",kind="flow",version="1.2.3"}`:  3,
			`flow_activities_started_total{activity="log",` + app + `flow="tell",kind="log",version="1.2.3"}`:    3,
			`flow_activity_duration_seconds_count` + ofAsk("completed") + "}":                                    3,
			`flow_activity_duration_seconds_count` + ofAsk("failed") + "}":                                       1,
			`flow_activity_duration_seconds_sum` + ofAsk("completed") + "}":                                      0.313,
			`flow_activity_duration_seconds_bucket` + ofAsk("completed") + `,le="0.0025"}`:                       0,
			`flow_activity_duration_seconds_bucket` + ofAsk("completed") + `,le="0.005"}`:                        1,
			`flow_activity_duration_seconds_bucket` + ofAsk("completed") + `,le="0.05"}`:                         2,
			`flow_activity_duration_seconds_bucket` + ofAsk("completed") + `,le="0.25"}`:                         2,
			`flow_activity_duration_seconds_bucket` + ofAsk("completed") + `,le="0.5"}`:                          3,
			`flow_activity_duration_seconds_bucket` + ofAsk("completed") + `,le="+Inf"}`:                         3,
			`flow_ticks_skipped_total{` + app + `trigger="tick",version="1.2.3"}`:                                2,
		}
		for series, v := range want {
			got, ok := values[series]
			if !ok {
				t.Errorf("there is no %s", series)
			} else if diff := got - v; diff > 1e-9 || diff < -1e-9 {
				t.Errorf("%s is %v, want %v", series, got, v)
			}
		}
	})
}

// Buckets are for 10 µs to 10 s, with two or three to each power of ten.
func TestBuckets(t *testing.T) {
	b := flowmetrics.Buckets
	if b[0] > 10e-6 || b[len(b)-1] < 10 {
		t.Errorf("they are from %v to %v", b[0], b[len(b)-1])
	}
	for i := 1; i < len(b); i++ {
		if ratio := b[i] / b[i-1]; ratio < 1.9 || ratio > 2.6 {
			t.Errorf("%v follows on %v", b[i], b[i-1])
		}
	}
}

// Two sets of metrics in one registry are refused.
func TestTwice(t *testing.T) {
	reg := prometheus.NewRegistry()
	if _, err := flowmetrics.New(reg); err != nil {
		t.Fatal(err)
	}
	if _, err := flowmetrics.New(reg); err == nil {
		t.Error("registered twice")
	}
}
