package stream

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// ClientConfigOf is the configuration of a target's client, but for Open. The options
// are reconnect and idle.
func ClientConfigOf(cfg *rpc.ClientConfig, alpn ...string) (ClientConfig, error) {
	_, perCall := cfg.Options["reconnect"]
	idle, err := idleOf(cfg.Options)
	return ClientConfig{
		Dial:     func(ctx context.Context) (net.Conn, error) { return cfg.Dial(ctx, alpn...) },
		MaxFrame: MaxFrame(cfg.Limits.MaxMessage, cfg.Limits),
		PerCall:  perCall,
		Timeouts: Timeouts{Idle: idle},
	}, err
}

// ServerConfigOf is the configuration of a target's server, but for Open. The
// option is idle.
func ServerConfigOf(cfg *rpc.ServerConfig, alpn ...string) (ServerConfig, error) {
	tls := cfg.TLS
	if tls != nil && len(alpn) > 0 {
		tls = rpc.WithProtocols(tls, alpn...)
	}
	idle, err := idleOf(cfg.Options)
	return ServerConfig{
		MaxFrame:    MaxFrame(cfg.Limits.MaxMessage, cfg.Limits),
		MaxInFlight: cfg.Limits.MaxInFlight,
		TLS:         tls,
		Logger:      cfg.Logger,
		Timeouts:    Timeouts{Idle: idle},
	}, err
}

func idleOf(options rpc.Options) (time.Duration, error) {
	v, ok := options["idle"]
	if !ok {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Millisecond {
		return 0, fmt.Errorf("option idle: %q is not a time of 1ms or more, such as 30s or 5m", v)
	}
	return d, nil
}
