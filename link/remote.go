package link

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// A link between two processes.
//
// Each process has one end: a TCP stack, a shaper for what it sends and a queue
// for what it receives. Between them frames go over one loopback connection of
// the kernel, the carrier. A frame is shaped and sent the moment its packet
// leaves the stack, and carries the time at which it is due; it crosses to the
// other process while it waits there. So the carrier's own time (wake-ups, two
// system calls) is not added to the link's as long as it is shorter than the
// delay, and batches of packets cost one system call.
//
// The times are those of the host's clock. The joiner learns the difference of
// the two clocks from the quickest of several exchanges; what error is left
// makes one direction longer and the other shorter by the same, so a round
// trip is not touched by it.

const (
	greeting = "everywire link 1"
	// helloTimeout bounds the agreement of the two ends.
	helloTimeout = 5 * time.Second
	// clockRounds is how often the joiner asks for the host's time.
	clockRounds = 16
	// maxUnsent bounds what waits for the carrier in bytes: a process that is
	// stopped does not fill the memory of the other.
	maxUnsent = 32 << 20

	askClock, start = 'c', 'g'
)

// Host makes end B of a link to another process. The end may be used at once;
// packets that it sends before the other has joined are lost. join is what the
// other process gives to [Join]: a port of the loopback interface, and a secret,
// so that nobody else joins.
func Host(ctx context.Context, s Spec, opts ...Option) (e *End, join string, err error) {
	if err := s.Check(); err != nil {
		return nil, "", fmt.Errorf("link: %w", err)
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("link: %w", err)
	}
	if e, err = newEnd(s, newOptions(opts), fromB); err != nil {
		return nil, "", errors.Join(err, lis.Close())
	}
	h := &host{end: e, lis: lis, secret: rand.Text(), joined: make(chan struct{})}
	e.onClose = h.close
	go h.wait()
	return e, lis.Addr().String() + "/" + h.secret, nil
}

// host waits for the other process.
type host struct {
	end    *End
	lis    net.Listener
	secret string
	joined chan struct{} // closed when wait has ended

	mu      sync.Mutex
	closed  bool
	current net.Conn // whoever says hello
	carrier *carrier
}

func (h *host) wait() {
	defer close(h.joined)
	defer func() { _ = h.lis.Close() }() // one has joined, or the end is closed
	for {
		nc, err := h.lis.Accept()
		if err != nil {
			return
		}
		if !h.hold(nc) {
			return
		}
		r, err := h.hello(nc)
		if err != nil {
			_ = nc.Close() // a stranger, or one that was told why
			continue
		}
		h.mu.Lock()
		if !h.closed {
			h.carrier = newCarrier(h.end, nc, r, 0)
			h.carrier.run()
		}
		h.mu.Unlock()
		return
	}
}

// hold makes close interrupt the hello.
func (h *host) hold(nc net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = nc
	if h.closed {
		_ = nc.Close() // nothing was said
	}
	return !h.closed
}

// hello agrees with the other process on the spec and on the time.
func (h *host) hello(nc net.Conn) (*bufio.Reader, error) {
	if err := nc.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(nc, carrierBuffer)
	want := []string{greeting, h.secret, h.end.spec.String()}
	for i, w := range want {
		got, err := readLine(r)
		if err != nil {
			return nil, err
		}
		if subtle.ConstantTimeCompare([]byte(got), []byte(w)) == 0 {
			if i == len(want)-1 { // it knows the secret: tell it
				_, _ = io.WriteString(nc, "the link's host has "+w+"\n")
			}
			return nil, errors.New("link: not the expected hello")
		}
	}
	if _, err := io.WriteString(nc, "ok\n"); err != nil {
		return nil, err
	}
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case b == start:
			return r, nc.SetDeadline(time.Time{})
		case b != askClock:
			return nil, fmt.Errorf("link: %q in the hello", b)
		}
		if _, err := nc.Write(binary.BigEndian.AppendUint64(nil, uint64(h.end.clock.now()))); err != nil { //nolint:gosec // its bits
			return nil, err
		}
	}
}

func (h *host) close() {
	h.mu.Lock()
	h.closed = true
	_ = h.lis.Close() // wait closes it, too
	if h.current != nil {
		_ = h.current.Close() // ends the hello, or the carrier
	}
	h.mu.Unlock()
	<-h.joined
	if h.carrier != nil {
		h.carrier.close()
	}
}

// Join makes end A of the link that [Host] in another process of this machine
// has made. The spec must be the same there; seeds may differ, each end
// decides about what it sends.
func Join(ctx context.Context, join string, s Spec, opts ...Option) (*End, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	addr, secret, ok := strings.Cut(join, "/")
	if !ok {
		return nil, fmt.Errorf("link: %q is not what Host gave: it has no secret", join)
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("link: cannot join: %w", err)
	}
	o := newOptions(opts)
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	r, offset, err := hello(nc, o.clock, secret, s)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("link: cannot join: %w", err), nc.Close())
	}
	e, err := newEnd(s, o, fromA)
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	c := newCarrier(e, nc, r, offset)
	e.onClose = c.close
	c.run()
	return e, nil
}

// hello is the joiner's side; offset is what the host's clock shows more than
// this one.
func hello(nc net.Conn, c clock, secret string, s Spec) (r *bufio.Reader, offset int64, err error) {
	if err := nc.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, 0, err
	}
	if _, err := fmt.Fprintf(nc, "%s\n%s\n%s\n", greeting, secret, s); err != nil {
		return nil, 0, err
	}
	r = bufio.NewReaderSize(nc, carrierBuffer)
	switch answer, err := readLine(r); {
	case errors.Is(err, io.EOF):
		return nil, 0, errors.New("the host did not accept the secret")
	case err != nil:
		return nil, 0, err
	case answer != "ok":
		return nil, 0, fmt.Errorf("this end has %v and %s", s, answer)
	}
	var quickest int64
	for i := range clockRounds {
		var host [8]byte
		begin := c.now()
		if _, err := nc.Write([]byte{askClock}); err != nil {
			return nil, 0, err
		}
		if _, err := io.ReadFull(r, host[:]); err != nil {
			return nil, 0, err
		}
		if took := c.now() - begin; i == 0 || took < quickest {
			quickest = took
			offset = int64(binary.BigEndian.Uint64(host[:])) - (begin + took/2) //nolint:gosec // its bits
		}
	}
	if _, err := nc.Write([]byte{start}); err != nil {
		return nil, 0, err
	}
	return r, offset, nc.SetDeadline(time.Time{})
}

// readLine reads a short line of the hello.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	return strings.TrimSuffix(string(line), "\n"), err
}
