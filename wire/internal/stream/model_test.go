package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/link"
	"github.com/everywire/everywire/wire/internal/stream"
)

// The model: random calls and streams in both directions over a connection that
// cuts, delays and breaks at random. Every call ends exactly once, with its own
// reply or with an error that is allowed; messages of a stream come in order;
// what is queued is bounded; in the end nothing is left.

// longest is how long a run may take: less than the write timeout, which must
// not be what helps a connection that stands still.
const longest = 25 * time.Second

// A plan is what happens in one run of the model.
type plan struct {
	seed                uint64
	callers, steps      int
	maxInFlight         int
	cancels, breaks     bool
	callbacks, slow     bool
	streams, largeTexts bool
	perCall             bool
	shutdown            bool // the server, in the middle
	closes              bool // the client, in the middle
}

func drawPlan(rt *rapid.T) plan {
	return plan{
		seed:        rapid.Uint64().Draw(rt, "seed"),
		callers:     rapid.IntRange(1, 8).Draw(rt, "callers"),
		steps:       rapid.IntRange(1, 12).Draw(rt, "steps"),
		maxInFlight: rapid.SampledFrom([]int{1, 2, 5, 100}).Draw(rt, "maxInFlight"),
		cancels:     rapid.Bool().Draw(rt, "cancels"),
		breaks:      rapid.Bool().Draw(rt, "breaks"),
		callbacks:   rapid.Bool().Draw(rt, "callbacks"),
		slow:        rapid.Bool().Draw(rt, "slow"),
		streams:     rapid.Bool().Draw(rt, "streams"),
		largeTexts:  rapid.Bool().Draw(rt, "largeTexts"),
		perCall:     rapid.IntRange(0, 4).Draw(rt, "perCall") == 0,
		shutdown:    rapid.IntRange(0, 4).Draw(rt, "shutdown") == 0,
		closes:      rapid.IntRange(0, 4).Draw(rt, "closes") == 0,
	}
}

// dice are random numbers that goroutines share.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *dice) n(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

func (d *dice) oneIn(n int) bool { return d.n(n) == 0 }

// nap sleeps for a random time, which is none most often.
func (d *dice) nap() {
	switch d.n(12) {
	case 0:
		time.Sleep(time.Duration(d.n(3000)) * time.Microsecond)
	case 1:
		time.Sleep(time.Duration(d.n(100)) * time.Microsecond)
	}
}

// A choppy connection reads and writes in pieces, with pauses, and breaks.
type choppy struct {
	net.Conn
	*dice
	breaks bool
}

func (c *choppy) Read(b []byte) (int, error) {
	if c.oneIn(3) {
		b = b[:1+c.n(min(len(b), 20))]
	}
	c.nap()
	return c.Conn.Read(b)
}

func (c *choppy) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		if c.breaks && c.oneIn(300) {
			c.Close()
		}
		piece := b
		if c.oneIn(2) {
			piece = b[:1+c.n(len(b))]
		}
		c.nap()
		var m int
		m, err = c.Conn.Write(piece)
		n += m
		b = b[m:]
	}
	return n, err
}

func (c *choppy) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// WritesAreResumable as those of what is inside.
func (c *choppy) WritesAreResumable() bool {
	switch c.Conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// A run is one execution of a plan.
type run struct {
	plan
	*dice
	t    testing.TB
	e    *ends
	near *lineServer
	far  *lineServer
}

func newRun(t testing.TB, p plan, pair func() (net.Conn, net.Conn, error)) *run {
	r := &run{plan: p, t: t, dice: &dice{rng: rand.New(rand.NewPCG(p.seed, 0))}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the plan is %+v", p)
		}
	})
	r.near = &lineServer{handle: r.handle}
	r.far = &lineServer{handle: r.handle, flow: r.flow}
	chop := func() (net.Conn, net.Conn, error) {
		ours, theirs, err := pair()
		if err != nil {
			return nil, nil, err
		}
		return &choppy{ours, r.dice, p.breaks}, &choppy{theirs, r.dice, p.breaks}, nil
	}
	r.e = join(t, chop, r.near, r.far, edits{
		client: func(cfg *stream.ClientConfig) {
			cfg.PerCall = p.perCall
			cfg.MaxInFlight = p.maxInFlight
		},
		server: func(cfg *stream.ServerConfig) { cfg.MaxInFlight = p.maxInFlight },
	})
	return r
}

// handle answers a call, at either end. The text says how: "DEPTH NUMBER …".
func (r *run) handle(ctx context.Context, text string) string {
	if r.slow && r.oneIn(4) {
		time.Sleep(time.Duration(r.n(5000)) * time.Microsecond)
	}
	depth, rest, _ := strings.Cut(text, " ")
	if n, _ := strconv.Atoi(depth); n > 0 {
		call := &lineCall{text: fmt.Sprintf("%d %s", n-1, rest)}
		_, err := connOf(ctx).Do(ctx, call)
		r.check(call, err, call.text)
	}
	return text
}

// flow answers a stream: it echoes what comes and says how many there were.
func (r *run) flow(ctx context.Context, s *lineStream) string {
	n := 0
	for ; ; n++ {
		text, err := s.recv(ctx)
		if err != nil {
			break
		}
		if want := strconv.Itoa(n); !strings.HasPrefix(text, want+" ") {
			r.t.Errorf("message %d of a stream is %.20q", n, text)
		}
		r.nap()
		if s.send(ctx, text) != nil {
			break
		}
	}
	return strconv.Itoa(n)
}

func (r *run) text() string {
	if r.largeTexts && r.oneIn(4) {
		return strings.Repeat("x", r.n(30_000))
	}
	return strings.Repeat("y", r.n(100))
}

// check looks at how a call ended.
func (r *run) check(call *lineCall, err error, want string) {
	if err != nil {
		r.allow(err)
		return
	}
	if err := call.check(want); err != nil && call.check("refused") != nil {
		r.t.Errorf("%v", err)
	}
}

// allow reports an error that cannot come of what the plan has.
func (r *run) allow(err error) {
	stopped := r.closes || r.shutdown || r.cancels || r.breaks
	switch code := status.Code(err); {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || code == codes.Canceled:
		// A handler's context ends with its connection, and after its call was
		// cancelled; a client's, when it is closed.
		if stopped || r.perCall {
			return
		}
	case code == codes.Unavailable:
		if stopped || r.perCall {
			return
		}
	}
	r.t.Errorf("a call failed without a reason: %v", err)
}

// do runs the plan.
func (r *run) do() {
	var wg sync.WaitGroup
	for range r.callers {
		wg.Go(func() {
			for range r.steps {
				r.step()
			}
		})
	}
	if r.closes {
		wg.Go(func() {
			time.Sleep(time.Duration(r.n(4000)) * time.Microsecond)
			r.e.client.Close()
		})
	}
	if r.shutdown {
		wg.Go(func() {
			time.Sleep(time.Duration(r.n(4000)) * time.Microsecond)
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.n(4000))*time.Microsecond)
			defer cancel()
			_ = r.e.server.Shutdown(ctx) // its end is checked by join
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for end := time.Now().Add(longest); ; {
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
			r.checkBounds()
		}
		if time.Now().After(end) {
			panic(fmt.Sprintf("the model hangs; the plan is %+v", r.plan))
		}
	}
}

// checkBounds looks at what the connections hold now.
func (r *run) checkBounds() {
	for _, ls := range []*lineServer{r.near, r.far} {
		ls.mu.Lock()
		open := ls.open
		ls.mu.Unlock()
		for _, s := range open {
			if n := s.conn.Queued(); n > 3<<20 {
				r.t.Errorf("%d bytes are queued", n)
			}
			if _, tasks, bytes := s.conn.InFlight(); tasks > r.maxInFlight+2 || bytes > 3<<20 {
				r.t.Errorf("%d tasks of %d bytes run", tasks, bytes)
			}
		}
	}
}

// step is one call, stream or notification.
func (r *run) step() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.cancels && r.oneIn(4) {
		after := time.Duration(r.n(3000)) * time.Microsecond
		if r.oneIn(2) {
			ctx, cancel = context.WithTimeout(ctx, after)
			defer cancel()
		} else {
			defer time.AfterFunc(after, cancel).Stop()
		}
	}
	if r.streams && r.oneIn(3) {
		r.stream(ctx)
		return
	}
	depth := 0
	switch {
	case r.callbacks && r.maxInFlight < 100:
		// More would be a deadlock of the program's own: a handler that waits for
		// a call that waits for its slot.
		depth = r.n(2)
	case r.callbacks:
		depth = r.n(4)
	}
	call := &lineCall{text: fmt.Sprintf("%d %d %s", depth, r.n(1000), r.text()), repeat: r.oneIn(2)}
	_, err := r.e.client.Do(ctx, call)
	r.check(call, err, call.text)
}

func (r *run) stream(ctx context.Context) {
	s, call, err := openLine(ctx, r.e.client)
	if err != nil {
		r.allow(err)
		return
	}
	count := r.n(30)
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < count && err == nil; i++ {
			err = s.send(ctx, fmt.Sprintf("%d %s", i, r.text()))
			r.nap()
		}
		if err == nil {
			err = s.closeSend(ctx)
		}
		sent <- err
	}()
	got := 0
	for ; ; got++ {
		var text string
		if text, err = s.recv(ctx); err != nil {
			break
		}
		if want := strconv.Itoa(got); !strings.HasPrefix(text, want+" ") {
			r.t.Errorf("message %d of a stream is %.20q", got, text)
		}
		if r.cancels && r.oneIn(40) {
			s.Cancel()
			<-sent
			return
		}
	}
	if !errors.Is(err, io.EOF) {
		r.allow(err)
		s.Cancel()
		<-sent
		return
	}
	sendErr := <-sent
	if err := s.Reply(ctx); err != nil {
		r.allow(err)
		return
	}
	if call.check("refused") == nil {
		return
	}
	if sendErr != nil || got != count || call.check(strconv.Itoa(count)) != nil {
		r.t.Errorf("%d of %d messages came back; the reply is %q; sending ended with %v", got, count, call.reply, sendErr)
	}
}

// In a bubble the model is exact: a goroutine that stays is a deadlock, and the
// clock passes only when all wait. TLS cannot be there: those who wait for its
// mutexes stop the clock.
func TestModelInBubble(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		synctest.Test(t, func(t *testing.T) { newRun(t, p, pipePair).do() })
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// Over sockets and an emulated link time is real.
func TestModelOverSockets(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) { checkModel(t, pair) })
	t.Run("link", func(t *testing.T) {
		noLeaks(t)
		checkModel(t, linkPairs(t, "rtt=1ms,rate=100mbit,loss=0.1%"))
	})
}

func checkModel(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
	runs := 5
	if v, err := strconv.Atoi(os.Getenv("MODEL_RUNS")); err == nil {
		runs = v
	}
	for i := range runs {
		seed := rand.Uint64()
		p := rapid.Custom(drawPlan).Example(int(seed >> 33))
		p.seed = seed
		t.Run(strconv.Itoa(i), func(t *testing.T) { newRun(t, p, pair).do() })
	}
}

func linkPairs(t *testing.T, spec string) func() (net.Conn, net.Conn, error) {
	t.Helper()
	s, err := link.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	lis, err := l.B.Listen(t.Context(), "tcp", ":7070")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return pairsOf(lis, func() (net.Conn, error) { return l.A.DialContext(t.Context(), "tcp", lis.Addr().String()) })
}
