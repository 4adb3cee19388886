//go:build !linux

package netcount

import "net"

func (c *Counter) wrap(nc net.Conn) net.Conn { return &conn{Conn: nc, counter: c} }
