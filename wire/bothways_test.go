package wire_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

type question struct {
	Text string `wire:"1"`
	// Deep is how often the question is to be passed to the other end.
	Deep int32 `wire:"2"`
}

type answer struct {
	Text string `wire:"1"`
}

// pass answers a question, or asks the other end.
func pass(ctx context.Context, q *question) (*answer, error) {
	if q.Deep == 0 {
		return &answer{q.Text}, nil
	}
	other, ok := wire.Caller(ctx)
	if !ok {
		return nil, status.Error(codes.FailedPrecondition, "there is no way back")
	}
	a, err := everywire.Call[answer](ctx, other, "both.Ways/Pass", &question{q.Text, q.Deep - 1})
	if err != nil {
		return nil, err
	}
	return &answer{a.Text + "!"}, nil
}

// bothWays dials to a server of pass; options are the client's.
func bothWays(t *testing.T, target, options string, offers *everywire.Registry) *wire.Conn {
	t.Helper()
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "both.Ways/Pass", pass)
	srv, err := wire.Serve(t.Context(), reg, []string{target})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := wire.Dial(srv.Targets()[0].String()+options, wire.WithOffers(offers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// A handler calls the client that called it, whose handler calls back, and so
// on, all over one connection.
func TestBothWays(t *testing.T) {
	for _, test := range []struct{ target, options string }{
		{"jsonrpc+tcp://127.0.0.1:0", ""},
		{"jsonrpc+tcp://127.0.0.1:0", "?framing=header"},
		{"jsonrpc+tcp://127.0.0.1:0", "?framing=netstring"},
		{"jsonrpc+ws://127.0.0.1:0/path", ""},
		{"msgpackrpc+tcp://127.0.0.1:0", ""},
		{"msgpackrpc+tcp://127.0.0.1:0", "?envelope=map"},
	} {
		t.Run(test.target+test.options, func(t *testing.T) {
			offers := everywire.NewRegistry()
			everywire.Handle(offers, "both.Ways/Pass", pass)
			conn := bothWays(t, test.target, test.options, offers)
			var wg sync.WaitGroup
			for i := range 20 {
				wg.Go(func() {
					for deep := range int32(7) {
						text := strconv.Itoa(i)
						a, err := everywire.Call[answer](t.Context(), conn, "both.Ways/Pass", &question{text, deep})
						if want := text + strings.Repeat("!", int(deep)); err != nil || a.Text != want {
							t.Errorf("%d deep: %v, %v, want %q", deep, a, err, want)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// A server of JSON-RPC 1.0, which answers both versions, calls a client in the
// version that the client speaks.
func TestBothWaysVersions(t *testing.T) {
	for _, version := range []string{"1.0", "2.0"} {
		offers := everywire.NewRegistry()
		everywire.Handle(offers, "both.Ways/Pass", pass)
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "both.Ways/Pass", pass)
		srv, err := wire.Serve(t.Context(), reg, []string{"jsonrpc+tcp://127.0.0.1:0?version=1.0"})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := wire.Dial("jsonrpc+tcp://"+srv.Targets()[0].Addrs[0]+"?version="+version, wire.WithOffers(offers))
		if err != nil {
			t.Fatal(err)
		}
		a, err := everywire.Call[answer](t.Context(), conn, "both.Ways/Pass", &question{"x", 3})
		if err != nil || a.Text != "x!!!" {
			t.Errorf("%s: %v, %v", version, a, err)
		}
		if err := errors.Join(conn.Close(), srv.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	}
}

// What a client does not offer is unknown to its server, and its errors reach
// the first caller.
func TestBothWaysErrors(t *testing.T) {
	for _, target := range []string{"jsonrpc+tcp://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0"} {
		offers := everywire.NewRegistry()
		everywire.Handle(offers, "both.Ways/Other", pass)
		conn := bothWays(t, target, "", offers)
		_, err := everywire.Call[answer](t.Context(), conn, "both.Ways/Pass", &question{"x", 1})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", target, err)
		}
	}
	for _, target := range []string{"rest://127.0.0.1:1", "jsonrpc+http://127.0.0.1:1", "grpc://127.0.0.1:1"} {
		_, err := wire.Dial(target, wire.WithOffers(everywire.NewRegistry()))
		var te *wire.TargetError
		if !errors.As(err, &te) || !strings.Contains(te.Reason, "one way only") {
			t.Errorf("%s: %v", target, err)
		}
	}
}
