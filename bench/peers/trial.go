package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/bench/peers/peer"
	"github.com/everywire/everywire/wire"
)

// The method of the experiments does what each request asks.
const trialMethod = "bench.Trial/Do"

// sleepTime is how long a request that sleeps does.
const sleepTime = 10 * time.Millisecond

type task struct {
	Seq   int64  `wire:"1"`
	Text  string `wire:"2"`
	Sleep bool   `wire:"3"`
	Spin  int64  `wire:"4"` // turns of spin
}

type done struct {
	Seq  int64 `wire:"1"`
	Size int64 `wire:"2"` // of the text
}

func do(ctx context.Context, t *task) (*done, error) {
	if t.Sleep {
		timer := time.NewTimer(sleepTime)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	spun.Add(spin(t.Spin))
	return &done{t.Seq, int64(len(t.Text))}, nil
}

// spun keeps the computation from being optimized away.
var spun atomic.Uint64

// spin computes: xorshift, so many turns.
func spin(turns int64) uint64 {
	x := uint64(88172645463325252)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// serveTrial serves the experiments' method on a wire of ours.
func (*child) serveTrial(ctx context.Context, name string) (string, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return trialServer(name, lis)
}

// serveDripping does the same on connections that give one byte to a read.
func (*child) serveDripping(ctx context.Context, name string) (string, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return trialServer(name, dripListener{lis})
}

func trialServer(name string, lis net.Listener) (string, error) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, trialMethod, do)
	srv, err := peer.ServeOurs(name, lis, reg)
	if err != nil {
		return "", err
	}
	go func() {
		fmt.Fprintln(os.Stderr, "the server ended:", srv.Wait()) // the parent tells it on
		os.Exit(1)
	}()
	return lis.Addr().String(), nil
}

type burnArg struct {
	Spin   int64
	Window time.Duration
}

// burn runs a task's computation again and again on one goroutine.
func (*child) burn(_ context.Context, a burnArg) (w window, err error) {
	begin := time.Now()
	for w.Took < a.Window {
		spun.Add(spin(a.Spin))
		w.Calls++
		w.Took = time.Since(begin)
	}
	return w, nil
}

// collect frees what can be freed if asked to, and returns the resident bytes
// of the process.
func (*child) collect(_ context.Context, free bool) (int64, error) {
	if free {
		runtime.GC() // finds what pools have let go
		debug.FreeOSMemory()
	}
	return resident()
}

// A trialClient calls the experiments' method on one connection.
type trialClient struct {
	conn *wire.Conn
	seq  atomic.Int64
}

type dialArg struct{ Wire, Addr string }

func newTrialClient(a dialArg, opts ...wire.DialOption) (*trialClient, error) {
	conn, err := wire.Dial(a.Wire+"://"+a.Addr, opts...)
	return &trialClient{conn: conn}, err
}

func (c *child) dialTrial(_ context.Context, a dialArg) (none struct{}, err error) {
	c.trial, err = newTrialClient(a)
	return none, err
}

// large makes one call with a text of so many bytes.
func (c *child) large(_ context.Context, size int) (none struct{}, err error) {
	if c.trial == nil {
		return none, errors.New("nothing is dialled")
	}
	return none, c.trial.do(task{Text: text(0, size)})
}

func (c *trialClient) do(t task) error {
	t.Seq = c.seq.Add(1)
	out, err := everywire.Call[done](context.Background(), c.conn, trialMethod, &t)
	if err != nil {
		return err
	}
	if out.Seq != t.Seq || out.Size != int64(len(t.Text)) {
		return fmt.Errorf("wrong reply: number %d for %d, length %d for %d", out.Seq, t.Seq, out.Size, len(t.Text))
	}
	return nil
}

type fastArg struct {
	Callers int
	Window  time.Duration
	// Sleepers says that with nine fast requests goes one that sleeps; it is sent
	// beside them and not waited for.
	Sleepers bool
}

type latencies struct {
	Calls int
	P50   time.Duration
}

// fast times short calls in a closed loop.
func (c *child) fast(_ context.Context, a fastArg) (l latencies, err error) {
	if c.trial == nil {
		return l, errors.New("nothing is dialled")
	}
	var (
		wg, sleeping sync.WaitGroup
		mu           sync.Mutex
		all          []time.Duration
		errs         []error
	)
	failed := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	begin := time.Now()
	for i := range a.Callers {
		wg.Go(func() {
			quick := task{Text: text(i, 64)}
			var times []time.Duration
			for at := begin; at.Sub(begin) < a.Window; {
				if a.Sleepers && len(times)%9 == 0 {
					sleeping.Go(func() {
						if err := c.trial.do(task{Text: quick.Text, Sleep: true}); err != nil {
							failed(err)
						}
					})
				}
				start := time.Now()
				if err := c.trial.do(quick); err != nil {
					failed(err)
					return
				}
				at = time.Now()
				times = append(times, at.Sub(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
		})
	}
	wg.Wait()
	sleeping.Wait()
	if err := errors.Join(errs...); err != nil {
		return l, err
	}
	slices.Sort(all)
	return latencies{len(all), all[len(all)/2]}, nil
}

type tasksArg struct {
	Callers int
	Window  time.Duration
	Spin    int64
}

// tasks counts calls that compute, in a closed loop.
func (c *child) tasks(_ context.Context, a tasksArg) (w window, err error) {
	if c.trial == nil {
		return w, errors.New("nothing is dialled")
	}
	var (
		wg    sync.WaitGroup
		total atomic.Int64
		errs  = make([]error, a.Callers)
	)
	begin := time.Now()
	for i := range a.Callers {
		wg.Go(func() {
			for errs[i] == nil && time.Since(begin) < a.Window {
				if errs[i] = c.trial.do(task{Spin: a.Spin}); errs[i] == nil {
					total.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return window{Calls: total.Load(), Took: time.Since(begin)}, errors.Join(errs...)
}
