package stream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// A Conn is one connection, at either end. Both ends may call and answer.
type Conn struct {
	owner   owner
	raw     net.Conn
	peer    *peer.Peer
	session Session
	w       *writer
	peeker  *peeker     // of the client's end
	suspect atomic.Bool // the peer may have closed the connection over what it was sent
	watch   *watch
	watched atomic.Bool     // the watch knows
	ctx     context.Context //nolint:containedctx // lives as long as the connection
	cancel  context.CancelFunc
	limit   atomic.Int64   // of a frame in bytes
	load    atomic.Int64   // calls pending and tasks running: is it worth to wait for others before a write?
	readers sync.WaitGroup // goroutines of the connection's own that read

	// Of whoever has the lead.
	rd       reader
	out      *buffer // replies that are not with the writer yet
	replies  int     // how many
	apart    bool    // the last task had a goroutine of its own
	runs     uint    // tasks that began on the reading goroutine
	deadline bool    // a read deadline is set
	renewAt  int     // set it anew when so many bytes of the frame are there

	mu          sync.Mutex
	lead        lead
	gen         uint64          // counts the changes of lead
	seenGen     uint64          // what the watch saw
	seenTimes   int             // how often in a row
	leadCtx     context.Context //nolint:containedctx // of the caller that leads, if it can end
	leadStop    func() bool     // takes back the hook on leadCtx
	interrupted bool            // a read deadline in the past is set, for the leader to come back
	stopped     bool            // another one, for good
	waiters     waiters
	worked      bool // a call or task has ended since the idle timeout began
	pending     map[uint32]*call
	lastID      uint32
	err         error // why there can be no more calls

	// Tasks.
	outSent  []byte // of out, what a task that runs on the reading goroutine found there
	active   int    // running tasks
	held     int    // bytes of their frames
	draining bool
	room     sync.Cond // active or held became less
}

// An owner is the [Client] or [Server] of a connection.
type owner interface {
	config() *connConfig
	// over is called once, when there is nothing more to read. It may block, and
	// closes the connection. head is what has arrived of the frame to blame, if
	// one is.
	over(c *Conn, err error, head []byte)
	// keepsReading reports whether a connection has a reader of its own always.
	keepsReading() bool
}

// connConfig is what both ends configure.
type connConfig struct {
	maxFrame    int
	maxInFlight int
	timeouts    Timeouts
	logger      *slog.Logger
	// calls are reused. They have channels, so they stay with the owner: a
	// program may test with several bubbles of testing/synctest.
	calls sync.Pool
}

func (cfg *connConfig) set(maxFrame, maxInFlight int, t Timeouts, l *slog.Logger) {
	cfg.maxFrame, cfg.maxInFlight, cfg.timeouts, cfg.logger = maxFrame, maxInFlight, t.withDefaults(), l
	cfg.calls.New = newCall
}

func newConn(o owner, raw net.Conn, w *watch) *Conn {
	cfg := o.config()
	c := &Conn{owner: o, raw: raw, peer: rpc.PeerOf(raw), watch: w}
	c.limit.Store(int64(cfg.maxFrame))
	c.room.L = &c.mu
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.w = newWriter(raw, cfg.timeouts.Write)
	c.w.busy = func() bool { return c.load.Load() > 1 }
	c.w.begins = c.beWatched
	c.w.failed = c.cancel
	return c
}

// Context ends when the connection does.
func (c *Conn) Context() context.Context { return c.ctx }

// Peer describes the other end.
func (c *Conn) Peer() *peer.Peer { return c.peer }

// Post sends what add appends as one unit, without waiting for anything. It is
// for small frames, and may be called by a [Session]. It returns how many bytes
// wait to be written: nothing bounds them but the caller.
func (c *Conn) Post(add func(dst []byte) []byte) (queued int) {
	unit := newBuffer()
	if unit.b = add(unit.b); len(unit.b) == 0 {
		unit.free()
		return 0
	}
	return c.w.post(unit)
}

// part says goodbye, if the protocol has one.
func (c *Conn) part(err error) {
	p, ok := c.session.(Parting)
	if !ok {
		return
	}
	if errors.Is(err, errStopped) || errors.Is(err, errIdle) {
		err = nil
	}
	unit := newBuffer()
	if unit.b = p.Goodbye(err, unit.b); len(unit.b) == 0 {
		unit.free()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lingerTimeout)
	defer cancel()
	if end, err := c.w.write(ctx, unit); err == nil {
		_ = c.w.flushed(ctx, end) // a peer that does not read is not waited for
	}
}

// Send sends what add appends as one unit, and returns when it is with the
// socket. Nobody answers it.
func (c *Conn) Send(ctx context.Context, add func(dst []byte) ([]byte, error)) (*peer.Peer, error) {
	unit := newBuffer()
	var err error
	unit.b, err = add(unit.b)
	if err != nil {
		unit.free()
		return c.peer, err
	}
	end, err := c.w.write(ctx, unit)
	if err != nil {
		return c.peer, c.unsent(err)
	}
	if err := c.w.flushed(ctx, end); err != nil {
		return c.peer, c.broken(err, c.w.isWritten(ctx, end))
	}
	return c.peer, nil
}

// A Caller makes calls: a [Client], which dials, or a [Conn].
type Caller interface {
	Do(ctx context.Context, x Exchange) (*peer.Peer, error)
	Send(ctx context.Context, add func(dst []byte) ([]byte, error)) (*peer.Peer, error)
}

// A BrokenError is the end of a connection for one call.
type BrokenError struct {
	// Written reports whether the request was handed to the socket: it may have
	// run. If not, it has not.
	Written bool
	Err     error
}

func (e *BrokenError) Error() string { return e.GRPCStatus().Message() }
func (e *BrokenError) Unwrap() error { return e.Err }

// MayHaveRun is what [everywire.MayHaveRun] asks.
func (e *BrokenError) MayHaveRun() bool { return e.Written }

// GRPCStatus makes the error Unavailable to the status package.
func (e *BrokenError) GRPCStatus() *status.Status {
	when := "before the request was written; it did not run"
	if e.Written {
		when = "after the request was written; it may have run"
	}
	return status.Newf(codes.Unavailable, "the connection broke %s: %v", when, e.Err)
}

// broken words the end of a connection for one call.
func (c *Conn) broken(err error, written bool) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, net.ErrClosed) {
		// Another goroutine closed it and told the reason to fail.
		c.mu.Lock()
		if c.err != nil {
			err = c.err
		}
		c.mu.Unlock()
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return &BrokenError{Written: written, Err: reworded(err)}
}

// unsent is broken for a call of which nothing was written.
func (c *Conn) unsent(err error) error {
	err = c.broken(err, false)
	if _, is := err.(*BrokenError); !is { //nolint:errorlint // broken makes it
		err = rpc.NotSent(err)
	}
	return err
}

// reworded is why a connection broke, for somebody who does not know what an
// EOF is.
func reworded(err error) error {
	if err == io.EOF { //nolint:errorlint // the reader returns io.EOF itself
		return errors.New("the peer closed it")
	}
	return err
}

// isBroken reports whether a call that begins now must fail. That a write has
// failed is known before whoever reads has seen it.
func (c *Conn) isBroken() bool {
	if c.w.broken.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// endCalls makes pending calls fail with err, and calls to come too.
func (c *Conn) endCalls(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endCallsLocked(err)
}

// endCallsLocked is endCalls with c.mu held.
func (c *Conn) endCallsLocked(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	for id, p := range c.pending {
		c.remove(id)
		c.finish(p, err)
	}
	c.waiters.wakeAll()
	c.room.Broadcast()
}

// fail ends the connection at once.
func (c *Conn) fail(err error) {
	c.endCalls(err)
	c.w.fail(err)
}

// cutOff is fail for a server that ends: the contexts of its handlers end too,
// but not before nothing is written any more, or what they make of that would
// reach the peer as if it were their answer.
func (c *Conn) cutOff(err error) {
	c.endCalls(err)
	c.w.failThen(err, c.cancel)
}

// raiseLimit lets frames be as long as n.
func (c *Conn) raiseLimit(n int) {
	for old := c.limit.Load(); int64(n) > old && !c.limit.CompareAndSwap(old, int64(n)); {
		old = c.limit.Load()
	}
}

func (c *Conn) maxFrame() int { return int(min(c.limit.Load(), math.MaxInt/4)) }
