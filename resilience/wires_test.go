package resilience_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/resilience"
	"github.com/everywire/everywire/wire"
)

// onEveryWire runs a test on each of the shapes.
func onEveryWire(t *testing.T, test func(t *testing.T, shape string)) {
	onWires(t, shapes, test)
}

func onWires(t *testing.T, shapes []string, test func(t *testing.T, shape string)) {
	for _, shape := range shapes {
		t.Run(shape, func(t *testing.T) { test(t, shape) })
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// What a client knows of a call that failed is what the server counted.
func TestFateOnEveryWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, shape string) {
		l := newLedger()
		refuse := atomic.Bool{}
		reg := everywire.NewRegistry(everywire.ChainUnary(
			func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				if refuse.Load() {
					return nil, everywire.NotRun(status.Error(codes.ResourceExhausted, "not now"))
				}
				return next(ctx, in)
			}))
		var ran atomic.Int64
		answers := map[int64]error{
			1: status.Error(codes.Unavailable, "by the handler"),
			2: status.Error(codes.Unimplemented, "by the handler"),
			3: everywire.NotRun(status.Error(codes.Unavailable, "of another server, it says")),
		}
		everywire.Handle(reg, "fate.Fate/Fail", func(ctx context.Context, in *ticket) (*ticket, error) {
			ran.Add(1)
			switch in.ID {
			case 4:
				l.reset(ctx)
			case 5:
				<-ctx.Done()
				return nil, status.FromContextError(ctx.Err()).Err()
			}
			return in, answers[in.ID]
		})
		target, stop := serve(t, reg, shape, wire.WithListener(l.listen))
		conn := dial(t, target, wire.WithMethods(reg), wire.WithLimits(everywire.Limits{MaxMessage: 100_000}))
		ctx := within(t)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		call := func(ctx context.Context, method string, id int64, opts ...grpc.CallOption) error {
			_, err := everywire.Call[ticket](ctx, conn, method, &ticket{ID: id}, opts...)
			return err
		}
		for _, test := range []struct {
			name string
			call func() error
			code codes.Code
			ran  bool // which the client knows if it is false
		}{
			{"answered Unavailable", func() error { return call(ctx, "fate.Fate/Fail", 1) }, codes.Unavailable, true},
			{"answered Unimplemented", func() error { return call(ctx, "fate.Fate/Fail", 2) }, codes.Unimplemented, true},
			{"answered what another server said", func() error { return call(ctx, "fate.Fate/Fail", 3) }, codes.Unavailable, true},
			{"reset in the handler", func() error { return call(ctx, "fate.Fate/Fail", 4) }, codes.Unavailable, true},
			{"deadline in the handler", func() error {
				short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				return call(short, "fate.Fate/Fail", 5)
			}, codes.DeadlineExceeded, true},
			{"refused by an interceptor", func() error {
				refuse.Store(true)
				defer refuse.Store(false)
				return call(ctx, "fate.Fate/Fail", 0)
			}, codes.ResourceExhausted, false},
			{"ended before it began", func() error { return call(ended, "fate.Fate/Fail", 0) }, codes.Canceled, false},
			{"too large to be sent", func() error {
				_, err := everywire.Call[ticket](ctx, conn, "fate.Fate/Fail", &struct {
					Text string `wire:"1"`
				}{strings.Repeat("x", 200_000)})
				return err
			}, codes.ResourceExhausted, shape == "grpc"}, // grpc-go has begun the stream then, and does not say
		} {
			before := ran.Load()
			err := test.call()
			if status.Code(err) != test.code || everywire.MayHaveRun(err) != test.ran {
				t.Errorf("%s: %v, may have run: %v", test.name, err, everywire.MayHaveRun(err))
			}
			if n := ran.Load() - before; n > 0 && !test.ran {
				t.Errorf("%s: it ran %d times", test.name, n)
			}
			for _, d := range status.Convert(err).Details() {
				t.Errorf("%s: a caller sees the detail %v", test.name, d)
			}
		}
		stop()
		before := ran.Load()
		var err error
		for range 5 { // the first may be on a connection whose end has not been seen
			if err = call(ctx, "fate.Fate/Fail", 0); !everywire.MayHaveRun(err) {
				break
			}
		}
		if status.Code(err) != codes.Unavailable || everywire.MayHaveRun(err) || ran.Load() != before {
			t.Errorf("no server: %v, may have run: %v; it ran %d times", err, everywire.MayHaveRun(err), ran.Load()-before)
		}
	})
}

// A server that drains refuses what is new, and the client knows that it did
// not run: the wires on streams say so, others close the connection or send
// GOAWAY and the call finds nobody.
func TestDrainOnEveryWire(t *testing.T) {
	onEveryWire(t, func(t *testing.T, shape string) {
		reg := everywire.NewRegistry()
		entered, release := make(chan struct{}), make(chan struct{})
		var ran atomic.Int64
		everywire.Handle(reg, "drain.Drain/Wait", func(_ context.Context, in *ticket) (*ticket, error) {
			entered <- struct{}{}
			<-release
			return in, nil
		})
		everywire.Handle(reg, "drain.Drain/Count", func(_ context.Context, in *ticket) (*ticket, error) {
			ran.Add(1)
			return in, nil
		})
		target, err := wire.ParseShape(shape)
		if err != nil {
			t.Fatal(err)
		}
		options := target.Options
		target.Options = nil
		srv, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{target.At("127.0.0.1:0").String()}, wire.WithLogger(quiet))
		if err != nil {
			t.Fatal(err)
		}
		at := srv.Targets()[0]
		at.Options = options
		conn := dial(t, at.String(), wire.WithMethods(reg))
		ctx := within(t)
		first := everywire.Start[ticket](ctx, conn, "drain.Drain/Wait", &ticket{ID: 1})
		<-entered
		down := make(chan error, 1)
		go func() { down <- srv.Shutdown(ctx) }()
		for i := int64(1); ; i++ { // until the shutdown has reached the connection
			_, err := everywire.Call[ticket](ctx, conn, "drain.Drain/Count", &ticket{})
			if err == nil {
				continue
			}
			if status.Code(err) != codes.Unavailable {
				t.Errorf("while the server drains: %v", err)
			}
			if ran.Load() != i-1 && !everywire.MayHaveRun(err) {
				t.Errorf("it ran: %v", err)
			}
			if strings.HasPrefix(shape, "msgpackrpc") || shape == "jsonrpc+tcp" || shape == "jsonrpc+ws" {
				if everywire.MayHaveRun(err) {
					t.Errorf("a refused call may have run: %v", err)
				}
			}
			break
		}
		close(release)
		if _, err := first.Wait(ctx); err != nil {
			t.Errorf("the call under way: %v", err)
		}
		if err := <-down; err != nil {
			t.Error(err)
		}
	})
}

// An address where nobody listens is tried less and less often, however many
// call.
func TestDeadServerIsNotHammered(t *testing.T) {
	onEveryWire(t, func(t *testing.T, shape string) {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := lis.Addr().String()
		lis.Close() // nobody else gets the port so soon
		target, err := wire.ParseShape(shape)
		if err != nil {
			t.Fatal(err)
		}
		var dials atomic.Int64
		conn := dial(t, target.At(addr).String(), wire.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		}))
		ctx := within(t)
		const callers, each = 8, 100
		var running sync.WaitGroup
		for range callers {
			running.Go(func() {
				for range each {
					_, err := everywire.Call[ticket](ctx, conn, "dead.Dead/Call", &ticket{})
					if status.Code(err) != codes.Unavailable || everywire.MayHaveRun(err) {
						t.Errorf("%v, may have run: %v", err, everywire.MayHaveRun(err))
						return
					}
				}
			})
		}
		running.Wait()
		if n := dials.Load(); n > callers*each/4 {
			t.Errorf("%d attempts for %d calls", n, callers*each)
		}
	})
}

// A call that waits for ready gets a server that begins later.
func TestWaitForReady(t *testing.T) {
	onEveryWire(t, func(t *testing.T, shape string) {
		target, err := wire.ParseShape(shape)
		if err != nil {
			t.Fatal(err)
		}
		guard, err := resilience.New(resilience.Policy{Default: resilience.Rules{WaitForReady: true}})
		if err != nil {
			t.Fatal(err)
		}
		tried := make(chan struct{}, 1)
		var at atomic.Pointer[string] // since there is a server
		conn := dial(t, target.At("127.0.0.1:1").String(), wire.WithUnaryInterceptor(guard.Unary),
			wire.WithDialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
				select {
				case tried <- struct{}{}:
				default:
				}
				addr := at.Load()
				if addr == nil {
					return nil, syscall.ECONNREFUSED
				}
				return new(net.Dialer).DialContext(ctx, network, *addr)
			}))
		call := everywire.Start[ticket](within(t), conn, "late.Late/Call", &ticket{ID: 3})
		<-tried
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "late.Late/Call", func(_ context.Context, in *ticket) (*ticket, error) { return in, nil })
		target.Options = nil
		srv, err := wire.Serve(within(t), reg, []string{target.At("127.0.0.1:0").String()}, wire.WithLogger(quiet), wire.WithDrainTimeout(50*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		at.Store(&srv.Targets()[0].Addrs[0])
		if out, err := call.Wait(within(t)); err != nil || out.ID != 3 {
			t.Errorf("%v, %v", out, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_ = srv.Shutdown(ctx) // the client is still connected
	})
}

// A deadline shrinks along a chain of three servers, by the margin of each.
func TestDeadlineShrinksAlongTheChain(t *testing.T) {
	const margin = time.Second
	// Without meta=on MessagePack-RPC carries no deadlines.
	carry := slices.DeleteFunc(slices.Clone(shapes), func(shape string) bool { return shape == "msgpackrpc+tcp" })
	onWires(t, carry, func(t *testing.T, shape string) {
		var deadlines [3]time.Time
		next := ""
		for i := 2; i >= 0; i-- {
			reg := everywire.NewRegistry()
			var conn *wire.Conn
			if next != "" {
				guard, err := resilience.New(resilience.Policy{Margin: margin})
				if err != nil {
					t.Fatal(err)
				}
				conn = dial(t, next, wire.WithUnaryInterceptor(guard.Unary))
			}
			everywire.Handle(reg, "chain.Chain/Next", func(ctx context.Context, in *ticket) (*ticket, error) {
				deadlines[i], _ = ctx.Deadline()
				if conn == nil {
					return in, nil
				}
				return everywire.Call[ticket](ctx, conn, "chain.Chain/Next", in)
			})
			next, _ = serve(t, reg, shape)
		}
		conn := dial(t, next)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if _, err := everywire.Call[ticket](ctx, conn, "chain.Chain/Next", &ticket{}); err != nil {
			t.Fatal(err)
		}
		// A wire sends what is left, which passes on the way, so the far end may
		// be later by that; and by a unit of the wire.
		slack := time.Since(begin) + 10*time.Millisecond
		last, _ := ctx.Deadline()
		for i, d := range deadlines {
			if d.IsZero() || d.After(last.Add(slack)) || d.Before(last.Add(-slack)) {
				t.Errorf("the deadline of server %d is %v from its caller's", i, d.Sub(last))
			}
			last = d.Add(-margin)
		}
		short, cancel := context.WithTimeout(t.Context(), margin/2)
		defer cancel()
		_, err := everywire.Call[ticket](short, conn, "chain.Chain/Next", &ticket{})
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("less than the margin: %v", err)
		}
	})
}

// Servers learn how many attempts came before, where the wire has metadata; a
// wire without makes the call all the same.
func TestAttemptsAreVisible(t *testing.T) {
	onEveryWire(t, func(t *testing.T, shape string) {
		reg := everywire.NewRegistry()
		var mu sync.Mutex
		var seen []string
		everywire.Handle(reg, "seen.Seen/Get", func(ctx context.Context, in *ticket) (*ticket, error) {
			mu.Lock()
			defer mu.Unlock()
			md, _ := metadata.FromIncomingContext(ctx)
			seen = append(seen, strings.Join(md["grpc-previous-rpc-attempts"], ","))
			if len(seen) < 3 {
				return nil, status.Error(codes.Unavailable, "not yet")
			}
			return in, nil
		}, everywire.WithIdempotency(everywire.NoSideEffects))
		target, _ := serve(t, reg, shape)
		var attempts []resilience.Attempt
		guard, err := resilience.New(resilience.Policy{
			Methods:   reg,
			Default:   resilience.Rules{Backoff: time.Millisecond},
			OnAttempt: func(_ context.Context, a resilience.Attempt) { attempts = append(attempts, a) },
		})
		if err != nil {
			t.Fatal(err)
		}
		conn := dial(t, target, wire.WithMethods(reg), wire.WithUnaryInterceptor(guard.Unary))
		if _, err := everywire.Call[ticket](within(t), conn, "seen.Seen/Get", &ticket{}); err != nil {
			t.Fatal(err)
		}
		want := []string{"", "1", "2"}
		if shape == "msgpackrpc+tcp" {
			want = []string{"", "", ""}
		}
		if !slices.Equal(seen, want) {
			t.Errorf("the server saw %q, want %q", seen, want)
		}
		if len(attempts) != 3 || attempts[2].N != 3 || attempts[2].Err != nil || !attempts[1].Again {
			t.Errorf("attempts: %+v", attempts)
		}
	})
}

// Every way to call works on every wire.
func TestCallStyles(t *testing.T) {
	onEveryWire(t, func(t *testing.T, shape string) {
		t.Parallel()
		reg := everywire.NewRegistry()
		var now, most atomic.Int64
		everywire.Handle(reg, "style.Style/Echo", func(_ context.Context, in *ticket) (*ticket, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if in.ID < 0 {
				return nil, status.Error(codes.OutOfRange, "negative")
			}
			return in, nil
		})
		target, _ := serve(t, reg, shape)
		conn := dial(t, target)
		ctx := within(t)
		var futures []*everywire.Future[ticket]
		for id := range int64(20) {
			futures = append(futures, everywire.Start[ticket](ctx, conn, "style.Style/Echo", &ticket{ID: id}))
		}
		for id, f := range futures {
			<-f.Done()
			if out, err := f.Wait(ctx); err != nil || out.ID != int64(id) {
				t.Errorf("future %d: %v, %v", id, out, err)
			}
		}
		most.Store(0)
		async := everywire.NewAsync(conn, 8)
		var sum atomic.Int64
		for id := range int64(200) {
			err := everywire.Submit(ctx, async, "style.Style/Echo", &ticket{ID: id}, func(out *ticket, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				sum.Add(out.ID)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		failed := errors.New("not called")
		if err := everywire.Submit(ctx, async, "style.Style/Echo", &ticket{ID: -1}, func(_ *ticket, err error) { failed = err }); err != nil {
			t.Fatal(err)
		}
		async.Close()
		if sum.Load() != 199*100 || most.Load() > 8 {
			t.Errorf("the replies add up to %d, and %d calls ran at a time", sum.Load(), most.Load())
		}
		if status.Code(failed) != codes.OutOfRange {
			t.Errorf("a callback got %v", failed)
		}
	})
}
