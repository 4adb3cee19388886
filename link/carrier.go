package link

import (
	"bufio"
	"net"
	"sync"
)

const carrierBuffer = 64 << 10

// A carrier takes an end's frames to the other process and brings those of the
// other.
type carrier struct {
	end    *End
	conn   net.Conn
	r      *bufio.Reader
	offset int64 // what the host's clock shows more than this process's

	wake chan struct{} // capacity 1: there is something to write, or the end
	wg   sync.WaitGroup

	mu     sync.Mutex
	unsent []byte
	closed bool
}

// newCarrier makes a carrier; nothing moves before run.
func newCarrier(e *End, conn net.Conn, r *bufio.Reader, offset int64) *carrier {
	return &carrier{end: e, conn: conn, r: r, offset: offset, wake: make(chan struct{}, 1)}
}

func (c *carrier) run() {
	c.wg.Go(c.read)
	c.wg.Go(c.write)
	c.end.join(c.carry)
}

// carry is called under the end's lock and must not wait: it leaves the frame
// to write.
func (c *carrier) carry(f frame) {
	f.due += c.offset
	c.mu.Lock()
	if c.closed || len(c.unsent) > maxUnsent {
		c.mu.Unlock()
		if f.kind == framePacket {
			c.end.sent.drop(frameOverflowed)
		}
		return
	}
	c.unsent = appendFrame(c.unsent, f)
	c.mu.Unlock()
	c.signal()
}

func (c *carrier) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *carrier) write() {
	var spare []byte
	for range c.wake {
		c.mu.Lock()
		out, closed := c.unsent, c.closed
		c.unsent = spare[:0]
		c.mu.Unlock()
		if closed {
			return
		}
		if _, err := c.conn.Write(out); err != nil {
			c.lost()
			return
		}
		if spare = out; cap(spare) > 1<<20 {
			spare = nil // a burst should not stay
		}
	}
}

func (c *carrier) read() {
	for {
		f, err := readFrame(c.r)
		if err != nil {
			c.lost()
			return
		}
		f.due -= c.offset
		c.end.arrive(f)
	}
}

// lost closes the end, from a goroutine that its closing does not wait for: the
// other process has gone, or speaks nonsense, and connections to it must not
// wait for it.
func (c *carrier) lost() {
	go func() { _ = c.end.Close() }() // it has no error
}

func (c *carrier) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	_ = c.conn.Close() // ends read and write
	c.signal()
	c.wg.Wait()
}
