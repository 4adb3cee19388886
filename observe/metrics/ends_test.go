package metrics_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

// endings serves methods that end in the ways that calls can. A handler that waits
// says so to started.
func endings(started chan<- struct{}) *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)))
	everywire.Handle(reg, "end.End/Unary", func(ctx context.Context, in *message) (*message, error) {
		return in, end(ctx, in.Text, started)
	})
	everywire.HandleBidi(reg, "end.End/Stream", func(stream grpc.BidiStreamingServer[message, message]) error {
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := end(stream.Context(), in.Text, started); err != nil {
				return err
			}
			if err := stream.Send(in); err != nil {
				return err
			}
		}
	})
	return reg
}

func end(ctx context.Context, how string, started chan<- struct{}) error {
	switch how {
	case "panic":
		panic("told to")
	case "exit":
		runtime.Goexit()
	case "wait":
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// However a call ends, both ends count it once, and nothing stays in flight.
func TestEveryEnd(t *testing.T) {
	for _, target := range targets {
		name, _, _ := strings.Cut(target, ":")
		t.Run(name, func(t *testing.T) {
			m, reg := newMetrics(t)
			started := make(chan struct{}, 10) // nobody reads those of calls that end by deadline
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			quiet := wire.WithLogger(slog.New(slog.DiscardHandler))
			server, err := wire.Serve(ctx, endings(started), []string{target}, wire.WithStats(m.Handler), quiet)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := wire.Dial(server.Targets()[0].String(), wire.WithStats(m.Handler), quiet)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()

			ways := []string{"go on", "panic", "wait", "exit"}
			if name == "grpc" { // grpc-go's client waits for its deadline when a handler has ended its goroutine
				ways = ways[:3]
			}
			unary, streams := 0, 0
			for _, how := range ways {
				for _, deadline := range []bool{false, true} {
					if deadline && how != "wait" {
						continue
					}
					unary++
					callOnce(t, conn, how, deadline, started)
					if name == "jsonrpc+http" || name == "msgpackrpc+tcp" { // have no streams
						continue
					}
					streams++
					streamOnce(t, conn, how, deadline, started)
				}
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			stop()
			if err := server.Wait(); err != nil {
				t.Error(err)
			}
			// On a slow machine a deadline may pass before the call is at the server.
			wantEnded(t, reg, "server", "end.End/Unary", unary-1, unary)
			wantEnded(t, reg, "server", "end.End/Stream", max(streams-1, 0), streams)
			wantEnded(t, reg, "client", "end.End/Unary", unary, unary)
			wantEnded(t, reg, "client", "end.End/Stream", streams, streams)
		})
	}
}

// limited is the context of a call that is to end by its deadline, or to be
// cancelled when its handler has begun to wait.
func limited(t *testing.T, how string, deadline bool, started <-chan struct{}) (context.Context, context.CancelFunc) {
	if deadline {
		return context.WithTimeout(t.Context(), 200*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	if how == "wait" {
		go func() {
			defer cancel()
			select {
			case <-started:
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

func wantEnd(t *testing.T, what, how string, deadline bool, err error) {
	t.Helper()
	want := map[string]codes.Code{"go on": codes.OK, "panic": codes.Internal, "exit": codes.Internal, "wait": codes.Canceled}[how]
	if deadline {
		want = codes.DeadlineExceeded
	}
	if got := status.Code(err); got != want {
		t.Errorf("%s that is to %s ended with %v, want %v", what, how, err, want)
	}
}

func callOnce(t *testing.T, conn *wire.Conn, how string, deadline bool, started <-chan struct{}) {
	t.Helper()
	ctx, cancel := limited(t, how, deadline, started)
	defer cancel()
	_, err := everywire.Call[message](ctx, conn, "end.End/Unary", &message{Text: how})
	wantEnd(t, "a call", how, deadline, err)
}

func streamOnce(t *testing.T, conn *wire.Conn, how string, deadline bool, started <-chan struct{}) {
	t.Helper()
	ctx, cancel := limited(t, how, deadline, started)
	defer cancel()
	raw, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/end.End/Stream")
	if err != nil {
		t.Errorf("a stream: %v", err)
		return
	}
	stream := &grpc.GenericClientStream[message, message]{ClientStream: raw}
	if err := stream.Send(&message{Text: how}); err != nil && !errors.Is(err, io.EOF) { // EOF: Recv tells how it ended
		t.Error(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	for err == nil {
		_, err = stream.Recv()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	wantEnd(t, "a stream", how, deadline, err)
}

// wantEnded compares how many calls of a method have ended at one side, and that
// none is in flight.
func wantEnded(t *testing.T, reg *prometheus.Registry, side, method string, least, most int) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	var codes []string
	for _, f := range families {
		for _, s := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range s.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["rpc_method"] != method {
				continue
			}
			switch f.GetName() {
			case "rpc_" + side + "_call_duration_seconds":
				ended += int(s.GetHistogram().GetSampleCount()) //nolint:gosec // a few
				codes = append(codes, labels["rpc_response_status_code"])
			case "rpc_" + side + "_calls_in_flight":
				if n := s.GetGauge().GetValue(); n != 0 {
					t.Errorf("%v calls of %s are in flight at the %s when all have ended", n, method, side)
				}
			}
		}
	}
	if ended < least || ended > most {
		t.Errorf("%d calls of %s ended at the %s, want %d: %v", ended, method, side, most, codes)
	}
}
