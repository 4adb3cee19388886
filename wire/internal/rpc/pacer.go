package rpc

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

const (
	// After the second attempt to reach a server that failed in a row, the next
	// one is made no sooner than firstPause later; then the pause doubles.
	firstPause = 10 * time.Millisecond
	maxPause   = time.Second
)

// A Pacer spaces the attempts to reach a server that could not be reached, so
// that clients that call and call do not hammer it. Calls that come too early
// fail as the last attempt did. Its zero value is ready to use.
type Pacer struct {
	mu      sync.Mutex
	fails   int       // attempts that failed in a row
	again   time.Time // before which no new attempt is made
	lastErr error     // of the last attempt
}

// Begin is called before an attempt: it returns nil, or the error to fail with
// because it is too early. One attempt at a time is made after several failed.
func (p *Pacer) Begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails < 2 {
		return nil
	}
	if now := time.Now(); now.Before(p.again) {
		return p.lastErr
	}
	p.wait()
	return nil
}

// wait sets when the next attempt may be made. p.mu is held.
func (p *Pacer) wait() {
	pause := min(firstPause<<min(p.fails-2, 16), maxPause)
	p.again = time.Now().Add(pause/2 + rand.N(pause/2)) //nolint:gosec // no secret
}

// End tells how an attempt ended.
func (p *Pacer) End(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.fails = 0
		return
	}
	p.lastErr = err
	if p.fails++; p.fails > 1 {
		p.wait()
	}
}

// Dial makes an attempt with dial, if it is time for one. One that ctx has ended
// says nothing about the server.
func (p *Pacer) Dial(ctx context.Context, dial func(ctx context.Context) (net.Conn, error)) (net.Conn, error) {
	if err := p.Begin(); err != nil {
		return nil, err
	}
	conn, err := dial(ctx)
	if err == nil || ctx.Err() == nil {
		p.End(err)
	}
	return conn, err
}
