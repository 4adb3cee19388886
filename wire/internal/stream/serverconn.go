package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	handshakeTimeout = 10 * time.Second
	// lingerTimeout is how long a closing connection reads and drops what still
	// comes: closed with unread bytes, TCP would reset, and the peer could lose
	// the last replies.
	lingerTimeout = time.Second
)

// A ServerConn is one connection of a [Server].
type ServerConn struct {
	srv    *Server
	conn   net.Conn
	ctx    context.Context //nolint:containedctx // lives as long as the connection
	cancel context.CancelFunc
	peer   *peer.Peer
	slots  chan struct{} // one taken by each running task

	mu       sync.Mutex
	rd       *reader // nil before the handshake is done
	w        *writer
	active   int // running tasks
	draining bool
	idle     *sync.Cond // active became 0
}

func newServerConn(s *Server, conn net.Conn) *ServerConn {
	c := &ServerConn{srv: s, conn: conn, slots: make(chan struct{}, max(1, s.cfg.MaxInFlight))}
	c.idle = sync.NewCond(&c.mu)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Context ends when the connection does.
func (c *ServerConn) Context() context.Context { return c.ctx }

// Peer describes the other end.
func (c *ServerConn) Peer() *peer.Peer { return c.peer }

func (c *ServerConn) serve() {
	defer c.cancel()
	if err := c.handshake(); err != nil {
		if c.srv.draining.Err() == nil {
			c.warn("TLS handshake failed", err)
		}
		_ = c.conn.Close() // the handshake's error is the one to tell
		return
	}
	c.peer = rpc.PeerOf(c.conn)
	session := c.srv.cfg.Open(c)
	limit := c.srv.cfg.MaxFrame
	w := newWriter(c.conn, c.srv.cfg.WriteTimeout, func() bool { return len(c.slots) > 1 })
	w.failed = c.cancel
	rd := &reader{conn: c.conn, framer: session, timeout: c.srv.cfg.ReadTimeout, limit: func() int { return limit }}
	c.mu.Lock()
	c.rd, c.w = rd, w
	draining := c.draining
	c.mu.Unlock()
	if draining {
		rd.stop()
	}

	frame, err := c.read(session)
	c.cancel()
	c.waitIdle()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errStopped):
	case isNetError(err):
		c.close(err)
		return
	default:
		c.warn("closed a connection", w.cause(err))
		c.lastWords(session, frame, err)
	}
	c.linger()
}

func (c *ServerConn) handshake() error {
	if c.srv.cfg.TLS == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.srv.draining, handshakeTimeout)
	defer cancel()
	conn := tls.Server(c.conn, c.srv.cfg.TLS)
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	return nil
}

// read receives frames until the connection ends. It returns the frame, or
// what there is of it, that is to blame for the error.
func (c *ServerConn) read(session ServerSession) ([]byte, error) {
	for {
		frame, err := c.rd.next()
		if err != nil {
			return c.rd.unread(), err
		}
		task, err := session.Receive(frame)
		if err != nil {
			return frame, err
		}
		if task == nil {
			continue
		}
		select {
		case c.slots <- struct{}{}:
		case <-c.ctx.Done():
			return nil, net.ErrClosed
		}
		kept := newBuffer()
		kept.b = append(kept.b, frame...)
		go c.run(task, kept, c.begin())
	}
}

func (c *ServerConn) run(task Task, frame *buffer, refuse bool) {
	reply := newBuffer()
	returned := false
	defer func() {
		if !returned {
			reply = c.abort(task, frame, recover())
		}
		frame.free()
		c.write(reply)
		<-c.slots
		c.end()
	}()
	if refuse {
		reply.b = task.Refuse(frame.b, reply.b)
	} else {
		reply.b = task.Run(frame.b, reply.b)
	}
	returned = true
}

// abort answers for a task that did not return; panicked is nil if it ended
// its goroutine.
func (c *ServerConn) abort(task Task, frame *buffer, panicked any) *buffer {
	c.srv.cfg.Logger.LogAttrs(c.ctx, slog.LevelError, "a call did not return",
		slog.Any("panic", panicked), slog.String("stack", string(debug.Stack())))
	reply := newBuffer()
	reply.b = task.Abort(frame.b, reply.b)
	return reply
}

// write queues a reply. It waits while the queue is full: the peer does not
// read, and is given up after the write timeout.
func (c *ServerConn) write(unit *buffer) {
	if len(unit.b) == 0 {
		unit.free()
		return
	}
	// An error has closed the connection already, and the reader reports it.
	_, _ = c.w.write(context.Background(), unit)
}

// begin counts a task; refuse is true if it must not run any more.
func (c *ServerConn) begin() (refuse bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active++
	return c.draining
}

func (c *ServerConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active == 0 {
		c.idle.Broadcast()
		if c.draining {
			c.rd.stop()
		}
	}
}

func (c *ServerConn) waitIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.active > 0 {
		c.idle.Wait()
	}
}

// drain begins the end: new requests are refused, and reading stops when no
// task runs any more.
func (c *ServerConn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if c.rd != nil && c.active == 0 {
		c.rd.stop()
	}
}

// close ends the connection at once. Its tasks' contexts end.
func (c *ServerConn) close(err error) {
	c.cancel()
	c.mu.Lock()
	w, conn := c.w, c.conn
	c.mu.Unlock()
	if w != nil {
		w.fail(err)
		return
	}
	_ = conn.Close() // nobody has used it
}

func (c *ServerConn) lastWords(session ServerSession, head []byte, err error) {
	unit := newBuffer()
	unit.b = session.LastWords(head, err, unit.b)
	c.write(unit)
}

// linger sends what is queued, says that nothing more will come, and waits for
// the peer to close too.
func (c *ServerConn) linger() {
	defer c.conn.Close() //nolint:errcheck // everything was sent, or could not be
	if c.w.drain(context.Background()) != nil {
		return
	}
	half, ok := c.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.conn.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
		_, _ = io.Copy(io.Discard, c.conn) // any end will do
	}
}

// isNetError tells the connection's own errors from what the peer sent.
func isNetError(err error) bool {
	var op net.Error
	return errors.As(err, &op) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe)
}

func (c *ServerConn) warn(msg string, err error) {
	c.srv.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, msg,
		slog.String("remote", c.conn.RemoteAddr().String()), slog.String("reason", err.Error()))
}
