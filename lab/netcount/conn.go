package netcount

import (
	"net"
	"sync/atomic"

	"github.com/everywire/everywire/lab/record"
)

// conn counts at Read and Write. It serves where the kernel does not count:
// other systems than Linux, and sockets other than TCP.
type conn struct {
	net.Conn
	counter *Counter
	in, out atomic.Int64
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}

func (c *conn) Close() error {
	c.counter.close(c)
	return c.Conn.Close()
}

func (c *conn) count() record.Net {
	return record.Net{
		PayloadOut: c.out.Load(), PayloadIn: c.in.Load(),
		PacketsOut: -1, PacketsIn: -1, WireOut: -1, WireIn: -1,
	}
}
