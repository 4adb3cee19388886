package cluster

import (
	"fmt"
	"net/netip"
	"regexp"
)

// A Protocol is what NGINX understands of the calls that it passes on.
type Protocol string

// The protocols.
const (
	// HTTP passes on each request of HTTP/1.1 to a backend of its own.
	HTTP Protocol = "http"
	// GRPC does so with each call of gRPC, by HTTP/2.
	GRPC Protocol = "grpc"
	// Stream passes on the bytes of a TCP connection, all to one backend.
	Stream Protocol = "stream"
)

// Config says what NGINX does.
type Config struct {
	Protocol Protocol
	// Backends are addresses with ports, such as 127.0.0.1:8080: at least one. Calls
	// go round them.
	Backends []string
	// KeepAlive is how many idle connections to the backends each worker keeps. With
	// 0 every call has a connection of its own: of HTTP/1.0 for HTTP, which is what
	// NGINX did by default before 1.29.7. A stream has no such thing.
	KeepAlive int
	// TLS is had by clients and by backends, or by neither. NGINX makes itself a
	// certificate, see [Nginx.CA]. A stream is not looked into: it passes on whatever
	// TLS client and backend have between them.
	TLS bool
	// BackendCA are the PEM certificates that those of the backends come from, or
	// are. They must be for the name ServerName, "localhost" by default.
	BackendCA  []byte
	ServerName string
	// Workers is how many processes pass calls on, 1 by default.
	Workers int
	// Cores are those that NGINX may run on; any if there are none.
	Cores []int
	// Log keeps the access log that [Nginx.Counts] is made from. It costs NGINX a
	// write for each call.
	Log bool
	// FailTimeout is for how many whole seconds a backend is left out after it could
	// not be reached, 10 by default, which is NGINX's own.
	FailTimeout int
}

// hostName are names of hosts, which mean nothing else in NGINX's grammar.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// The bounds of what is asked for.
const (
	maxBackends  = 1000
	maxWorkers   = 1000
	maxKeepAlive = 100_000
)

// withDefaults checks the configuration and fills in what is not said. What it
// lets through can stand in a configuration file as it is.
func (c Config) withDefaults() (Config, error) {
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.FailTimeout == 0 {
		c.FailTimeout = 10
	}
	if c.ServerName == "" {
		c.ServerName = "localhost"
	}
	switch {
	case c.Protocol != HTTP && c.Protocol != GRPC && c.Protocol != Stream:
		return c, fmt.Errorf("cluster: there is no protocol %q: want %s, %s or %s", c.Protocol, HTTP, GRPC, Stream)
	case c.Protocol == Stream && (c.TLS || c.KeepAlive != 0):
		return c, fmt.Errorf("cluster: a stream is passed on as it is: TLS is between client and backend, and no connection is kept for others")
	case c.KeepAlive < 0 || c.KeepAlive > maxKeepAlive:
		return c, fmt.Errorf("cluster: %d connections kept alive: want 0 to %d", c.KeepAlive, maxKeepAlive)
	case c.Workers < 0 || c.Workers > maxWorkers:
		return c, fmt.Errorf("cluster: %d workers: want 1 to %d", c.Workers, maxWorkers)
	case c.FailTimeout < 0:
		return c, fmt.Errorf("cluster: a backend is left out for %d seconds", c.FailTimeout)
	case c.TLS && len(c.BackendCA) == 0:
		return c, fmt.Errorf("cluster: with TLS the backends' certificates are needed, which NGINX checks")
	case !hostName.MatchString(c.ServerName):
		return c, fmt.Errorf("cluster: %q is no name of a server", c.ServerName)
	}
	return c, checkBackends(c.Backends)
}

// checkBackends wants addresses, not names: of a name NGINX would make as many
// backends as it has addresses, and count them by those.
func checkBackends(backends []string) error {
	if len(backends) == 0 || len(backends) > maxBackends {
		return fmt.Errorf("cluster: %d backends: want 1 to %d", len(backends), maxBackends)
	}
	for _, b := range backends {
		at, err := netip.ParseAddrPort(b)
		if err != nil || at.Port() == 0 || at.Addr().Zone() != "" || at.String() != b {
			return fmt.Errorf("cluster: the backend %q is not an address with a port, such as 127.0.0.1:8080 or [::1]:8080", b)
		}
	}
	return nil
}
