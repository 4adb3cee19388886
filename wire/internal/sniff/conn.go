package sniff

import (
	"crypto/tls"
	"errors"
	"net"
)

// A Conn is a connection of which some has been read already, and is read again.
//
// On HTTP/2 it also leaves out the acknowledgements of SETTINGS that belong to
// what was said before it was handed over, see [Server]. There at most one
// goroutine may write at a time, as the servers of HTTP/2 do.
type Conn struct {
	net.Conn
	replay  []byte
	in, out *ackFilter // nil if everything passes
	unsent  []byte     // room for what passes out
}

// A secureConn is a Conn on TLS. Its method tells rpc.PeerOf, and net/http's
// server of HTTP/2, that it is.
type secureConn struct {
	*Conn
	tls interface{ ConnectionState() tls.ConnectionState }
}

func (c secureConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// Unread makes a connection that reads again what was read of it already.
func Unread(conn net.Conn, read []byte) net.Conn { return disguise(&Conn{Conn: conn, replay: read}) }

// disguise gives c the method of what it wraps.
func disguise(c *Conn) net.Conn {
	if secure, ok := c.Conn.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return secureConn{c, secure}
	}
	return c
}

// Read is [net.Conn]'s. It does not wait for more than was read before.
func (c *Conn) Read(b []byte) (int, error) {
	for len(c.replay) == 0 && c.in != nil && len(b) > 0 {
		n, err := c.Conn.Read(b)
		c.replay = c.in.apply(nil, b[:n])
		if c.in.isOver() {
			c.in = nil
		}
		if err != nil && len(c.replay) == 0 {
			return 0, err // with something before it, it comes again
		}
	}
	if len(c.replay) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.replay)
	if c.replay = c.replay[n:]; len(c.replay) == 0 {
		c.replay = nil
	}
	return n, nil
}

// Write is [net.Conn]'s.
func (c *Conn) Write(b []byte) (int, error) {
	if c.out == nil {
		return c.Conn.Write(b)
	}
	c.unsent = c.out.apply(c.unsent[:0], b)
	if len(c.unsent) > 0 {
		if _, err := c.Conn.Write(c.unsent); err != nil {
			return 0, err
		}
	}
	if c.out.isOver() {
		c.out, c.unsent = nil, nil
	}
	return len(b), nil
}

// Buffered is how many bytes are read again before the connection's own.
func (c *Conn) Buffered() int { return len(c.replay) }

// CloseWrite says that nothing more will be written, where there is a way to.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// NetConn is the connection that this one wraps, as with a *tls.Conn.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// WritesTo is the connection that writes may go to as well: with a socket's own
// type they can do more.
func (c *Conn) WritesTo() net.Conn {
	if c.out != nil {
		return c
	}
	return c.Conn
}
