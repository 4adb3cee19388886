package balance_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/balance"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A world is where the servers of these tests are. What the wire calls a connection to
// one is a pipe whose other end nobody holds.
type world struct {
	mu      sync.Mutex
	at      map[string]string // an address to "up", "refused" or "mute"; others are refused
	answers map[string]error  // of calls, nil for an answer
	dials   map[string]int
	calls   map[string]int
	closed  map[string]bool // the wire's connection to it
	names   map[string][]string
	lookups int
	hold    chan struct{} // calls wait for it, if it is set
}

func newWorld(addrs ...string) *world {
	w := &world{
		at: map[string]string{}, answers: map[string]error{}, dials: map[string]int{}, calls: map[string]int{},
		closed: map[string]bool{}, names: map[string][]string{},
	}
	for _, a := range addrs {
		w.at[a] = "up"
	}
	return w
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// isClosed reports whether a connection to an address has been closed.
func (w *world) isClosed(addr string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed[addr]
}

// takeCalls returns how many calls each server had since it was last asked.
func (w *world) takeCalls() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := w.calls
	w.calls = map[string]int{}
	return calls
}

func (w *world) dial(ctx context.Context, addr string) (net.Conn, error) {
	w.mu.Lock()
	w.dials[addr]++
	is := w.at[addr]
	w.mu.Unlock()
	switch is {
	case "up":
		ours, theirs := net.Pipe()
		return tagged{ours, theirs, addr}, nil
	case "mute":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%s refused", addr)
}

// A tagged connection knows where it goes.
type tagged struct {
	net.Conn
	other net.Conn
	addr  string
}

func (t tagged) Close() error { return errors.Join(t.Conn.Close(), t.other.Close()) }

func (w *world) lookUp(_ context.Context, host string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups++
	if ips := w.names[host]; len(ips) > 0 {
		return ips, nil
	}
	return nil, fmt.Errorf("no such host %s", host)
}

// A wireConn is the wire of these tests: a connection for every call.
type wireConn struct {
	w    *world
	cfg  *rpc.ClientConfig
	mu   sync.Mutex
	seen string // where its calls went
}

func (w *world) newConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	return &wireConn{w: w, cfg: cfg}, nil
}

func (c *wireConn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if err := call.Sent(0); err != nil {
			return err
		}
		return call.Reach(ctx, func() error { return c.call(ctx) })
	})
}

func (c *wireConn) call(ctx context.Context) error {
	conn, err := c.cfg.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	addr := conn.(tagged).addr
	c.mu.Lock()
	c.seen = addr
	c.mu.Unlock()
	c.w.mu.Lock()
	c.w.calls[addr]++
	answer, hold := c.w.answers[addr], c.w.hold
	c.w.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return answer
}

func (c *wireConn) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := c.call(ctx); err != nil {
		return nil, err
	}
	s := &wireStream{}
	for _, o := range opts {
		if f, ok := o.(grpc.OnFinishCallOption); ok {
			s.ends = append(s.ends, f.OnFinish)
		}
	}
	return s, nil
}

func (c *wireConn) Close() error {
	c.mu.Lock()
	seen := c.seen
	c.mu.Unlock()
	c.w.set(func() { c.w.closed[seen] = true })
	return nil
}

type wireStream struct {
	grpc.ClientStream
	ends []func(error)
}

func (s *wireStream) CloseSend() error {
	for _, f := range s.ends {
		f(nil)
	}
	return nil
}

// dialWorld makes a balanced connection.
func dialWorld(t *testing.T, w *world, addrs ...string) rpc.Conn {
	t.Helper()
	cfg := &rpc.ClientConfig{Target: "test://" + strings.Join(addrs, ","), Limits: everywire.Limits{}.WithDefaults(), Addrs: addrs, DialAddr: w.dial, Lookup: w.lookUp}
	conn, err := balance.New(cfg, w.newConn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

func invoke(ctx context.Context, conn rpc.Conn, opts ...grpc.CallOption) error {
	return conn.Invoke(ctx, "/s/m", nil, nil, opts...)
}

// invokeAll makes n calls, none of which may fail or take time.
func invokeAll(t *testing.T, conn rpc.Conn, n int) {
	t.Helper()
	began := time.Now()
	for range n {
		if err := invoke(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(began); d != 0 {
		t.Errorf("%d calls took %v", n, d)
	}
}

const a, b, c = "10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"

func wantCalls(t *testing.T, w *world, want map[string]int) {
	t.Helper()
	if got := w.takeCalls(); !maps.Equal(got, want) {
		t.Errorf("the servers had %v calls, want %v", got, want)
	}
}

// Every server has the same number of calls.
func TestSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(a, b, c)
		conn := dialWorld(t, w, a, b, c)
		invokeAll(t, conn, 1)
		synctest.Wait()
		w.takeCalls()
		invokeAll(t, conn, 300)
		wantCalls(t, w, map[string]int{a: 100, b: 100, c: 100})
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range 10 {
					if err := invoke(t.Context(), conn); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		wantCalls(t, w, map[string]int{a: 100, b: 100, c: 100})
	})
}

// An address that cannot be reached, in whichever way, costs calls nothing while there
// is another; it is tried again, and not too often.
func TestDeadAddress(t *testing.T) {
	for _, dead := range []string{"refused", "mute"} {
		t.Run(dead, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(a, b)
				w.at[b] = dead
				conn := dialWorld(t, w, a, b)
				for range 100 {
					invokeAll(t, conn, 5)
					time.Sleep(100 * time.Millisecond)
				}
				wantCalls(t, w, map[string]int{a: 500})
				if n := w.dials[b]; n > 20 {
					t.Errorf("the dead address was tried %d times in 10 s", n)
				}
				w.set(func() { w.at[b] = "up" })
				time.Sleep(30 * time.Second) // an attempt under way may take long to fail
				invokeAll(t, conn, 100)
				wantCalls(t, w, map[string]int{a: 50, b: 50})
			})
		})
	}
}

// An address that is lost gets no calls until it is there again; no call fails.
func TestLostAndFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(a, b)
		conn := dialWorld(t, w, a, b)
		invokeAll(t, conn, 2)
		time.Sleep(10 * time.Second) // what the balancer has opened is of no use any more
		for range 5 {
			w.set(func() { w.at[a] = "refused" })
			w.takeCalls()
			for range 20 {
				invokeAll(t, conn, 5)
				time.Sleep(100 * time.Millisecond)
			}
			wantCalls(t, w, map[string]int{b: 100})
			w.set(func() { w.at[a] = "up" })
			time.Sleep(2 * time.Second)
			invokeAll(t, conn, 100)
			wantCalls(t, w, map[string]int{a: 50, b: 50})
		}
	})
}

// A server that says nothing any more costs the calls that try it two seconds, and
// those after them nothing.
func TestMuteLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(a, b)
		conn := dialWorld(t, w, a, b)
		invokeAll(t, conn, 2)
		time.Sleep(10 * time.Second)
		w.set(func() { w.at[a] = "mute" })
		w.takeCalls()
		began := time.Now()
		for range 2 { // one of them is for a
			if err := invoke(t.Context(), conn); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("two calls took %v", d)
		}
		invokeAll(t, conn, 100)
		wantCalls(t, w, map[string]int{b: 102})
	})
}

var (
	refused = everywire.NotRun(status.Error(codes.Unavailable, "the server is shutting down"))
	broken  = status.Error(codes.Unavailable, "the connection broke; the call may have run")
	limited = everywire.NotRun(status.Error(codes.ResourceExhausted, "too many calls"))
)

// A call goes elsewhere only if it surely did not run for want of a server; and its
// owner learns of its end once.
func TestElsewhere(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers map[string]error
		want    map[string]int // of two calls
		codes   []codes.Code
	}{
		{"shutting down", map[string]error{a: refused}, map[string]int{a: 1, b: 2}, []codes.Code{codes.OK, codes.OK}},
		{"may have run", map[string]error{a: broken}, map[string]int{a: 1, b: 1}, []codes.Code{codes.OK, codes.Unavailable}},
		{"refused for another reason", map[string]error{a: limited}, map[string]int{a: 1, b: 1}, []codes.Code{codes.OK, codes.ResourceExhausted}},
		{"an error of the service", map[string]error{a: status.Error(codes.NotFound, "")}, map[string]int{a: 1, b: 1}, []codes.Code{codes.OK, codes.NotFound}},
		{"nobody", map[string]error{a: refused, b: refused}, map[string]int{a: 1, b: 1}, []codes.Code{codes.Unavailable, codes.Unavailable}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(a, b)
				conn := dialWorld(t, w, a, b)
				invokeAll(t, conn, 1)
				synctest.Wait()
				w.takeCalls()
				w.answers = test.answers
				var got []codes.Code
				for range 2 {
					var ends []error
					err := invoke(t.Context(), conn, grpc.OnFinish(func(err error) { ends = append(ends, err) }))
					got = append(got, status.Code(err))
					if len(ends) != 1 || !errors.Is(ends[0], err) {
						t.Errorf("OnFinish got %v, the caller %v", ends, err)
					}
				}
				slices.Sort(got)
				if !slices.Equal(got, test.codes) {
					t.Errorf("the calls ended with %v, want %v", got, test.codes)
				}
				wantCalls(t, w, test.want)
			})
		})
	}
}

// Without a server calls fail at once and say why; those that wait for one wait, and
// have the one that comes.
func TestNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		conn := dialWorld(t, w, a, b)
		for range 3 {
			began := time.Now()
			ended := 0
			err := invoke(t.Context(), conn, grpc.OnFinish(func(error) { ended++ }))
			text := fmt.Sprint(err)
			if status.Code(err) != codes.Unavailable || everywire.MayHaveRun(err) || !strings.Contains(text, a+" refused") || !strings.Contains(text, b+" refused") {
				t.Errorf("a call without a server: %v, may have run: %t", err, everywire.MayHaveRun(err))
			}
			if d := time.Since(began); d != 0 || ended != 1 {
				t.Errorf("it took %v and ended %d times", d, ended)
			}
			synctest.Wait()
		}
		patient := grpc.WaitForReady(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := invoke(ctx, conn, patient)
		if status.Code(err) != codes.DeadlineExceeded || everywire.MayHaveRun(err) || !strings.Contains(err.Error(), "refused") {
			t.Errorf("a call that waited for a second: %v", err)
		}
		done := make(chan error)
		go func() { done <- invoke(t.Context(), conn, patient) }()
		time.Sleep(time.Minute)
		w.set(func() { w.at[b] = "up" })
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A name is all addresses that it has. It is looked up again when one cannot be
// reached; calls at an address that is gone may finish.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(a, b, c)
		w.names["replicas"] = []string{"10.0.0.1", "10.0.0.2"}
		conn := dialWorld(t, w, "replicas:1")
		invokeAll(t, conn, 1)
		synctest.Wait()
		w.takeCalls()
		invokeAll(t, conn, 100)
		wantCalls(t, w, map[string]int{a: 50, b: 50})

		// A stream at b, and another one at a.
		var ends int
		streams := map[grpc.ClientStream]string{}
		for range 2 {
			s, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, "/s/m", grpc.OnFinish(func(error) { ends++ }))
			if err != nil {
				t.Fatal(err)
			}
			streams[s] = slices.Collect(maps.Keys(w.takeCalls()))[0]
		}
		time.Sleep(10 * time.Second)
		w.set(func() {
			w.names["replicas"] = []string{"10.0.0.1", "10.0.0.3"}
			w.at[b] = "refused"
		})
		invokeAll(t, conn, 2) // one finds that b is gone
		time.Sleep(10 * time.Second)
		w.takeCalls()
		invokeAll(t, conn, 100)
		wantCalls(t, w, map[string]int{a: 50, c: 50})
		synctest.Wait() // for a look-up that has just begun
		if w.lookups > 3 {
			t.Errorf("the name was looked up %d times", w.lookups)
		}
		for s, at := range streams {
			if w.isClosed(at) {
				t.Errorf("the connection to %s was closed before its stream ended", at)
			}
			if err := s.CloseSend(); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if !w.isClosed(b) || w.isClosed(a) || ends != 2 {
			t.Errorf("with the streams over, closed are %v, ends told: %d", w.closed, ends)
		}
	})
}

func TestNoSuchName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(a)
		conn := dialWorld(t, w, "replicas:1")
		err := invoke(t.Context(), conn)
		if status.Code(err) != codes.Unavailable || everywire.MayHaveRun(err) || !strings.Contains(err.Error(), "no such host replicas") {
			t.Errorf("got %v", err)
		}
		w.set(func() { w.names["replicas"] = []string{"10.0.0.1"} })
		if err := invoke(t.Context(), conn, grpc.WaitForReady(true)); err != nil {
			t.Error(err)
		}
	})
}

// Close ends what waits; what would begin later is Canceled.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.at[a], w.at[b] = "mute", "refused"
		conn := dialWorld(t, w, a, b)
		done := make(chan error)
		go func() { done <- invoke(t.Context(), conn) }()
		synctest.Wait()
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		for _, err := range []error{<-done, invoke(t.Context(), conn)} {
			if status.Code(err) != codes.Canceled || everywire.MayHaveRun(err) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A mistake in the options is told by New.
func TestMistake(t *testing.T) {
	mistake := errors.New("no such option")
	_, err := balance.New(&rpc.ClientConfig{}, func(*rpc.ClientConfig) (rpc.Conn, error) { return nil, mistake })
	if !errors.Is(err, mistake) {
		t.Errorf("got %v", err)
	}
}
