package roundtrip

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// A Transport is an http.RoundTripper over HTTP/1.1 to one server. Its fields
// must not change once it is used.
type Transport struct {
	// Dial opens a connection, with the TLS handshake done.
	Dial func(ctx context.Context) (net.Conn, error)
	// MaxIdle is how many connections are kept for later calls; with 0 every
	// call has one of its own, and says Connection: close.
	MaxIdle int
	// IdleTimeout is how long they are kept; 0 is for ever.
	IdleTimeout time.Duration
	// MaxHead is the longest head of a response, in bytes.
	MaxHead int

	mu      sync.Mutex
	idle    []*conn // the one used last is the last
	reaper  *time.Timer
	open    map[*conn]struct{}
	dialing map[*context.CancelFunc]struct{}
	closed  bool
}

// ErrClosed is the error of calls on a Transport that was closed.
var ErrClosed = errors.New("the connection was closed by its owner")

// RoundTrip is [http.RoundTripper]'s. An error of Dial is returned as it is.
//
// A request is sent again, on a new connection, if the kept one that it was sent
// on turns out to have been closed before: when nothing of it was written, or
// when it may run twice and no byte of a response came (RFC 9112, section
// 9.3.1). May run twice what has a safe method or an Idempotency-Key.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	var earlier error // of a connection that the request was written to
	for {
		c, err := t.take(r.Context())
		if err != nil {
			return nil, rpc.After(earlier, err)
		}
		if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.Conn, Reused: c.used})
		}
		res, err := c.roundTrip(r, body)
		if err == nil {
			return res, nil
		}
		c.close()
		var stale *staleError
		if !errors.As(err, &stale) || stale.written && !MayRepeat(r) || r.Context().Err() != nil {
			return nil, t.cause(r.Context(), err)
		}
		if stale.written {
			earlier = stale.err
		}
	}
}

// cause says why a call failed: its own end, or that of the Transport, closes
// the connection, and what comes of that is not what to tell.
func (t *Transport) cause(ctx context.Context, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

// MayRepeat reports whether a request may be sent again though it may have been
// answered: what [Transport.RoundTrip] and net/http do when a connection breaks.
func MayRepeat(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return len(r.Header["Idempotency-Key"]) > 0
}

// take returns a kept connection that still seems to be open, or a new one.
func (t *Transport) take(ctx context.Context) (*conn, error) {
	for {
		t.mu.Lock()
		if t.closed {
			t.mu.Unlock()
			return nil, ErrClosed
		}
		n := len(t.idle)
		if n == 0 {
			t.mu.Unlock()
			return t.dial(ctx)
		}
		c := t.idle[n-1]
		t.idle[n-1] = nil
		t.idle = t.idle[:n-1]
		t.mu.Unlock()
		if c.fresh() {
			return c, nil
		}
		c.close()
	}
}

func (t *Transport) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, ErrClosed
	}
	if t.open == nil {
		t.open, t.dialing = map[*conn]struct{}{}, map[*context.CancelFunc]struct{}{}
	}
	t.dialing[&cancel] = struct{}{}
	t.mu.Unlock()

	raw, err := t.Dial(ctx)

	t.mu.Lock()
	delete(t.dialing, &cancel)
	if t.closed {
		t.mu.Unlock() // TLS may take seconds to close
		if err == nil {
			_ = raw.Close() // nobody has used it
		}
		return nil, ErrClosed
	}
	defer t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, transport: t}
	t.open[c] = struct{}{}
	return c, nil
}

// keep puts a connection whose response has been read back.
func (t *Transport) keep(c *conn) {
	t.mu.Lock()
	if t.closed || len(t.idle) >= t.MaxIdle {
		t.mu.Unlock()
		c.close()
		return
	}
	c.since = time.Now()
	t.idle = append(t.idle, c)
	if t.IdleTimeout > 0 && t.reaper == nil {
		t.reaper = time.AfterFunc(t.IdleTimeout, t.reap)
	}
	t.mu.Unlock()
}

// reap closes connections that have been idle for too long. It runs again as
// long as there are any.
func (t *Transport) reap() {
	t.mu.Lock()
	now := time.Now()
	old := 0
	for old < len(t.idle) && now.Sub(t.idle[old].since) >= t.IdleTimeout {
		old++
	}
	closing := append([]*conn(nil), t.idle[:old]...)
	left := copy(t.idle, t.idle[old:])
	clear(t.idle[left:])
	t.idle = t.idle[:left]
	if left > 0 {
		t.reaper.Reset(t.IdleTimeout - now.Sub(t.idle[0].since))
	} else {
		t.reaper = nil
	}
	t.mu.Unlock()
	for _, c := range closing {
		c.close()
	}
}

// Close closes all connections. Calls under way, and later ones, fail with
// [ErrClosed].
func (t *Transport) Close() {
	t.mu.Lock()
	t.closed = true
	if t.reaper != nil {
		t.reaper.Stop()
	}
	for cancel := range t.dialing {
		(*cancel)()
	}
	open := t.open
	t.open, t.idle = nil, nil
	t.mu.Unlock()
	for c := range open {
		_ = c.Close() // whoever uses it learns of it
	}
}

// forget removes a connection that is closed.
func (t *Transport) forget(c *conn) {
	t.mu.Lock()
	delete(t.open, c)
	t.mu.Unlock()
}
