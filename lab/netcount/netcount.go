// Package netcount counts what crosses a client's sockets: payload bytes
// exactly, and on Linux the TCP segments and so the bytes on the wire.
//
// A [Counter] wraps a dial function. Payload bytes are those that the program
// writes and reads. Segments are the kernel's own count of one connection
// (TCP_INFO, tcpi_segs_out and tcpi_segs_in of Linux 4.2, tcpi_bytes_sent of
// 4.19): data, pure ACKs and the opening handshake alike.
//
// Bytes on the wire are payload, retransmissions of ours, and for each segment
// an IP header (20 bytes for IPv4, 40 for IPv6), a TCP header (20), and the
// timestamps option (12) if the connection negotiated it. The longer options of
// SYN and SYN-ACK are added once a connection. What is not seen: the closing
// handshake after Close (usually two segments each way), the peer's
// retransmissions, selective-acknowledgement blocks, Ethernet headers. Segments
// are those of the link in use: loopback carries up to 64 KiB in one where
// Ethernet carries 1448 bytes.
package netcount

import (
	"context"
	"net"
	"sync"

	"github.com/everywire/everywire/lab/record"
)

// Dial opens a connection to host:port.
type Dial = func(ctx context.Context, addr string) (net.Conn, error)

// A Counter sums over the connections that were dialled through it. Its zero
// value is ready.
type Counter struct {
	mu     sync.Mutex
	conns  int64
	closed record.Net
	open   map[source]struct{}
}

// source is a connection that can tell what has crossed it so far; Conns of
// its answer is not used.
type source interface {
	count() record.Net
}

// Wrap returns a dial function whose connections are counted. They are
// ordinary net.Conns.
func (c *Counter) Wrap(dial Dial) Dial {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		nc, err := dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		wrapped := c.wrap(nc)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil {
			c.open = map[source]struct{}{}
		}
		c.conns++
		c.open[wrapped.(source)] = struct{}{}
		return wrapped, nil
	}
}

// Snapshot is what has crossed all connections so far, open and closed. It is
// exact while nothing is in flight.
func (c *Counter) Snapshot() record.Net {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.closed
	for s := range c.open {
		add(&sum, s.count())
	}
	sum.Conns = c.conns
	return sum
}

// close takes the last count of a connection, once. The connection calls it
// before it closes its socket.
func (c *Counter) close(s source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.open[s]; ok {
		delete(c.open, s)
		add(&c.closed, s.count())
	}
}

// Between is what crossed the sockets between two snapshots.
func Between(before, after record.Net) record.Net {
	return record.Net{
		Conns:      after.Conns - before.Conns,
		PayloadOut: after.PayloadOut - before.PayloadOut,
		PayloadIn:  after.PayloadIn - before.PayloadIn,
		PacketsOut: less(after.PacketsOut, before.PacketsOut),
		PacketsIn:  less(after.PacketsIn, before.PacketsIn),
		WireOut:    less(after.WireOut, before.WireOut),
		WireIn:     less(after.WireIn, before.WireIn),
	}
}

// Sum is what several counters have counted.
func Sum(a, b record.Net) record.Net {
	sum := a
	add(&sum, b)
	sum.Conns += b.Conns
	return sum
}

func add(sum *record.Net, n record.Net) {
	sum.PayloadOut += n.PayloadOut
	sum.PayloadIn += n.PayloadIn
	sum.PacketsOut = plus(sum.PacketsOut, n.PacketsOut)
	sum.PacketsIn = plus(sum.PacketsIn, n.PacketsIn)
	sum.WireOut = plus(sum.WireOut, n.WireOut)
	sum.WireIn = plus(sum.WireIn, n.WireIn)
}

// plus and less keep -1, which stands for not known.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

func less(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a - b
}
