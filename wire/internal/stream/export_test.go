package stream

import "net"

// InFlight is what is under way on a connection: calls of this end, tasks of
// the peer's, and the bytes of their frames.
func (c *Conn) InFlight() (calls, tasks, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending), c.active, c.held
}

// Waiting is the number of goroutines that wait for another one that reads.
func (c *Conn) Waiting() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := c.waiters.newest; w != nil; w = w.older {
		n++
	}
	return n
}

// Queued is the number of bytes that wait to be written.
func (c *Conn) Queued() int {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return c.w.queued
}

// IsRead reports whether somebody reads.
func (c *Conn) IsRead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lead == reading
}

// Conn is the client's connection, nil if there is none.
func (c *Client) Conn() *Conn { return c.current.Load() }

// Conns is the number of connections that the client has.
func (c *Client) Conns() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.conns)
}

// WatchSleeps reports whether the watch looks at nothing.
func (c *Client) WatchSleeps() bool { return c.watch.sleeps() }

// WatchSleeps reports whether the watch looks at nothing.
func (s *Server) WatchSleeps() bool { return s.watch.sleeps() }

func (w *watch) sleeps() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns) == 0
}

// ServeConn serves one connection that was accepted elsewhere, until it ends.
func (s *Server) ServeConn(raw net.Conn) {
	if sc := s.start(raw); sc != nil {
		<-sc.closed
	}
}
