package grpcwire

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A deadline that has passed, or is none, runs nothing.
func TestDeadlinesRaw(t *testing.T) {
	var ran atomic.Int32
	addr, _ := start(t, probeFunc(func(*probepb.RunRequest) error { ran.Add(1); return nil }))
	const run = "everywire.wiretest.Probe/Run"
	for _, test := range []struct{ timeout, code string }{
		{"0n", "4"}, {"0H", "4"}, {"1n", "4"},
		{"", "13"}, {"5", "13"}, {"S", "13"}, {"-1S", "13"}, {"1s", "13"}, {"1.5S", "13"}, {" 1S", "13"}, {"123456789S", "13"}, {"soon", "13"},
		{"99999999H", "0"}, {"00000009M", "0"}, {"20S", "0"},
	} {
		before := ran.Load()
		c := rawConn(t, addr)
		id := c.call(run, framed(0, nil), true, "grpc-timeout", test.timeout)
		if code, msg := c.status(id); code != test.code {
			t.Errorf("grpc-timeout %q: got %s %q, want %s", test.timeout, code, msg, test.code)
		}
		if n := ran.Load() - before; (n == 1) != (test.code == "0") {
			t.Errorf("grpc-timeout %q: the handler ran %d times", test.timeout, n)
		}
	}
}

// A stream that neither side ends is over when the registry says so, whatever the
// client asked for: the handler waits for a message then, or for its context.
func TestMaxStreamTime(t *testing.T) {
	ended := make(chan error, 1)
	reg := testRegistry(everywire.MaxStreamTime(50 * time.Millisecond))
	everywire.HandleBidi(reg, "x.X/Receive", func(s grpc.BidiStreamingServer[everywire.Document, everywire.Document]) error {
		_, err := s.Recv()
		ended <- err
		return err
	})
	everywire.HandleServerStream(reg, "x.X/Wait", func(_ *everywire.Document, s grpc.ServerStreamingServer[everywire.Document]) error {
		<-s.Context().Done()
		ended <- s.Context().Err()
		return s.Context().Err()
	})
	native, _ := start(t, reg)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	handler := NewHandler(&rpc.ServerConfig{Registry: reg, Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.New(slog.DiscardHandler)})
	mounted := httptest.NewUnstartedServer(handler)
	mounted.Config.Protocols = &protocols
	mounted.Start()
	t.Cleanup(func() {
		if err := handler.Shutdown(testContext(t)); err != nil {
			t.Error(err)
		}
		mounted.Close()
	})
	for name, addr := range map[string]string{"of its own": native, "mounted": mounted.Listener.Addr().String()} {
		for _, method := range []string{"x.X/Receive", "x.X/Wait"} {
			for _, deadline := range []time.Duration{0, time.Hour} {
				t.Run(name+" "+method+" "+deadline.String(), func(t *testing.T) {
					ctx := testContext(t)
					if deadline != 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(context.Background(), deadline)
						defer cancel()
					}
					conn := connect(t, clientConfig(nil, addr))
					s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+method)
					if err != nil {
						t.Fatal(err)
					}
					if method == "x.X/Wait" {
						if err := s.SendMsg(&everywire.Document{}); err != nil {
							t.Fatal(err)
						}
						if err := s.CloseSend(); err != nil {
							t.Fatal(err)
						}
					}
					wantCode(t, s.RecvMsg(new(everywire.Document)), codes.DeadlineExceeded)
					if err := <-ended; err == nil {
						t.Error("the handler saw no error")
					}
				})
			}
		}
	}
	// Unary calls and the services that are not the registry's have no such bound.
	conn := connect(t, clientConfig(nil, native))
	if _, err := probepb.NewProbeClient(conn).Run(testContext(t), &probepb.RunRequest{Wait: durationpb.New(100 * time.Millisecond)}); err != nil {
		t.Error(err)
	}
}

// What a caller gives up is given up by the service that it called, and by the one
// behind that.
func TestCancellationGoesOn(t *testing.T) {
	reg, entered, _ := gate()
	ended := make(chan error, 1)
	behind, _ := start(t, reg)
	next := connect(t, clientConfig(nil, behind))
	front := everywire.NewRegistry()
	everywire.Handle(front, "x.Front/Pass", func(ctx context.Context, in *everywire.Document) (*everywire.Document, error) {
		out, err := everywire.Call[everywire.Document](ctx, next, "x.Gate/Pass", in)
		ended <- err
		return out, err
	})
	addr, _ := start(t, front)
	conn := connect(t, clientConfig(nil, addr))
	for name, test := range map[string]struct {
		end  func(context.Context) (context.Context, context.CancelFunc)
		want codes.Code
	}{
		"canceled": {context.WithCancel, codes.Canceled},
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, codes.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := test.end(testContext(t))
			defer cancel()
			call := everywire.Start[everywire.Document](ctx, conn, "x.Front/Pass", &everywire.Document{})
			<-entered
			if test.want == codes.Canceled {
				cancel()
			}
			// The client's reset may come before the deadline that it is for.
			if got := status.Code(<-ended); got != test.want && got != codes.Canceled {
				t.Errorf("in between: %v, want %v", got, test.want)
			}
			_, err := call.Wait(testContext(t))
			wantCode(t, err, test.want)
		})
	}
}

func TestClampTimeout(t *testing.T) {
	for _, test := range []struct {
		given string
		most  time.Duration
		want  string
	}{
		{"", time.Second, "1000000u"},
		{"500m", time.Second, "500m"},
		{"2S", time.Second, "1000000u"},
		{"99999999H", 100 * time.Hour, "360000S"},
		{"99999999H", never, ""},
		{"soon", time.Second, "soon"},
		{"", 7 * time.Nanosecond, "7n"},
		{"", 90 * time.Second, "90000000u"},
		{"", 3 * time.Hour, "10800000m"},
		{"", 200000000 * time.Second, "3333333M"},
		{"", 2500000 * time.Hour, "2500000H"},
	} {
		h := http.Header{}
		if test.given != "" {
			h.Set(timeoutHeader, test.given)
		}
		want := test.want
		if want == "" {
			want = test.given
		}
		if got := clampTimeout(h, test.most).Get(timeoutHeader); got != want {
			t.Errorf("%q, at most %v: got %q, want %q", test.given, test.most, got, want)
		}
		if h.Get(timeoutHeader) != test.given {
			t.Error("the request's own headers have changed")
		}
	}
}

func FuzzTimeout(f *testing.F) {
	for _, s := range []string{"", "1S", "0n", "1n", "99999999H", "123456789S", "-1S", "+1S", "1s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := parseTimeout(s)
		if !ok {
			return
		}
		if d < 0 || strings.Trim(s[:len(s)-1], "0123456789") != "" {
			t.Fatalf("%q is %v", s, d)
		}
		if d == 0 || d == never {
			return
		}
		again, ok := parseTimeout(formatTimeout(d))
		if !ok || again > d || d-again > d/1000 {
			t.Errorf("%q is %v, which is written as %q", s, d, formatTimeout(d))
		}
	})
}
