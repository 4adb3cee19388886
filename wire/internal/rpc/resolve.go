package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// A Host is one address of a target as it was written, and one at which it is found:
// the same, or for a name one of those that it has.
type Host struct{ Written, Addr string }

// HasNames reports whether an address of the target is to be looked up.
func (c *ClientConfig) HasNames() bool {
	for _, addr := range c.Addrs {
		if _, _, isName := c.nameOf(addr); isName {
			return true
		}
	}
	return false
}

// nameOf splits an address whose host is to be looked up.
func (c *ClientConfig) nameOf(addr string) (host, port string, isName bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || c.Lookup == nil {
		return "", "", false
	}
	_, err = netip.ParseAddr(host)
	return host, port, err != nil
}

// Resolve finds the addresses of all, in the order in which they are written. The
// error tells of those that have none; the others are returned all the same.
func (c *ClientConfig) Resolve(ctx context.Context) (hosts []Host, err error) {
	for _, addr := range c.Addrs {
		host, port, isName := c.nameOf(addr)
		if !isName {
			hosts = append(hosts, Host{addr, addr})
			continue
		}
		ips, e := c.Lookup(ctx, host)
		if e == nil && len(ips) == 0 {
			e = fmt.Errorf("%s has no address", host)
		}
		err = errors.Join(err, e)
		for _, ip := range ips {
			hosts = append(hosts, Host{addr, net.JoinHostPort(ip, port)})
		}
	}
	return hosts, err
}
