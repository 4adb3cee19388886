package resilience_test

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/resilience"
	"github.com/everywire/everywire/wire"
)

// shapes are the wires over TCP. Of HTTP/3 there is no connection to reset.
var shapes = []string{
	"rest", "rest?http=2", "jsonrpc+http", "jsonrpc+tcp", "jsonrpc+ws", "msgpackrpc+tcp", "msgpackrpc+tcp?meta=on", "grpc", "connect", "connect?http=1.1",
}

type ticket struct {
	ID int64 `wire:"1"`
}

// A resetter is a server's network, which can reset the connection to a client:
// RST, and what was written but not sent is lost.
type resetter struct {
	mu    sync.Mutex
	conns map[string]*net.TCPConn // by the client's address
	count int
}

func (r *resetter) listen(ctx context.Context, network, addr string) (net.Listener, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, network, addr)
	return &resetListener{lis, r}, err
}

type resetListener struct {
	net.Listener
	*resetter
}

func (l *resetListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[conn.RemoteAddr().String()] = conn.(*net.TCPConn)
	return conn, nil
}

// reset ends the connection of the call whose context it is given.
func (r *resetter) reset(ctx context.Context) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return
	}
	addr := p.Addr.String()
	r.mu.Lock()
	defer r.mu.Unlock()
	conn := r.conns[addr]
	if conn == nil {
		return // another call has done it
	}
	delete(r.conns, addr)
	_ = conn.SetLinger(0) // it may have ended already, and so below
	_ = conn.Close()
	r.count++
}

func (r *resetter) resets() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// A ledger is a service whose server resets the connections of one call in ten:
// before its handler, while it runs, or after it, before the reply has gone. It
// counts how often each call ran.
type ledger struct {
	resetter
	mu  sync.Mutex
	ran map[int64]int
	cut map[int64]bool // calls that have had their reset
}

func newLedger() *ledger {
	return &ledger{resetter: resetter{conns: map[string]*net.TCPConn{}}, ran: map[int64]int{}, cut: map[int64]bool{}}
}

func (l *ledger) registry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.ChainUnary(l.intercept))
	everywire.Handle(reg, "reset.Ledger/Twice", l.run, everywire.WithIdempotency(everywire.Idempotent))
	everywire.Handle(reg, "reset.Ledger/Once", l.run)
	return reg
}

const (
	before = iota
	during
	after
)

// moment says when the connection of a call is reset.
func (l *ledger) moment(id int64) int {
	if id%10 != 7 {
		return -1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut[id] {
		return -1 // the second time it is let through
	}
	return int(id / 10 % 3)
}

func (l *ledger) resetAt(ctx context.Context, id int64, when int) bool {
	if l.moment(id) != when {
		return false
	}
	l.mu.Lock()
	l.cut[id] = true
	l.mu.Unlock()
	l.reset(ctx)
	return true
}

func (l *ledger) intercept(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	id := in.(*ticket).ID
	if l.resetAt(ctx, id, before) {
		return nil, status.Error(codes.Aborted, "nobody sees this")
	}
	out, err := next(ctx, in)
	l.resetAt(ctx, id, after)
	return out, err
}

func (l *ledger) run(ctx context.Context, in *ticket) (*ticket, error) {
	l.mu.Lock()
	l.ran[in.ID]++
	l.mu.Unlock()
	l.resetAt(ctx, in.ID, during)
	return in, nil
}

func (l *ledger) times(id int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ran[id]
}

// A server resets one call in ten while 64 callers call. Calls that may run
// twice all succeed; the others succeed, or fail with an error that says
// whether they may have run; and none of these runs twice. It is the server
// that counts.
func TestOneCallInTenIsReset(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel() // most of it is waiting
			resetOneInTen(t, shape)
		})
	}
}

func resetOneInTen(t *testing.T, shape string) {
	calls := int64(640)
	if os.Getenv("EVERYWIRE_LONG") != "" {
		calls *= 100
	} else if testing.Short() {
		calls /= 2
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l := newLedger()
	reg := l.registry()
	target, stop := serve(t, reg, shape, wire.WithListener(l.listen))
	guard, err := resilience.New(resilience.Policy{
		Methods: reg,
		// All callers of a wire with one connection lose their calls at once, one
		// time in ten.
		Default: resilience.Rules{Attempts: 30, Backoff: 4 * time.Millisecond, MaxBackoff: 200 * time.Millisecond},
		Budget:  resilience.Budget{Tokens: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, target, wire.WithMethods(reg), wire.WithUnaryInterceptor(guard.Unary))

	// fates[id] is what the caller of a call knows when it has ended.
	type fate struct {
		once, mayHaveRun bool
		err              error
	}
	fates := make([]fate, calls)
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for id := next.Add(1) - 1; id < calls; id = next.Add(1) - 1 {
				f := fate{once: rand.N(2) == 0}
				method := map[bool]string{true: "reset.Ledger/Once", false: "reset.Ledger/Twice"}[f.once]
				out, err := everywire.Call[ticket](ctx, conn, method, &ticket{ID: id})
				if err == nil && out.ID != id {
					t.Errorf("the reply of call %d is that of %d", id, out.ID)
				}
				f.err, f.mayHaveRun = err, everywire.MayHaveRun(err)
				fates[id] = f
			}
		})
	}
	callers.Wait()
	stop() // what still runs may count
	succeeded, mayHave, didNot := 0, 0, 0
	for id, f := range fates {
		ran := l.times(int64(id))
		switch {
		case f.err == nil:
			if succeeded++; ran < 1 {
				t.Errorf("call %d succeeded and did not run", id)
			}
		case !f.once:
			t.Errorf("call %d may run twice, and failed: %v", id, f.err)
		case status.Code(f.err) != codes.Unavailable:
			t.Errorf("call %d: %v", id, f.err)
		case f.mayHaveRun:
			mayHave++
		default:
			if didNot++; ran > 0 {
				t.Errorf("call %d ran, and it is said that it did not: %v", id, f.err)
			}
		}
		if f.once && ran > 1 {
			t.Errorf("call %d, which may not run twice, ran %d times", id, ran)
		}
	}
	resets := l.resets()
	t.Logf("%s: %d calls succeeded, %d may have run, %d did not, after %d resets; %+v", shape, succeeded, mayHave, didNot, resets, guard.Stats())
	if resets < int(calls/40) || succeeded < int(calls/4) || mayHave == 0 {
		t.Error("there were no resets, or no calls that met one")
	}
}

// serve serves reg until stop is called, or the test ends, and returns the
// target to dial.
func serve(t *testing.T, reg *everywire.Registry, shape string, opts ...wire.ServeOption) (at string, stop func()) {
	t.Helper()
	target, err := wire.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	options := target.Options
	target.Options = nil
	srv, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{target.At("127.0.0.1:0").String()}, append(opts, wire.WithLogger(quiet))...)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_ = srv.Shutdown(ctx) // what is still open is cut off
	})
	t.Cleanup(stop)
	served := srv.Targets()[0]
	served.Options = options
	return served.String(), stop
}

func dial(t *testing.T, target string, opts ...wire.DialOption) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(target, opts...)
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
