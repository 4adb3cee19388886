package http1

import (
	"errors"
	"os"
	"time"
)

// beginStandby starts the standby beside a handler that takes long, unless it
// has ended; s is the state in which it was seen.
func (c *conn) beginStandby(s uint64) {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if !c.state.CompareAndSwap(s, s|standby) {
		return
	}
	c.stopping = false
	c.stood = make(chan struct{})
	c.readUntil(time.Time{})
	go c.stand(c.current.Load(), c.stood)
}

// stand reads until the client has gone, which ends the context of x, or until
// there is no room.
func (c *conn) stand(x *exchange, stood chan struct{}) {
	defer close(stood)
	if c.w == len(c.in) {
		// What is before r may be a body that came with its head.
		in := make([]byte, c.w-c.r+readSize)
		c.w = copy(in, c.in[c.r:c.w])
		c.r, c.in = 0, in
	}
	for c.w < len(c.in) {
		n, err := c.raw.Read(c.in[c.w:])
		c.w += n
		if err == nil {
			continue
		}
		c.deadlines.Lock()
		stopping := c.stopping
		c.deadlines.Unlock()
		if !stopping || !errors.Is(err, os.ErrDeadlineExceeded) {
			x.ctx.cancel()
		}
		return
	}
}

// stopStandby ends the standby and takes the buffer back.
func (c *conn) stopStandby() {
	c.deadlines.Lock()
	c.stopping = true
	_ = c.raw.SetReadDeadline(longAgo) // fails only if the connection is gone, which ends the standby too
	stood := c.stood
	c.deadlines.Unlock()
	<-stood
	c.readBy = time.Time{} // the next reader sets its own
}
