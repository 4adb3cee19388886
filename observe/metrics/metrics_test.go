package metrics_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/observe/metrics"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type message struct {
	Text string `wire:"1"`
}

// The wires, each on a port of its own and on one port of all.
var targets = []string{
	"rest://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0",
	"grpc://127.0.0.1:0", "connect://127.0.0.1:0",
}

func registry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)))
	everywire.Handle(reg, "test.Test/Echo", func(_ context.Context, in *message) (*message, error) {
		if in.Text == "" {
			return nil, status.Error(codes.NotFound, "nothing to say")
		}
		return in, nil
	})
	return reg
}

// serve serves on the targets and returns where, and what ends it: a call is counted
// when its reply has been sent, so maybe after its caller has it.
func serve(t *testing.T, m *metrics.Metrics, on ...string) (at []wire.Target, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := wire.Serve(ctx, registry(), on, wire.WithStats(m.Handler), wire.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		cancel()
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return server.Targets(), stop
}

// call makes one call that succeeds and one that is NotFound.
func call(t *testing.T, m *metrics.Metrics, target string) {
	t.Helper()
	conn, err := wire.Dial(target, wire.WithStats(m.Handler))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if out, err := everywire.Call[message](t.Context(), conn, "test.Test/Echo", &message{Text: "hello"}); err != nil || out.Text != "hello" {
		t.Fatalf("%s: %v, %v", target, out, err)
	}
	if _, err := everywire.Call[message](t.Context(), conn, "test.Test/Echo", &message{}); status.Code(err) != codes.NotFound {
		t.Fatalf("%s: %v", target, err)
	}
}

func newMetrics(t *testing.T) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	m, err := metrics.New(reg)
	if err != nil {
		t.Fatal(err)
	}
	return m, reg
}

// Every wire is counted alike: under its own name also where all share a port.
func TestEveryWire(t *testing.T) {
	for name, one := range map[string]bool{"ports of their own": false, "one port": true} {
		t.Run(name, func(t *testing.T) {
			m, reg := newMetrics(t)
			on := targets
			if one {
				on = []string{"any://127.0.0.1:0"}
			}
			at, stop := serve(t, m, on...)
			for i, target := range targets {
				parsed, err := wire.ParseTarget(target)
				if err != nil {
					t.Fatal(err)
				}
				call(t, m, parsed.At(at[i%len(at)].Addrs...).String())
			}
			stop()
			check(t, reg)
		})
	}
}

// check compares the series of each wire, of which jsonrpc was called twice.
func check(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	calls, bytes := map[string]uint64{}, map[string]float64{}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			key := strings.Join(labels, " ")
			switch name := f.GetName(); {
			case strings.HasSuffix(name, "_call_duration_seconds"):
				calls[name+" "+key] = s.GetHistogram().GetSampleCount()
			case strings.HasSuffix(name, "_bytes_total"):
				bytes[name+" "+key] = s.GetCounter().GetValue()
			case s.GetGauge().GetValue() != 0:
				t.Errorf("%s %s is %v when nothing runs", name, key, s.GetGauge().GetValue())
			}
		}
	}
	for _, w := range []string{"rest", "jsonrpc", "msgpackrpc", "grpc", "connect"} {
		want := uint64(1)
		if w == "jsonrpc" {
			want = 2
		}
		for _, end := range []string{"server", "client"} {
			for _, code := range []string{"OK", "NOT_FOUND"} {
				if key := "rpc_" + end + "_call_duration_seconds test.Test/Echo " + code + " " + w; calls[key] != want {
					t.Errorf("%s: %d calls, want %d: %v", key, calls[key], want, calls)
				}
			}
			for _, way := range []string{"received", "sent"} {
				if key := "rpc_" + end + "_" + way + "_bytes_total test.Test/Echo " + w; bytes[key] < 6 {
					t.Errorf("%s is %v, less than the text alone", key, bytes[key])
				}
			}
		}
		if got, want := bytes["rpc_server_received_bytes_total test.Test/Echo "+w], bytes["rpc_client_sent_bytes_total test.Test/Echo "+w]; got != want {
			t.Errorf("%s: the server received %v bytes and the client sent %v", w, got, want)
		}
	}
}

// The page keeps to Prometheus's rules for names, units and help.
func TestLint(t *testing.T) {
	m, reg := newMetrics(t)
	at, _ := serve(t, m, "grpc://127.0.0.1:0")
	call(t, m, at[0].String())
	problems, err := testutil.GatherAndLint(reg)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
}

// A stranger who calls what is not there makes no series.
func TestUnknownMethods(t *testing.T) {
	m, reg := newMetrics(t)
	at, stop := serve(t, m, targets...)
	for _, target := range at {
		conn, err := wire.Dial(target.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"test.Test/A", "test.Test/B"} {
			if _, err := everywire.Call[message](t.Context(), conn, method, &message{}); status.Code(err) != codes.Unimplemented {
				t.Errorf("%v: %v", target, err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	stop()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				if strings.HasPrefix(l.GetValue(), "test.Test/") {
					t.Errorf("%s has a series of %s", f.GetName(), l.GetValue())
				}
			}
		}
	}
}

// Two of one name cannot be registered.
func TestRegisteredTwice(t *testing.T) {
	_, reg := newMetrics(t)
	if _, err := metrics.New(reg); err == nil {
		t.Fatal("no error")
	}
}
