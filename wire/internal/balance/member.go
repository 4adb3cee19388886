package balance

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	// maxWait is how long a call waits for a connection to an address that could be
	// reached before, if there is another one. A packet that is lost is sent again
	// after a second.
	maxWait = 2 * time.Second
	// dialTimeout bounds one attempt of the balancer's own, as in gRPC.
	dialTimeout = 20 * time.Second
	// freshFor is how long the connection by which an address was reached is kept for
	// its first call. A server may close one on which nothing comes.
	freshFor = time.Second
	// The pauses between attempts begin with minPause and double up to maxPause.
	minPause = 10 * time.Millisecond
	maxPause = time.Second
)

// condition says what is known of an address.
type condition uint8

const (
	untried condition = iota // the first attempt to reach it is under way
	ready                    // it takes calls
	down                     // it could not be reached
)

// A member is one address and the wire's connection to it.
type member struct {
	host  rpc.Host
	conn  rpc.Conn
	of    *balancer
	fails atomic.Int32 // since the last call that somebody answered
	calls sync.WaitGroup

	// Of balancer.mu.
	is      condition
	err     error // why it could not be reached
	removed bool

	once   sync.Once // closes conn
	closed error     // what that said

	mu    sync.Mutex
	spare net.Conn // nil if there is none
	timer *time.Timer
}

// newMember makes the wire's connection to an address. Its name, for certificates and
// the Host of HTTP, is the one that was written.
func (b *balancer) newMember(h rpc.Host) (*member, error) {
	m := &member{host: h, of: b}
	cfg := *b.cfg
	cfg.Addrs = []string{h.Written}
	cfg.DialAddr = m.dial
	var err error
	m.conn, err = b.make(&cfg)
	return m, err
}

// dial is how the wire reaches the address.
func (m *member) dial(ctx context.Context, _ string) (net.Conn, error) {
	if conn := m.takeSpare(); conn != nil {
		return conn, nil
	}
	if !m.of.hasOther(m) {
		return m.of.cfg.DialAddr(ctx, m.host.Addr)
	}
	bounded, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	conn, err := m.of.cfg.DialAddr(bounded, m.host.Addr)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		err = fmt.Errorf("%s did not answer within %v", m.host.Addr, maxWait)
	}
	return conn, err
}

// reach tries until the address can be reached, or the balancer ends.
func (m *member) reach(ctx context.Context) {
	for ctx.Err() == nil && !m.of.isRemoved(m) {
		if n := m.fails.Load(); n > 0 {
			pause(ctx, min(minPause<<min(n-1, 16), maxPause))
		}
		bounded, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := m.of.cfg.DialAddr(bounded, m.host.Addr)
		cancel()
		if err == nil {
			m.keepSpare(conn)
			m.of.reached(m)
			return
		}
		m.fails.Add(1)
		m.of.missed(m, &rpc.DialError{Target: m.of.cfg.Target, Err: err})
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// keepSpare keeps a connection for the first call, for a while.
func (m *member) keepSpare(conn net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spare = conn
	m.timer = time.AfterFunc(freshFor, m.dropSpare)
}

func (m *member) takeSpare() net.Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	conn := m.spare
	if conn != nil {
		m.spare = nil
		m.timer.Stop()
	}
	return conn
}

func (m *member) dropSpare() {
	if conn := m.takeSpare(); conn != nil {
		_ = conn.Close() // nobody has used it
	}
}

// close ends the calls at the address, and its connections.
func (m *member) close() error {
	m.dropSpare()
	m.once.Do(func() { m.closed = m.conn.Close() })
	return m.closed
}
