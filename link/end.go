package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// The addresses of the ends, from the block that RFC 2544 sets aside for
// measurements of networks.
var (
	addrA = netip.AddrFrom4([4]byte{198, 18, 0, 1})
	addrB = netip.AddrFrom4([4]byte{198, 18, 0, 2})
)

// An End is one of the two ends of a link: a host with a TCP of its own and one
// address. Its methods may be called by several goroutines at once.
type End struct {
	spec       Spec
	clock      clock
	addr, peer netip.Addr
	stack      *stack.Stack
	port       *port
	in         *queue // towards this end

	// sent and got count packets of the two directions.
	sent, got counter

	mu     sync.Mutex // makes packets leave in the order in which they were shaped
	shaper *shaper
	carry  func(frame) // to the other end; nil until it has joined

	pings pings

	closing sync.Once
	gone    chan struct{} // closed when the end is
	// onClose ends what carries frames to the other end.
	onClose func()
}

func newEnd(s Spec, o *options, from direction) (*End, error) {
	e := &End{spec: s, clock: o.clock, addr: addrA, peer: addrB, gone: make(chan struct{}), onClose: func() {}}
	if from == fromB {
		e.addr, e.peer = addrB, addrA
	}
	e.port = &port{end: e}
	e.shaper = newShaper(s, o.seed, from)
	var err error
	if e.stack, err = newStack(e, o.clock); err != nil {
		return nil, err
	}
	e.in = newQueue(o.clock, e.deliver)
	return e, nil
}

// Addr is the end's address.
func (e *End) Addr() netip.Addr { return e.addr }

// Peer is the address of the other end.
func (e *End) Peer() netip.Addr { return e.peer }

// Spec is what the link was asked to do.
func (e *End) Spec() Spec { return e.spec }

// join says where frames go.
func (e *End) join(carry func(frame)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.carry = carry
}

// send puts a packet of the stack on the link.
func (e *End) send(packet []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.carry == nil {
		return // a cable without another end
	}
	e.sent.packet(packet)
	due, v := e.shaper.packet(e.clock.now(), len(packet))
	switch v {
	case delivered:
		e.carry(frame{kind: framePacket, due: due, data: packet})
	case lost:
		e.sent.drop(frameLost)
		e.carry(frame{kind: frameLost})
	case overflowed:
		e.sent.drop(frameOverflowed)
		e.carry(frame{kind: frameOverflowed})
	}
}

// arrive takes a frame of the other end, before it is due.
func (e *End) arrive(f frame) {
	switch f.kind {
	case frameLost, frameOverflowed:
		e.got.drop(f.kind)
	default:
		e.in.push(f)
	}
}

// deliver takes a frame when it is due.
func (e *End) deliver(f frame) {
	switch f.kind {
	case framePacket:
		e.got.packet(f.data)
		e.port.inject(f.data)
	case frameProbe:
		e.probe(frameEcho, f.data)
	case frameEcho:
		e.pings.answer(binary.BigEndian.Uint64(f.data))
	}
}

func (e *End) probe(k frameKind, number []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.carry != nil {
		e.carry(frame{kind: k, due: e.shaper.probe(e.clock.now()), data: number})
	}
}

// Ping measures the round-trip time that the link achieves: through its two
// queues, without the TCPs. On a busy link with a rate it holds the time spent
// behind other packets.
func (e *End) Ping(ctx context.Context) (time.Duration, error) {
	number, answered := e.pings.begin()
	defer e.pings.end(number)
	begin := e.clock.now()
	e.probe(frameProbe, binary.BigEndian.AppendUint64(nil, number))
	select {
	case <-answered:
		return time.Duration(e.clock.now() - begin), nil
	case <-e.gone:
		return 0, fmt.Errorf("link: ping: %w", net.ErrClosed)
	case <-ctx.Done():
		return 0, fmt.Errorf("link: ping: %w", context.Cause(ctx))
	}
}

// pings are the probes that are out.
type pings struct {
	mu   sync.Mutex
	last uint64
	out  map[uint64]chan struct{}
}

func (p *pings) begin() (uint64, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		p.out = map[uint64]chan struct{}{}
	}
	p.last++
	answered := make(chan struct{})
	p.out[p.last] = answered
	return p.last, answered
}

func (p *pings) answer(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answered, ok := p.out[number]; ok {
		delete(p.out, number)
		close(answered)
	}
}

func (p *pings) end(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.out, number)
}

// Stats is what an end has seen so far.
type Stats struct {
	// Out is what this end sent, dropped packets included. In is what reached
	// it; In.Lost and In.Overflowed are packets that the other end sent and that
	// did not.
	Out Traffic `json:"out"`
	In  Traffic `json:"in"`
	// Retransmits are segments that this end's TCP sent again.
	Retransmits int64 `json:"retransmits"`
	// LateMean and LateMax say how much later than due packets were given to
	// this end's TCP: the error of the emulation. LateMax is since the start.
	LateMean time.Duration `json:"late_mean_ns"`
	LateMax  time.Duration `json:"late_max_ns"`

	late lateness
}

// Stats returns the counts so far.
func (e *End) Stats() Stats {
	s := Stats{
		Out: e.sent.snapshot(), In: e.got.snapshot(),
		Retransmits: int64(e.stack.Stats().TCP.Retransmits.Value()), //nolint:gosec // a count
		late:        e.in.lateness(),
	}
	s.LateMax = s.late.max
	s.LateMean = s.late.mean()
	return s
}

func (l lateness) mean() time.Duration {
	if l.count == 0 {
		return 0
	}
	return l.sum / time.Duration(l.count)
}

// Minus is what an end saw since earlier; LateMax stays what it is.
func (s Stats) Minus(earlier Stats) Stats {
	s.Out, s.In = s.Out.Minus(earlier.Out), s.In.Minus(earlier.In)
	s.Retransmits -= earlier.Retransmits
	s.late.count -= earlier.late.count
	s.late.sum -= earlier.late.sum
	s.LateMean = s.late.mean()
	return s
}

// Close resets the end's connections, closes its listeners, and leaves the
// link. It may be called more than once. The end of a link that is in two
// processes closes by itself when the other process has gone.
func (e *End) Close() error {
	e.closing.Do(func() {
		close(e.gone)
		e.join(nil)
		e.onClose()
		e.stack.Close()
		e.in.close()
		e.stack.Wait()
	})
	return nil
}

// address reads host:port, where host is the address want, or also empty if
// any is allowed.
func (e *End) address(op, network, addr string, want netip.Addr, anyHost bool) (port uint16, err error) {
	fail := func(format string, args ...any) (uint16, error) {
		return 0, &net.OpError{Op: op, Net: network, Err: &net.AddrError{Err: fmt.Sprintf(format, args...), Addr: addr}}
	}
	if network != "tcp" && network != "tcp4" {
		return 0, &net.OpError{Op: op, Net: network, Err: fmt.Errorf("an emulated link carries tcp, not %s", network)}
	}
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, &net.OpError{Op: op, Net: network, Err: err}
	}
	number, err := net.LookupPort("tcp", service) //nolint:noctx // numbers only: see below
	if err != nil {
		return fail("not a port")
	}
	if host == "" && anyHost {
		return uint16(number), nil //nolint:gosec // LookupPort bounds it
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil && ip.Unmap() == want, err == nil && anyHost && ip.IsUnspecified():
		return uint16(number), nil //nolint:gosec // LookupPort bounds it
	case err == nil && ip.Unmap() == e.addr:
		return fail("this is the end itself; the other end of the link is %v", e.peer)
	}
	return fail("not an address of this link; %s", map[bool]string{
		true:  "this end is " + e.addr.String(),
		false: "the other end is " + e.peer.String(),
	}[anyHost])
}

var errEndClosed = errors.New("the end of the link is closed")
