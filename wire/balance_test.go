package wire_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// A replica is one of several servers of the same service.
type replica struct {
	target string
	server *wire.Server
	ids    sync.Map // of the calls that it had
}

func (r *replica) sum(_ context.Context, in *arith.SumRequest) (*arith.SumReply, error) {
	n := in.Numbers[0]
	if times, again := r.ids.LoadOrStore(n, 1); again {
		r.ids.Store(n, times.(int)+1)
	}
	return &arith.SumReply{}, nil
}

// ran counts the calls after one. One that was cut off may run after its caller has gone
// on: it is not among those to come.
func (r *replica) ran(after int64) (n int) {
	r.ids.Range(func(id, _ any) bool {
		if id.(int64) > after {
			n++
		}
		return true
	})
	return n
}

// start serves, at the same address as before.
func (r *replica) start(t *testing.T) {
	t.Helper()
	reg := everywire.NewRegistry()
	everywire.Handle(reg, arith.Sum, r.sum)
	var err error
	r.server, err = wire.Serve(context.Background(), reg, []string{r.target}, wire.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	r.target = r.server.Targets()[0].String()
}

// kill ends the server without waiting for anything.
func (r *replica) kill() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.server.Shutdown(ctx) // what was cut off is the clients' to tell
}

// The wires spread calls over addresses evenly. When a server is killed, calls that
// surely did not run are made elsewhere, none is made twice, and those of which nobody
// knows fail and say so; when it comes back it has its share again.
func TestRoundRobin(t *testing.T) {
	for _, shape := range []string{
		"rest", "rest?http=2", "rest?reconnect", "jsonrpc+tcp", "jsonrpc+http", "jsonrpc+ws", "msgpackrpc+tcp", "connect", "connect?http=1.1", "grpc",
	} {
		t.Run(shape, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			target, err := wire.ParseShape(shape)
			if err != nil {
				t.Fatal(err)
			}
			bare := target
			bare.Options = nil
			var replicas []*replica
			var addrs []string
			for range 3 {
				r := &replica{target: bare.At("127.0.0.1:0").String()}
				r.start(t)
				replicas = append(replicas, r)
				addrs = append(addrs, r.server.Targets()[0].Addrs[0])
			}
			defer func() {
				for _, r := range replicas {
					r.kill()
				}
			}()
			to := target.At(addrs...).String()
			sep := "?"
			if strings.Contains(to, "?") {
				sep = "&"
			}
			conn, err := wire.Dial(to + sep + "lb=round_robin")
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var id atomic.Int64
			call := func() error {
				n := id.Add(1)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err := everywire.Call[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: []int64{n}})
				if err != nil && !everywire.MayHaveRun(err) {
					return fmt.Errorf("call %d did not run though two servers are up: %w", n, err)
				}
				return nil // nobody knows whether it ran: the caller decides
			}
			even := func() {
				t.Helper()
				from := id.Load()
				idle := func(r *replica) bool { return r.ran(from) == 0 }
				for deadline := time.Now().Add(20 * time.Second); slices.ContainsFunc(replicas, idle); time.Sleep(time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("not all servers have calls")
					}
					for range 6 {
						if err := call(); err != nil {
							t.Error(err)
						}
					}
				}
				from = id.Load()
				for range 30 {
					if err := call(); err != nil {
						t.Error(err)
					}
				}
				for i, r := range replicas {
					if n := r.ran(from); n != 10 {
						t.Errorf("server %d had %d of 30 calls", i, n)
					}
				}
			}
			even()
			stop := make(chan struct{})
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
						}
						if err := call(); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			atLeast := func(n int64) {
				for from := id.Load(); id.Load() < from+n; {
					time.Sleep(time.Millisecond)
				}
			}
			atLeast(20)
			replicas[1].kill()
			atLeast(20)
			replicas[1].start(t)
			close(stop)
			callers.Wait()
			even()
			for i, r := range replicas {
				r.ids.Range(func(n, times any) bool {
					for j, other := range replicas {
						if _, twice := other.ids.Load(n); twice && j < i || times.(int) > 1 {
							t.Errorf("call %v was made twice", n)
						}
					}
					return true
				})
			}
		})
	}
}
