package wire_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/link"
	"github.com/everywire/everywire/wire"
)

// A resetter accepts connections that it resets.
type resetter struct {
	net.Listener
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	count int // of resets
}

func (r *resetter) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		r.conns = map[net.Conn]struct{}{}
	}
	r.conns[conn] = struct{}{}
	return conn, nil
}

// reset ends all connections, and does not wait for what is in flight.
func (r *resetter) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0) // a reset, not an orderly end; it fails only on a closed one
		}
		conn.Close()
		r.count++
	}
	clear(r.conns)
}

// A tally counts how often each call ran.
type tally struct {
	mu  sync.Mutex
	ran map[string]int
}

func (t *tally) run(_ context.Context, in *question) (*answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ran[in.Text]++
	return &answer{in.Text}, nil
}

func (t *tally) count(call string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ran[call]
}

// Connections are reset under load. Calls of a method that may run twice
// succeed; others succeed, or fail with an error that says whether they may
// have run, and says so truly. Nothing hangs.
func TestConnectionsAreReset(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	networks := map[string]string{"loopback": "", "a link": "rtt=2ms", "a link that loses packets": "rtt=2ms,loss=2%"}
	for _, target := range []string{"jsonrpc+tcp", "msgpackrpc+tcp"} {
		for network, spec := range networks {
			t.Run(target+" over "+network, func(t *testing.T) { resetUnderLoad(t, target, spec) })
		}
	}
}

func resetUnderLoad(t *testing.T, target, spec string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r := &resetter{}
	listen, addr, opts := listenOn(t, spec)
	calls := &tally{ran: map[string]int{}}
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "reset.Test/Twice", calls.run, everywire.WithIdempotency(everywire.Idempotent))
	everywire.Handle(reg, "reset.Test/Once", calls.run)
	srv, err := wire.Serve(ctx, reg, []string{target + "://" + addr}, wire.WithListener(
		func(ctx context.Context, network, addr string) (net.Listener, error) {
			lis, err := listen(ctx, network, addr)
			r.Listener = lis
			return r, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := wire.Dial(srv.Targets()[0].String(), append(opts, wire.WithMethods(reg))...)
	if err != nil {
		t.Fatal(err)
	}

	const callers, calling = 8, 2 * time.Second
	pause := 25 * time.Millisecond
	if strings.Contains(spec, "loss") {
		pause *= 5 // a packet that is lost takes a fifth of a second to come again
	}
	var load sync.WaitGroup
	var succeeded, mayHave, didNot atomic.Int64
	end := time.Now().Add(calling)
	for c := range callers {
		load.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				id := fmt.Sprintf("%d/%d", c, i)
				method := []string{"reset.Test/Twice", "reset.Test/Once"}[i%2]
				out, err := everywire.Call[answer](ctx, conn, method, &question{Text: id})
				ran := calls.count(id)
				switch {
				case err == nil && (out.Text != id || ran < 1 || method == "reset.Test/Once" && ran != 1):
					t.Errorf("%s %s: the reply is %q, it ran %d times", method, id, out.Text, ran)
				case err == nil:
					succeeded.Add(1)
				case status.Code(err) != codes.Unavailable:
					t.Errorf("%s %s: %v", method, id, err)
				case strings.Contains(err.Error(), "it did not run"), strings.Contains(err.Error(), "cannot reach"):
					if didNot.Add(1); ran > 0 {
						t.Errorf("%s %s ran: %v", method, id, err)
					}
				case !strings.Contains(err.Error(), "it may have run"):
					t.Errorf("%s %s: %v does not say whether it ran", method, id, err)
				default:
					mayHave.Add(1)
				}
				if err != nil && method == "reset.Test/Twice" {
					t.Errorf("%s %s, which may run twice: %v", method, id, err)
				}
			}
		})
	}
	for time.Now().Before(end) {
		// The pauses are the test's subject: how the load meets the resets.
		time.Sleep(pause/5 + rand.N(2*pause))
		r.reset()
	}
	load.Wait()
	t.Logf("%d calls succeeded, %d may have run, %d did not, after %d resets", succeeded.Load(), mayHave.Load(), didNot.Load(), r.count)
	if succeeded.Load() == 0 || r.count < 3 {
		t.Error("there was no load, or there were no resets")
	}
	conn.Close()
	if err := srv.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// listenOn gives loopback, or both ends of an emulated link.
func listenOn(t *testing.T, spec string) (listen func(context.Context, string, string) (net.Listener, error), addr string, opts []wire.DialOption) {
	if spec == "" {
		return new(net.ListenConfig).Listen, "127.0.0.1:0", nil
	}
	s, err := link.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	l, err := link.New(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.A.Listen, net.JoinHostPort(l.A.Addr().String(), "0"), []wire.DialOption{wire.WithDialer(l.B.DialContext)}
}
