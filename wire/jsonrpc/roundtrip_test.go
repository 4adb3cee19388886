package jsonrpc

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire"
)

// each runs a test for every transport, with and without descriptions at the
// client, so that both the full and the short form are used.
func each(t *testing.T, run func(t *testing.T, f *fixture, conn grpc.ClientConnInterface)) {
	for _, tr := range transports {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/known=%v", tr.name, known), func(t *testing.T) {
				f := newFixture()
				var methods *everywire.Registry
				if known {
					methods = f.reg
				}
				addr := serve(t, tr.server, serverConfig(f.reg, everywire.Limits{}))
				run(t, f, dial(t, tr.conn, clientConfig(addr, methods)))
			})
		}
	}
}

func TestCall(t *testing.T) {
	each(t, func(t *testing.T, _ *fixture, conn grpc.ClientConnInterface) {
		ctx := t.Context()
		for _, numbers := range [][]int64{nil, {20, 21}, {-1, 1}, {1 << 62, 3}} {
			want := int64(0)
			for _, n := range numbers {
				want += n
			}
			sum, err := everywire.Call[sumReply](ctx, conn, "arith.Arith/Sum", &sumRequest{numbers})
			if err != nil || sum.Sum != want {
				t.Errorf("Sum(%v) = %v, %v", numbers, sum, err)
			}
		}
		for _, in := range []pair{{}, {42, 23}, {0, 5}, {5, 0}} {
			d, err := everywire.Call[difference](ctx, conn, "arith.Arith/Subtract", &in)
			if err != nil || d.Value != in.Minuend-in.Subtrahend {
				t.Errorf("Subtract(%v) = %v, %v", in, d, err)
			}
		}
		for _, text := range []string{"", "ä\u2028\"\\\x00", strings.Repeat("long", 50_000)} {
			for _, method := range []string{"Same", "Plain", "Upper"} {
				out, err := everywire.Call[textMessage](ctx, conn, "t.Text/"+method, &textMessage{text})
				if err != nil || !strings.EqualFold(out.Text, text) {
					t.Errorf("%s(%.20q) = %.40v, %v", method, text, out, err)
				}
			}
		}
		for _, v := range []any{nil, true, "x", int64(1) << 60, []any{}, []any{"a", []any{nil}}, map[string]any{"a": "b"}} {
			out, err := everywire.Call[everywire.Document](ctx, conn, "t.Echo/Any", &everywire.Document{Value: v})
			if err != nil {
				t.Errorf("Any(%v): %v", v, err)
			} else if diff := cmp.Diff(v, out.Value); diff != "" {
				t.Errorf("Any(%v): %s", v, diff)
			}
		}
		for _, v := range []any{nil, "x", []any{"y"}, map[string]any{"z": 1.5}} {
			in, err := structpb.NewValue(v)
			if err != nil {
				t.Fatal(err)
			}
			out, err := everywire.Call[structpb.Value](ctx, conn, "t.Echo/Value", in)
			if err != nil || !proto.Equal(in, out) {
				t.Errorf("Value(%v) = %v, %v", v, out, err)
			}
		}
	})
}

func TestCallErrors(t *testing.T) {
	each(t, func(t *testing.T, _ *fixture, conn grpc.ClientConnInterface) {
		for _, tc := range []struct {
			method, text string
			code         codes.Code
			message      string
		}{
			{"t.Ctl/Fail", "not now", codes.FailedPrecondition, "not now"},
			{"t.Ctl/Fail", "odd", 4242, "an odd code"},
			{"t.Ctl/Fail", "details", codes.NotFound, "no such thing"},
			{"t.Ctl/Nope", "", codes.Unimplemented, "unknown method Nope for service t.Ctl"},
			{"no.Service/M", "", codes.Unimplemented, "unknown service no.Service"},
		} {
			_, err := everywire.Call[empty](t.Context(), conn, tc.method, &textMessage{tc.text})
			s := status.Convert(err)
			if s.Code() != tc.code || s.Message() != tc.message {
				t.Errorf("%s(%s): %v", tc.method, tc.text, err)
			}
			if tc.text == "details" && len(s.Details()) != 1 {
				t.Errorf("details: %v", s.Details())
			}
		}
		// The message has a field of another type.
		_, err := everywire.Call[empty](t.Context(), conn, "t.Text/Plain", &sumReply{})
		if err != nil {
			t.Errorf("members that the message does not know are ignored, but: %v", err)
		}
		type wrong struct {
			Text []string `wire:"1"`
		}
		_, err = everywire.Call[empty](t.Context(), conn, "t.Text/Plain", &wrong{[]string{"x"}})
		if s := status.Convert(err); s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "text") {
			t.Errorf("wrong type: %v", err)
		}
	})
}

func TestCallMetadata(t *testing.T) {
	each(t, func(t *testing.T, _ *fixture, conn grpc.ClientConnInterface) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "key", "a", "key", "b, c", "k-bin", "\x00\xff")
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var header, trailer metadata.MD
		var p peer.Peer
		out, err := everywire.Call[textMessage](ctx, conn, "t.Meta/Mirror", &empty{}, grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&p))
		if err != nil {
			t.Fatal(err)
		}
		if out.Text != "a,b, c" {
			t.Errorf("metadata: %q", out.Text)
		}
		if got := header.Get("h-bin"); len(got) != 1 || got[0] != "\x00\xff" {
			t.Errorf("header: %v", header)
		}
		if got := trailer.Get("has-deadline"); len(got) != 1 || got[0] != "yes" {
			t.Errorf("trailer: %v", trailer)
		}
		if p.Addr == nil || p.AuthInfo == nil {
			t.Errorf("peer: %v", p)
		}
	})
}

func TestCancelReachesTheHandler(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, conn grpc.ClientConnInterface) {
		ctx, cancel := context.WithCancel(t.Context())
		call := everywire.Start[empty](ctx, conn, "t.Ctl/Block", &empty{})
		<-f.began
		cancel()
		if _, err := call.Wait(t.Context()); status.Code(err) != codes.Canceled {
			t.Errorf("the call: %v", err)
		}
		if err := <-f.ended; err != context.Canceled { //nolint:errorlint // as ctx.Err returns it
			t.Errorf("the handler's context: %v", err)
		}
	})
}

func TestDeadlineReachesTheHandler(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, conn grpc.ClientConnInterface) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := everywire.Call[empty](ctx, conn, "t.Ctl/Block", &empty{})
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("the call: %v", err)
		}
		<-f.ended
	})
}

func TestNotify(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, conn grpc.ClientConnInterface) {
		if err := everywire.Notify(t.Context(), conn, "t.Text/Note", &textMessage{"hello"}); err != nil {
			t.Fatal(err)
		}
		if got := <-f.noted; got != "hello" {
			t.Errorf("noted %q", got)
		}
		// Nobody hears of an error.
		if err := everywire.Notify(t.Context(), conn, "t.Ctl/Fail", &textMessage{"x"}); err != nil {
			t.Error(err)
		}
		if _, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{}); err != nil {
			t.Error(err)
		}
	})
}

func TestManyCallers(t *testing.T) {
	each(t, func(t *testing.T, _ *fixture, conn grpc.ClientConnInterface) {
		var callers sync.WaitGroup
		for i := range 32 {
			callers.Go(func() {
				for j := range 20 {
					text := fmt.Sprintf("caller %d call %d", i, j)
					out, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Same", &textMessage{text})
					if err != nil || out.Text != text {
						t.Errorf("%s: %v, %v", text, out, err)
					}
				}
			})
		}
		callers.Wait()
	})
}

func TestLimits(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			f := newFixture()
			small := everywire.Limits{MaxMessage: 1000, MaxMetadata: 1000}
			conn := dial(t, tr.conn, clientConfig(serve(t, tr.server, serverConfig(f.reg, small)), nil))
			for _, n := range []int{2_000, 200_000} {
				_, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{strings.Repeat("x", n)})
				if status.Code(err) != codes.ResourceExhausted {
					t.Errorf("a request of %d bytes: %v", n, err)
				}
			}
			_, err := everywire.Call[textMessage](t.Context(), conn, "t.Ctl/Fail", &textMessage{"long"})
			if s := status.Convert(err); s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), "UNKNOWN") {
				t.Errorf("a long error: %v", err)
			}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "key", strings.Repeat("v", 1500))
			if _, err = everywire.Call[textMessage](ctx, conn, "t.Meta/Mirror", &empty{}); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("long metadata: %v", err)
			}
			if _, err = everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{"x"}); err != nil {
				t.Errorf("a call after all that: %v", err)
			}
		})
		t.Run(tr.name+"/reply", func(t *testing.T) {
			f := newFixture()
			cfg := clientConfig(serve(t, tr.server, serverConfig(f.reg, everywire.Limits{})), nil)
			conn := dial(t, tr.conn, cfg)
			_, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{strings.Repeat("x", 2000)}, grpc.MaxCallRecvMsgSize(1000))
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("a reply of 2000 bytes: %v", err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().String()
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			conn := dial(t, tr.conn, clientConfig(addr, nil))
			_, err := everywire.Call[empty](t.Context(), conn, "t.Text/Plain", &empty{})
			if s := status.Convert(err); s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "cannot reach test://"+addr) {
				t.Errorf("fail fast: %v", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
			defer cancel()
			_, err = everywire.Call[empty](ctx, conn, "t.Text/Plain", &empty{}, grpc.WaitForReady(true))
			if status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("wait for ready: %v", err)
			}
		})
	}
}

func TestCloseEndsCalls(t *testing.T) {
	each(t, func(t *testing.T, f *fixture, conn grpc.ClientConnInterface) {
		call := everywire.Start[empty](t.Context(), conn, "t.Ctl/Block", &empty{})
		<-f.began
		if err := conn.(interface{ Close() error }).Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := call.Wait(t.Context()); status.Code(err) != codes.Canceled {
			t.Errorf("the call: %v", err)
		}
		<-f.ended // the server saw that the client has gone
		if _, err := everywire.Call[empty](t.Context(), conn, "t.Text/Plain", &empty{}); status.Code(err) != codes.Canceled {
			t.Errorf("a call after Close: %v", err)
		}
	})
}

func TestStreamsAreUnimplementedOverHTTP(t *testing.T) {
	f := newFixture()
	addr := serve(t, NewHTTPServer, serverConfig(f.reg, everywire.Limits{}))
	conn := dial(t, NewHTTPConn, clientConfig(addr, nil))
	if _, err := conn.NewStream(t.Context(), &grpc.StreamDesc{}, "/a.B/C"); status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}
