package wiretest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

func wantCode(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("%s: got %v, want the code %v", what, err, want)
	}
}

func unknownMethods(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	reference := oracle(t)
	for _, name := range []string{"/everywire.wiretest.Probe/Nothing", "/no.Such/Run", "/everywire.wiretest.Probe/toString", "/rpc.x/y"} {
		want := status.Convert(reference.Invoke(within(t), name, &probepb.RunRequest{}, &probepb.RunReply{}))
		got := status.Convert(p.conn.Invoke(within(t), name, &probepb.RunRequest{}, &probepb.RunReply{}))
		if got.Code() != want.Code() || got.Message() != want.Message() && !s.saysPaths() {
			t.Errorf("%s: got %v, gRPC gives %v", name, got, want)
		}
	}
}

func deadlines(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	t.Run("passed", func(t *testing.T) {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{})
		wantCode(t, "a call whose deadline has passed", err, codes.DeadlineExceeded)
	})
	t.Run("reaches the handler", func(t *testing.T) {
		w := p.expect("deadline")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{Name: "deadline", Wait: durationpb.New(time.Hour)})
		wantCode(t, "a call that takes too long", err, codes.DeadlineExceeded)
		await(t, "the end of the handler's context", w.ended)
		if w.err == nil {
			t.Error("the handler waited to its end")
		}
	})
	t.Run("is the client's", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		out, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{})
		if err != nil {
			t.Fatal(err)
		}
		// The server's own bound, ten minutes, is the shorter one.
		if left := time.Duration(out.GetDeadlineMs()) * time.Millisecond; left <= 0 || left > everywire.DefaultMaxCallTime {
			t.Errorf("the handler had %v left", left)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if out, err = callers[0].run(ctx, p.conn, &probepb.RunRequest{}); err != nil {
			t.Fatal(err)
		}
		if left := time.Duration(out.GetDeadlineMs()) * time.Millisecond; left <= time.Minute-patience || left > time.Minute {
			t.Errorf("of a minute the handler had %v left", left)
		}
	})
}

func cancellation(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	for i := range 20 {
		name := fmt.Sprintf("cancelled %d", i)
		w := p.expect(name)
		ctx, cancel := context.WithCancel(within(t))
		done := make(chan error, 1)
		go func() {
			_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{Name: name, Wait: durationpb.New(time.Hour)})
			done <- err
		}()
		await(t, "the handler's start", w.started)
		cancel()
		wantCode(t, "a cancelled call", <-done, codes.Canceled)
		await(t, "the end of the handler's context", w.ended)
		if w.err == nil {
			t.Error("the handler waited to its end")
		}
	}
	// The connection is as good as before.
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Error(err)
	}
}

// secret is a credential that must only go over TLS, unless open.
type secret struct{ open bool }

func (secret) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"x-secret": "s"}, nil
}

func (c secret) RequireTransportSecurity() bool { return !c.open }

func callOptions(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	run := func(opts ...grpc.CallOption) (*probepb.RunReply, error) {
		return callers[0].run(within(t), p.conn, &probepb.RunRequest{Payload: make([]byte, 1000)}, opts...)
	}
	t.Run("peer", func(t *testing.T) {
		var got peer.Peer
		if _, err := run(grpc.Peer(&got)); err != nil {
			t.Fatal(err)
		}
		if want := p.server.Targets()[0].Addrs[0]; got.Addr == nil || got.Addr.String() != want {
			t.Errorf("the peer is %v, want %s", got.Addr, want)
		}
		want := "insecure"
		if s.shape.TLS {
			want = "tls"
		}
		if got.AuthInfo == nil || got.AuthInfo.AuthType() != want {
			t.Errorf("the peer's AuthInfo is %v", got.AuthInfo)
		}
	})
	t.Run("on finish", func(t *testing.T) {
		for _, code := range []codes.Code{codes.OK, codes.NotFound} {
			var ended []error
			_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{Code: uint32(code)},
				grpc.OnFinish(func(err error) { ended = append(ended, err) }))
			if len(ended) != 1 || status.Code(ended[0]) != code || status.Code(err) != code {
				t.Errorf("OnFinish got %v, the caller %v, want the code %v once", ended, err, code)
			}
		}
	})
	t.Run("sizes", func(t *testing.T) {
		_, err := run(grpc.MaxCallRecvMsgSize(100))
		wantCode(t, "a reply over MaxCallRecvMsgSize", err, codes.ResourceExhausted)
		_, err = run(grpc.MaxCallSendMsgSize(100))
		wantCode(t, "a request over MaxCallSendMsgSize", err, codes.ResourceExhausted)
		if _, err = run(grpc.MaxCallSendMsgSize(10_000), grpc.MaxCallRecvMsgSize(10_000)); err != nil {
			t.Error(err)
		}
	})
	t.Run("credentials", func(t *testing.T) {
		out, err := run(grpc.PerRPCCredentials(secret{open: true}))
		if err != nil || len(out.GetMetadata()["x-secret"].GetValues()) != 1 {
			t.Errorf("got %v, metadata %v", err, out.GetMetadata())
		}
		if !s.shape.TLS {
			_, err = run(grpc.PerRPCCredentials(secret{}))
			wantCode(t, "a secret over cleartext", err, codes.Unauthenticated)
		}
	})
	t.Run("hints", func(t *testing.T) {
		if _, err := run(grpc.StaticMethod(), grpc.WaitForReady(false), grpc.EmptyCallOption{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("without meaning", func(t *testing.T) {
		_, err := run(grpc.CallContentSubtype("json"))
		wantCode(t, "a codec of one call", err, codes.Unimplemented)
		if s.is("grpc") {
			return // the others mean something there
		}
		finished := 0
		_, err = run(grpc.UseCompressor(gzip.Name), grpc.OnFinish(func(error) { finished++ }))
		wantCode(t, "a compressor", err, codes.Unimplemented)
		if finished != 1 {
			t.Errorf("OnFinish was called %d times for a call that was refused", finished)
		}
		_, err = run(grpc.CallAuthority("x"))
		wantCode(t, "an authority", err, codes.Unimplemented)
	})
	t.Run("metadata that is not", func(t *testing.T) {
		ctx := metadata.NewOutgoingContext(within(t), metadata.MD{"x-bad": {"\n"}})
		_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{})
		wantCode(t, "a line break in metadata", err, codes.Internal)
	})
}

func limits(t *testing.T, s *suite) {
	small := wire.WithLimits(everywire.Limits{MaxMessage: 10_000, MaxMetadata: 2000})
	t.Run("message, at the client", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{dial: []wire.DialOption{small}})
		_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{Payload: make([]byte, 20_000)})
		wantCode(t, "a request over the limit", err, codes.ResourceExhausted)
	})
	t.Run("message, at the server", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{serve: []wire.ServeOption{small}})
		_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{Payload: make([]byte, 20_000)})
		wantCode(t, "a request over the limit", err, codes.ResourceExhausted)
		if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
	t.Run("defaults", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{})
		_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{Payload: make([]byte, 5<<20)})
		wantCode(t, "a request of 5 MiB", err, codes.ResourceExhausted)
		if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
	t.Run("metadata, at the client", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{dial: []wire.DialOption{small}})
		ctx := metadata.AppendToOutgoingContext(within(t), "x-long", strings.Repeat("x", 3000))
		_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{})
		wantCode(t, "metadata over the limit", err, codes.ResourceExhausted)
	})
	t.Run("metadata, at the server", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{serve: []wire.ServeOption{small}})
		ctx := metadata.AppendToOutgoingContext(within(t), "x-long", strings.Repeat("x", 30_000))
		if _, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{}); err == nil {
			t.Error("metadata over the limit was taken")
		}
		if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// handlerLog is a stats.Handler that keeps the names of the events.
type handlerLog struct {
	mu     sync.Mutex
	events []string
}

func (h *handlerLog) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	h.add("Tag " + info.FullMethodName)
	return ctx
}

func (h *handlerLog) HandleRPC(_ context.Context, ev stats.RPCStats) {
	name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "*stats.")
	switch ev := ev.(type) {
	case *stats.DelayedPickComplete:
		return // about grpc-go's own load balancing
	case *stats.InPayload:
		name += fmt.Sprint(" length>0=", ev.Length > 0)
	case *stats.OutPayload:
		name += fmt.Sprint(" length>0=", ev.Length > 0)
	case *stats.End:
		name += fmt.Sprint(" ", status.Code(ev.Error))
	}
	h.add(name)
}

func (*handlerLog) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*handlerLog) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *handlerLog) add(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, s)
}

// take returns the events, sorted: their order within a call is grpc-go's
// business, and server's events come when the client has its reply already.
func (h *handlerLog) take(t *testing.T, until string) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		done := slices.ContainsFunc(h.events, func(e string) bool { return strings.HasPrefix(e, until) })
		if done || time.Now().After(deadline) {
			events := slices.Sorted(slices.Values(h.events))
			h.events = nil
			h.mu.Unlock()
			return events
		}
		h.mu.Unlock()
	}
}

func interceptors(t *testing.T, s *suite) {
	var mu sync.Mutex
	var log []string
	add := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, s)
	}
	client, server := &handlerLog{}, &handlerLog{}
	p := s.start(t, (*probe).plain, options{
		registry: []everywire.RegistryOption{everywire.ChainUnary(
			func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
				add("server " + info.FullMethod)
				md, _ := metadata.FromIncomingContext(ctx)
				add("server sees " + strings.Join(md["x-from"], ","))
				return h(ctx, req)
			})},
		dial: []wire.DialOption{
			wire.WithUnaryInterceptor(
				func(ctx context.Context, m string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
					add("client outer " + m)
					if cc.Target() == "" {
						t.Error("the interceptor's connection has no target")
					}
					return next(metadata.AppendToOutgoingContext(ctx, "x-from", "outer"), m, req, reply, cc, opts...)
				},
				func(ctx context.Context, m string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
					add("client inner " + m)
					return next(ctx, m, req, reply, cc, opts...)
				}),
			wire.WithStatsHandler(client),
		},
		serve: []wire.ServeOption{wire.WithStatsHandler(server)},
	})
	for _, code := range []codes.Code{codes.OK, codes.NotFound} {
		log = nil
		_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{Name: "n", Code: uint32(code)})
		wantCode(t, "the call", err, code)
		path := "/" + runMethod
		want := []string{"client outer " + path, "client inner " + path, "server " + path, "server sees outer"}
		if !slices.Equal(log, want) {
			t.Errorf("the interceptors ran %q, want %q", log, want)
		}
		wantEvents := func(who string, got []string, want ...string) {
			t.Helper()
			slices.Sort(want)
			if code != codes.OK { // gRPC sends headers of an error in its trailers
				got = slices.DeleteFunc(got, func(e string) bool { return e == "OutHeader" && who == "server" || e == "InHeader" && who == "client" })
			}
			if !slices.Equal(got, want) {
				t.Errorf("code %v: the %s's stats are %q, want %q", code, who, got, want)
			}
		}
		end := "End " + code.String()
		if code == codes.OK {
			wantEvents("client", client.take(t, "End"), "Tag "+path, "Begin", "OutHeader", "OutPayload length>0=true", "InHeader", "InPayload length>0=true", "InTrailer", end)
			wantEvents("server", server.take(t, "End"), "Tag "+path, "InHeader", "Begin", "InPayload length>0=true", "OutHeader", "OutPayload length>0=true", "OutTrailer", end)
			continue
		}
		wantEvents("client", client.take(t, "End"), "Tag "+path, "Begin", "OutHeader", "OutPayload length>0=true", "InTrailer", end)
		wantEvents("server", server.take(t, "End"), "Tag "+path, "InHeader", "Begin", "InPayload length>0=true", "OutTrailer", end)
	}
}

// concurrency calls from many goroutines with replies in any order; every
// reply must be that of its request.
func concurrency(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 30 {
				name := fmt.Sprintf("%d/%d", g, i)
				in := &probepb.RunRequest{Name: name, Payload: make([]byte, (g*31+i*17)%5000)}
				if i%7 == g%7 {
					in.Wait = durationpb.New(time.Duration(i%3) * time.Millisecond)
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				out, err := callers[g%len(callers)].run(ctx, p.conn, in)
				cancel()
				if err != nil {
					t.Errorf("%s: %v", name, err)
				} else if out.GetName() != name || len(out.GetPayload()) != len(in.GetPayload()) {
					t.Errorf("%s got the reply of %s", name, out.GetName())
				}
			}
		})
	}
	wg.Wait()
}

func oneWay(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	w := p.expect("one-way")
	err := everywire.Notify(within(t), p.conn, runMethod, &RunRequest{Name: "one-way", Wait: new(time.Duration)})
	if s.is("grpc", "rest", "connect") {
		wantCode(t, "a one-way call", err, codes.Unimplemented)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the handler of a one-way call", w.ended)
	// One that fails is not answered either, and disturbs nobody.
	if err := everywire.Notify(within(t), p.conn, runMethod, &RunRequest{Code: 5}); err != nil {
		t.Error(err)
	}
	if err := everywire.Notify(within(t), p.conn, "no.Such/Method", &RunRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Error(err)
	}
}
