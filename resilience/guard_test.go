package resilience_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/resilience"
)

const (
	get = "/m.M/Get" // no side effects
	put = "/m.M/Put" // idempotent
	add = "/m.M/Add" // neither
)

func methods() *everywire.Registry {
	reg := everywire.NewRegistry()
	none := func(_ context.Context, in *ticket) (*ticket, error) { return in, nil }
	everywire.Handle(reg, get, none, everywire.WithIdempotency(everywire.NoSideEffects))
	everywire.Handle(reg, put, none, everywire.WithIdempotency(everywire.Idempotent))
	everywire.Handle(reg, add, none)
	return reg
}

func unavailable(text string) error { return status.Error(codes.Unavailable, text) }

func notRun(err error) error { return everywire.NotRun(err) }

func withInfo(code codes.Code, wait time.Duration) error {
	s, err := status.New(code, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	if err != nil {
		panic(err)
	}
	return s.Err()
}

// A script is a server that answers attempts by a function of their number.
type script struct {
	mu     sync.Mutex
	times  []time.Time
	answer func(ctx context.Context, n int) error
}

func (s *script) invoke(ctx context.Context, _ string, req, reply any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
	s.mu.Lock()
	s.times = append(s.times, time.Now())
	n := len(s.times)
	s.mu.Unlock()
	err := s.answer(ctx, n)
	if err == nil {
		reply.(*ticket).ID = req.(*ticket).ID + int64(n)
	}
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = metadata.Pairs("attempt", string(rune('0'+n)))
		case grpc.OnFinishCallOption:
			o.OnFinish(err)
		}
	}
	return err
}

func (s *script) pauses() (d []time.Duration) {
	for i := 1; i < len(s.times); i++ {
		d = append(d, s.times[i].Sub(s.times[i-1]))
	}
	return d
}

func newGuard(t *testing.T, p resilience.Policy) *resilience.Guard {
	t.Helper()
	p.Methods = methods()
	g, err := resilience.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Which failure is followed by another attempt, for methods of each kind.
func TestWhatIsRetried(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		err    error // of the first attempt
		rules  resilience.Rules
		want   int // attempts
		why    string
	}{
		"may have run, no side effects":    {get, unavailable("x"), resilience.Rules{}, 2, ""},
		"may have run, idempotent":         {put, unavailable("x"), resilience.Rules{}, 2, ""},
		"may have run, neither":            {add, unavailable("x"), resilience.Rules{}, 1, "it may have run"},
		"may have run, unknown":            {"/x.X/Y", unavailable("x"), resilience.Rules{}, 1, "it may have run"},
		"has not run, neither":             {add, notRun(unavailable("x")), resilience.Rules{}, 2, ""},
		"has not run, unknown":             {"/x.X/Y", notRun(unavailable("x")), resilience.Rules{}, 2, ""},
		"another code":                     {get, status.Error(codes.NotFound, "x"), resilience.Rules{}, 1, "it is not worth a retry"},
		"another code that has not run":    {get, notRun(status.Error(codes.Unimplemented, "x")), resilience.Rules{}, 1, "it is not worth a retry"},
		"no status":                        {get, errors.New("x"), resilience.Rules{}, 1, "it is not worth a retry"},
		"a code of the policy":             {get, status.Error(codes.Aborted, "x"), resilience.Rules{Codes: []codes.Code{codes.Aborted}}, 2, ""},
		"not a code of the policy":         {get, unavailable("x"), resilience.Rules{Codes: []codes.Code{codes.Aborted}}, 1, "it is not worth a retry"},
		"exhausted":                        {get, status.Error(codes.ResourceExhausted, "x"), resilience.Rules{}, 1, "it is not worth a retry"},
		"exhausted, the server says when":  {get, withInfo(codes.ResourceExhausted, time.Second), resilience.Rules{}, 2, ""},
		"exhausted, says when, may run":    {add, withInfo(codes.ResourceExhausted, time.Second), resilience.Rules{}, 1, "it may have run"},
		"another code, the server says so": {get, withInfo(codes.NotFound, time.Second), resilience.Rules{}, 1, "it is not worth a retry"},
		"the server asks for none":         {get, withInfo(codes.Unavailable, -1), resilience.Rules{}, 1, "the server asks for none"},
		"only one attempt":                 {get, unavailable("x"), resilience.Rules{Attempts: 1}, 1, "it was the last attempt"},
		"later than the deadline":          {get, withInfo(codes.Unavailable, time.Hour), resilience.Rules{}, 1, "the deadline is nearer than the next attempt"},
		"cancelled by the server":          {get, status.Error(codes.Canceled, "x"), resilience.Rules{}, 1, "it is not worth a retry"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var seen []resilience.Attempt
			g := newGuard(t, resilience.Policy{Default: test.rules, OnAttempt: func(_ context.Context, a resilience.Attempt) { seen = append(seen, a) }})
			s := &script{answer: func(_ context.Context, n int) error {
				if n == 1 {
					return test.err
				}
				return nil
			}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := g.Unary(ctx, test.method, &ticket{}, &ticket{}, nil, s.invoke)
			if len(s.times) != test.want || (err == nil) != (test.want == 2) {
				t.Errorf("%s: %d attempts, %v", name, len(s.times), err)
			}
			if len(seen) != test.want || seen[0].Why != test.why {
				t.Errorf("%s: told %+v", name, seen)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{Attempts: 8, Backoff: time.Second, MaxBackoff: 10 * time.Second}})
		s := &script{answer: func(context.Context, int) error { return unavailable("x") }}
		finished := 0
		err := g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke, grpc.OnFinish(func(error) { finished++ }))
		if status.Code(err) != codes.Unavailable || finished != 1 {
			t.Errorf("%v; OnFinish was called %d times", err, finished)
		}
		want := []int{1, 2, 4, 8, 10, 10, 10}
		got := s.pauses()
		if len(got) != len(want) {
			t.Fatalf("pauses: %v", got)
		}
		for i, seconds := range want {
			if w := time.Duration(seconds) * time.Second; got[i] < w/2 || got[i] > w {
				t.Errorf("pause %d is %v, want %v to %v", i, got[i], w/2, w)
			}
		}
		// What the server says comes in its place.
		s = &script{answer: func(context.Context, int) error { return withInfo(codes.Unavailable, 3*time.Second) }}
		_ = g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke)
		for i, p := range s.pauses() {
			if p != 3*time.Second {
				t.Errorf("pause %d is %v", i, p)
			}
		}
	})
}

// A call that ends between two attempts says both, and what is known of all
// attempts.
func TestEndsWhileWaiting(t *testing.T) {
	for _, ran := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			g := newGuard(t, resilience.Policy{Default: resilience.Rules{Backoff: time.Minute, MaxBackoff: time.Minute}})
			s := &script{answer: func(context.Context, int) error {
				if ran {
					return unavailable("why it failed")
				}
				return notRun(unavailable("why it failed"))
			}}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			err := g.Unary(ctx, get, &ticket{}, &ticket{}, nil, s.invoke)
			if status.Code(err) != codes.Canceled || !strings.Contains(err.Error(), "why it failed") || everywire.MayHaveRun(err) != ran {
				t.Errorf("%v, may have run: %v", err, everywire.MayHaveRun(err))
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // the last attempt has not run, one before may have
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{Attempts: 2}})
		s := &script{answer: func(_ context.Context, n int) error {
			if n == 1 {
				return unavailable("x")
			}
			return notRun(unavailable("y"))
		}}
		err := g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke)
		if !everywire.MayHaveRun(err) || status.Convert(err).Message() != "y" {
			t.Errorf("%v, may have run: %v", err, everywire.MayHaveRun(err))
		}
	})
}

func TestAttemptTimeout(t *testing.T) {
	for method, want := range map[string]int{get: 3, add: 1} {
		synctest.Test(t, func(t *testing.T) {
			g := newGuard(t, resilience.Policy{Default: resilience.Rules{AttemptTimeout: time.Second}})
			s := &script{answer: func(ctx context.Context, n int) error {
				if n == 3 {
					return nil
				}
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			}}
			err := g.Unary(t.Context(), method, &ticket{}, &ticket{}, nil, s.invoke)
			if len(s.times) != want || (err == nil) != (want == 3) {
				t.Errorf("%s: %d attempts, %v", method, len(s.times), err)
			}
		})
	}
}

// When most calls fail, retries stop; when they succeed, retries come back.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{Attempts: 2}, Budget: resilience.Budget{Tokens: 20, Ratio: 0.5}})
		down := true
		s := &script{answer: func(context.Context, int) error {
			if down {
				return unavailable("x")
			}
			return nil
		}}
		for range 100 {
			_ = g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke)
		}
		if got := g.Stats(); got.Retries != 5 || got.Attempts != 105 || got.Calls != 100 || got.Spared != 95 {
			t.Errorf("a server that is down: %+v", got)
		}
		down = false
		for range 100 {
			if err := g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke); err != nil {
				t.Fatal(err)
			}
		}
		down = true
		_ = g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke)
		if got := g.Stats(); got.Retries != 6 {
			t.Errorf("after it was up again: %+v", got)
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var states []string
		g := newGuard(t, resilience.Policy{
			Default: resilience.Rules{Attempts: 1},
			Breaker: &resilience.Breaker{
				MinCalls: 10, OpenFor: time.Minute, Probes: 2,
				OnChange: func(name string, from, to resilience.State) {
					states = append(states, name+": "+from.String()+" to "+to.String())
				},
			},
		})
		answer := error(nil)
		s := &script{answer: func(context.Context, int) error { return answer }}
		call := func() error { return g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke) }
		answer = status.Error(codes.NotFound, "the server is well")
		for range 50 {
			_ = call()
		}
		time.Sleep(20 * time.Second) // they do not count any more
		answer = unavailable("x")
		for range 9 {
			_ = call()
		}
		if len(states) > 0 {
			t.Errorf("open after too few calls: %q", states)
		}
		_ = call()
		sent := len(s.times)
		err := call()
		var open *resilience.OpenError
		if !errors.As(err, &open) || open.For != time.Minute || everywire.MayHaveRun(err) || status.Code(err) != codes.Unavailable || len(s.times) != sent {
			t.Errorf("open: %v", err)
		}
		time.Sleep(time.Minute)
		if err := call(); errors.As(err, &open) { // half open; it fails
			t.Errorf("half open: %v", err)
		}
		if err := call(); !errors.As(err, &open) {
			t.Errorf("open again: %v", err)
		}
		time.Sleep(time.Minute)
		answer = nil
		for range 3 {
			if err := call(); err != nil {
				t.Errorf("closing: %v", err)
			}
		}
		want := []string{
			"the server: closed to open", "the server: open to half open", "the server: half open to open",
			"the server: open to half open", "the server: half open to closed",
		}
		if !slices.Equal(states, want) {
			t.Errorf("states: %q", states)
		}
		if got := g.Stats(); got.Stopped != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// While it is half open a breaker lets few through, whatever becomes of them:
// a call that its caller cancels decides nothing and gives its place back.
func TestBreakerHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{Attempts: 1}, Breaker: &resilience.Breaker{PerMethod: true, MinCalls: 1}})
		s := &script{answer: func(ctx context.Context, n int) error {
			switch n {
			case 1, 2:
				return unavailable("x")
			case 3, 4:
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			}
			return nil
		}}
		call := func(ctx context.Context, method string) error {
			return g.Unary(ctx, method, &ticket{}, &ticket{}, nil, s.invoke)
		}
		_ = call(t.Context(), get)
		if err := call(t.Context(), put); strings.Contains(err.Error(), "breaker") {
			t.Errorf("the breaker of another method: %v", err)
		}
		time.Sleep(5 * time.Second)
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			var probe sync.WaitGroup
			probe.Go(func() { _ = call(ctx, get) })
			synctest.Wait()
			if err := call(t.Context(), get); err == nil || !strings.Contains(err.Error(), "half open") {
				t.Errorf("beside the probe: %v", err)
			}
			cancel()
			probe.Wait()
		}
		if err := call(t.Context(), get); err != nil {
			t.Errorf("after probes that were cancelled: %v", err)
		}
	})
}

func TestHedge(t *testing.T) {
	hedging := resilience.Rules{Attempts: 3, HedgeAfter: time.Second}
	for name, test := range map[string]struct {
		method string
		answer func(ctx context.Context, n int) error
		starts []time.Duration
		took   time.Duration
		code   codes.Code
		id     int64
	}{
		"at once": {get, func(context.Context, int) error { return nil }, []time.Duration{0}, 0, codes.OK, 1},
		"the second wins": {get, func(ctx context.Context, n int) error {
			if n == 1 {
				<-ctx.Done() // until it is cancelled
				return ctx.Err()
			}
			time.Sleep(time.Second / 2)
			return nil
		}, []time.Duration{0, time.Second}, 1500 * time.Millisecond, codes.OK, 2},
		"no more than the attempts": {put, func(context.Context, int) error {
			time.Sleep(10 * time.Second)
			return nil
		}, []time.Duration{0, time.Second, 2 * time.Second}, 12 * time.Second, codes.OK, 1},
		"not for other methods": {add, func(context.Context, int) error {
			time.Sleep(10 * time.Second)
			return nil
		}, []time.Duration{0}, 10 * time.Second, codes.OK, 1},
		"a failure that counts ends it": {get, func(ctx context.Context, n int) error {
			if n == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return status.Error(codes.NotFound, "x")
		}, []time.Duration{0, time.Second}, time.Second, codes.NotFound, 0},
		"a failure is followed when the server says": {get, func(_ context.Context, n int) error {
			if n == 1 {
				return withInfo(codes.Unavailable, 5*time.Second)
			}
			return nil
		}, []time.Duration{0, 5 * time.Second}, 5 * time.Second, codes.OK, 2},
		"all fail": {get, func(context.Context, int) error { return withInfo(codes.Unavailable, 0) },
			[]time.Duration{0, 0, 0}, 0, codes.Unavailable, 0},
		"the caller's time is up": {get, func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}, []time.Duration{0, time.Second, 2 * time.Second}, time.Minute, codes.DeadlineExceeded, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGuard(t, resilience.Policy{PerMethod: map[string]resilience.Rules{"m.M/Get": hedging, "m.M/Put": hedging, "m.M/Add": hedging}})
			s := &script{answer: test.answer}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			var header metadata.MD
			reply := &ticket{}
			err := g.Unary(ctx, test.method, &ticket{}, reply, nil, s.invoke, grpc.Header(&header))
			took := time.Since(begin)
			if status.Code(err) != test.code || reply.ID != test.id || took != test.took {
				t.Errorf("%s: %v, reply %d after %v", name, err, reply.ID, took)
			}
			var starts []time.Duration
			for _, at := range s.times {
				starts = append(starts, at.Sub(begin))
			}
			if !slices.Equal(starts, test.starts) {
				t.Errorf("%s: attempts at %v, want %v", name, starts, test.starts)
			}
			if err == nil && header["attempt"][0] != string(rune('0'+test.id)) {
				t.Errorf("%s: the headers are %v, not of the attempt that won", name, header)
			}
		})
	}
}

// Hedges take from the budget, or a slow server would get a multiple of its
// load.
// A probe that says nothing does not keep the breaker half open for ever.
func TestSilentProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{Attempts: 1}, Breaker: &resilience.Breaker{MinCalls: 1}})
		hang := make(chan struct{})
		s := &script{answer: func(_ context.Context, n int) error {
			switch n {
			case 1:
				return unavailable("x")
			case 2:
				<-hang
				return unavailable("too late to count")
			}
			return nil
		}}
		call := func() error { return g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke) }
		_ = call()
		time.Sleep(5 * time.Second)
		var probe sync.WaitGroup
		probe.Go(func() { _ = call() })
		time.Sleep(5*time.Second - 1)
		if err := call(); err == nil || !strings.Contains(err.Error(), "half open") {
			t.Errorf("beside the probe: %v", err)
		}
		time.Sleep(time.Nanosecond)
		for range 2 {
			if err := call(); err != nil {
				t.Errorf("after as long as it was open: %v", err)
			}
		}
		close(hang)
		probe.Wait()
		if err := call(); err != nil {
			t.Errorf("after the late probe: %v", err)
		}
	})
}

// Of a call that ends while a hedge is under way it is not known that it has not
// run.
func TestFateBesideAHedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{HedgeAfter: time.Second}})
		s := &script{answer: func(ctx context.Context, n int) error {
			if n == 1 {
				<-ctx.Done()
				return status.FromContextError(ctx.Err()).Err()
			}
			return notRun(status.Error(codes.PermissionDenied, "refused"))
		}}
		err := g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke)
		if status.Code(err) != codes.PermissionDenied || !everywire.MayHaveRun(err) {
			t.Errorf("%v, may have run: %v", err, everywire.MayHaveRun(err))
		}
	})
}

func TestHedgesHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, resilience.Policy{Default: resilience.Rules{HedgeAfter: time.Second, Attempts: 2}, Budget: resilience.Budget{Tokens: 20}})
		s := &script{answer: func(context.Context, int) error { time.Sleep(2 * time.Second); return nil }}
		for range 100 {
			if err := g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke); err != nil {
				t.Fatal(err)
			}
		}
		if got := g.Stats(); got.Hedges < 10 || got.Hedges > 25 {
			t.Errorf("%+v", got)
		}
	})
}

// A panic of an attempt is the caller's, on the caller's goroutine.
func TestPanicOfAnAttempt(t *testing.T) {
	for _, rules := range []resilience.Rules{{}, {HedgeAfter: time.Second}} {
		g := newGuard(t, resilience.Policy{Default: rules})
		func() {
			defer func() {
				if recover() != "in the encoding" {
					t.Error("the panic is lost")
				}
			}()
			s := &script{answer: func(context.Context, int) error { panic("in the encoding") }}
			_ = g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke)
		}()
	}
}

// An attempt that ends its goroutine is no reply.
func TestAttemptEndsItsGoroutine(t *testing.T) {
	g := newGuard(t, resilience.Policy{Default: resilience.Rules{HedgeAfter: time.Second}})
	s := &script{answer: func(context.Context, int) error { runtime.Goexit(); return nil }}
	if err := g.Unary(t.Context(), get, &ticket{}, &ticket{}, nil, s.invoke); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
}

// A fakeStream gives messages, then an end.
type fakeStream struct {
	grpc.ClientStream
	ctx  context.Context
	sent []any
	left int
	end  error
}

func (s *fakeStream) Context() context.Context { return s.ctx }
func (s *fakeStream) SendMsg(m any) error      { s.sent = append(s.sent, m); return nil }
func (s *fakeStream) CloseSend() error         { return nil }
func (s *fakeStream) RecvMsg(any) error {
	if s.left == 0 {
		return s.end
	}
	s.left--
	return nil
}

// A stream of replies is begun again until something has come, and no further.
func TestStreamIsBegunAgain(t *testing.T) {
	broken := unavailable("it broke")
	for name, test := range map[string]struct {
		method  string
		streams []fakeStream // one for each attempt
		opening []error
		client  bool // a stream of requests
		got     int
		end     error
		begun   int
	}{
		"well":                           {get, []fakeStream{{left: 2, end: io.EOF}}, nil, false, 2, io.EOF, 1},
		"breaks before the first":        {get, []fakeStream{{end: broken}, {left: 2, end: io.EOF}}, nil, false, 2, io.EOF, 2},
		"breaks behind the first":        {get, []fakeStream{{left: 1, end: broken}}, nil, false, 1, broken, 1},
		"may not run twice":              {add, []fakeStream{{end: broken}}, nil, false, 0, broken, 1},
		"may not run twice, and has not": {add, []fakeStream{{end: notRun(broken)}, {left: 1, end: io.EOF}}, nil, false, 1, io.EOF, 2},
		"cannot be opened":               {add, []fakeStream{{}, {left: 1, end: io.EOF}}, []error{notRun(broken)}, false, 1, io.EOF, 2},
		"of requests, breaks":            {get, []fakeStream{{end: broken}}, nil, true, 0, broken, 1},
		"of requests, cannot be opened":  {get, []fakeStream{{}, {left: 1, end: io.EOF}}, []error{notRun(broken)}, true, 1, io.EOF, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g := newGuard(t, resilience.Policy{Breaker: &resilience.Breaker{}})
			begun, finished := 0, 0
			streamer := func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
				begun++
				if begun <= len(test.opening) {
					return nil, test.opening[begun-1]
				}
				s := &test.streams[begun-1]
				s.ctx = ctx
				return s, nil
			}
			desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: test.client}
			s, err := g.Stream(ctx, desc, nil, test.method, streamer, grpc.OnFinish(func(error) { finished++ }))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err := s.SendMsg("request"); err != nil {
				t.Error(err)
			}
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
			got := 0
			for err = s.RecvMsg(nil); err == nil; err = s.RecvMsg(nil) {
				got++
			}
			if got != test.got || !errors.Is(err, test.end) || begun != test.begun || finished != 1 {
				t.Errorf("%s: %d messages, then %v, of %d streams; OnFinish was called %d times", name, got, err, begun, finished)
			}
			if last := test.streams[begun-1].sent; len(last) != 1 {
				t.Errorf("%s: the last stream was sent %v", name, last)
			}
		})
	}
}

// A longLived context counts what waits for its end.
type longLived struct {
	context.Context
	done    chan struct{}
	waiting int
}

func (c *longLived) Done() <-chan struct{} { return c.done }

func (c *longLived) AfterFunc(func()) (stop func() bool) {
	c.waiting++
	return func() bool { c.waiting--; return true }
}

// A stream that is over leaves nothing behind in the context of its caller, which
// may live as long as the program; the one reply to a stream of requests is its
// end.
func TestStreamIsOver(t *testing.T) {
	for name, test := range map[string]struct {
		desc    grpc.StreamDesc
		opening error
		stream  fakeStream
	}{
		"one reply":        {grpc.StreamDesc{ClientStreams: true}, nil, fakeStream{left: 1}},
		"replies":          {grpc.StreamDesc{ServerStreams: true}, nil, fakeStream{left: 1, end: io.EOF}},
		"an error":         {grpc.StreamDesc{ServerStreams: true}, nil, fakeStream{end: status.Error(codes.NotFound, "x")}},
		"cannot be opened": {grpc.StreamDesc{ServerStreams: true}, status.Error(codes.NotFound, "x"), fakeStream{}},
	} {
		ctx := &longLived{Context: context.Background(), done: make(chan struct{})}
		finished := 0
		streamer := func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			return &test.stream, test.opening
		}
		s, err := newGuard(t, resilience.Policy{}).Stream(ctx, &test.desc, nil, get, streamer, grpc.OnFinish(func(error) { finished++ }))
		for i := 0; err == nil && i < 2 && (i == 0 || test.desc.ServerStreams); i++ {
			err = s.RecvMsg(nil)
		}
		if finished != 1 || ctx.waiting != 0 {
			t.Errorf("%s: OnFinish was called %d times, and %d functions wait for the end of the context", name, finished, ctx.waiting)
		}
	}
}

func TestPolicyIsChecked(t *testing.T) {
	for name, p := range map[string]resilience.Policy{
		"Attempts is 101":      {Default: resilience.Rules{Attempts: 101}},
		"a time is negative":   {Default: resilience.Rules{HedgeAfter: -1}},
		"shorter than Backoff": {Default: resilience.Rules{Backoff: time.Second, MaxBackoff: 1}},
		"Codes has OK":         {Default: resilience.Rules{Codes: []codes.Code{codes.OK}}},
		"PerMethod m.M/Get":    {PerMethod: map[string]resilience.Rules{"m.M/Get": {Attempts: -1}}},
		"not of the form":      {PerMethod: map[string]resilience.Rules{"Get": {}}},
		"Margin is negative":   {Margin: -1},
		"Ratio is over 1":      {Breaker: &resilience.Breaker{Ratio: 2}},
		"Tokens and Ratio are": {Budget: resilience.Budget{Ratio: -1}},
		"Breaker: a number":    {Breaker: &resilience.Breaker{Window: -1}},
	} {
		if _, err := resilience.New(p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
