package main

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/resilience"
	"github.com/everywire/everywire/service/relay"
	"github.com/everywire/everywire/service/sample"
	"github.com/everywire/everywire/wire"
)

// relayFlags are those of the services sample and relay, of which the second calls
// the first.
type relayFlags struct {
	Delay    *time.Duration `placeholder:"10ms" help:"sample: how long it takes to answer (default 10ms)."`
	Upstream string         `placeholder:"TARGET" help:"relay: where the service sample is that it calls, such as grpc://localhost:9090."`
	FanOut   bool           `help:"relay: ask for the three parts at once, and merge the replies."`
	Attempts int            `placeholder:"1" help:"relay: how often a call of the upstream is made at most, with pauses between (default 1)."`
}

// An upstream is what relay calls.
type upstream struct {
	conn   *wire.Conn
	guard  *resilience.Guard // nil if calls are made once
	logger *slog.Logger
}

// sampleOptions are sample's options of the flags.
func (f *relayFlags) sampleOptions() sample.Options {
	if f.Delay == nil {
		return sample.Options{Delay: sample.DefaultDelay}
	}
	return sample.Options{Delay: *f.Delay}
}

// checkRelay refuses flags that the services cannot have.
func (f *relayFlags) checkRelay(services []string) error {
	relays, others := slices.Contains(services, "relay"), f.Upstream != "" || f.FanOut || f.Attempts != 0
	switch {
	case f.Delay != nil && !slices.Contains(services, "sample"):
		return usagef("--delay is for the service sample")
	case f.Delay != nil && *f.Delay < 0:
		return usagef("--delay %v: want none, 0s, or more", *f.Delay)
	case !relays && others:
		return usagef("--upstream, --fan-out and --attempts are for the service relay")
	case relays && f.Upstream == "":
		return usagef("the service relay calls another: say by --upstream TARGET where the service sample is")
	case f.Attempts < 0 || f.Attempts > 100:
		return usagef("--attempts %d: want 1 to 100", f.Attempts)
	}
	return nil
}

// openUpstream makes the connection that the flags ask for. It is nil without relay.
func (f *relayFlags) openUpstream(services []string, logger *slog.Logger, opts ...wire.DialOption) (*upstream, error) {
	if err := f.checkRelay(services); err != nil || f.Upstream == "" {
		return nil, err
	}
	methods := everywire.NewRegistry()
	sample.Register(methods, sample.Options{})
	u := &upstream{logger: logger}
	opts = append(opts, wire.WithMethods(methods), wire.WithCodecs(codecs()...), wire.WithLogger(logger))
	if f.Attempts > 1 {
		guard, err := resilience.New(resilience.Policy{Methods: methods, Default: resilience.Rules{Attempts: f.Attempts}})
		if err != nil {
			return nil, err
		}
		u.guard = guard
		opts = append(opts, wire.WithUnaryInterceptor(guard.Unary))
	}
	conn, err := wire.Dial(f.Upstream, opts...)
	if err != nil {
		return nil, fmt.Errorf("--upstream: %w", err)
	}
	u.conn = conn
	return u, nil
}

// registerRelay adds the service relay, which calls u; u is nil if only its description
// is wanted.
func (f *relayFlags) registerRelay(reg *everywire.Registry, u *upstream) {
	if u == nil {
		relay.Register(reg, nil, relay.Options{})
		return
	}
	relay.Register(reg, u.conn, relay.Options{FanOut: f.FanOut, Logger: u.logger})
}

// close closes the connection when no call uses it any more, and tells what was
// sent again over it. u may be nil.
func (u *upstream) close() error {
	if u == nil {
		return nil
	}
	if u.guard != nil {
		s := u.guard.Stats()
		u.logger.Info("calls of the upstream", slog.Int64("calls", s.Calls), slog.Int64("attempts", s.Attempts), slog.Int64("retries", s.Retries))
	}
	return u.conn.Close()
}
