package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/netcount"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/target"
	"github.com/everywire/everywire/wire"
)

// loadConns says how callers are connected.
type loadConns struct {
	ConnPerCall bool   `name:"conn-per-call" help:"Make a connection for every call."`
	Connections *int   `placeholder:"N" help:"How many connections callers share, where one carries many calls (default 1; HTTP/1.1 has one for each call at a time)."`
	HTTP2       bool   `name:"http2" help:"Speak HTTP/2 to a URL: by ALPN with https, else with prior knowledge."`
	CACert      string `name:"cacert" type:"existingfile" placeholder:"FILE" help:"The authorities that the certificate of an https URL must come from (default the system's)."`
	Cert        string `type:"existingfile" placeholder:"FILE" help:"A certificate to show to an https URL."`
	Key         string `type:"existingfile" placeholder:"FILE" help:"Its private key."`
	Insecure    bool   `help:"Take any certificate of an https URL."`
}

// An endpoint is what is loaded.
type endpoint struct {
	http *target.HTTPTarget // nil for a target of a wire
	tls  *tls.Config        // of an https URL
	*finder
}

// resolve reads the target.
func (c *loadCmd) resolve() (*endpoint, error) {
	to := new(endpoint)
	if !target.IsHTTP(c.Target) {
		if c.HTTP2 || c.CACert != "" || c.Cert != "" || c.Key != "" || c.Insecure {
			return nil, usagef("--http2, --cacert, --cert, --key and --insecure are of URLs: a target has options for these, which everywire targets lists")
		}
		f, err := newFinder(c.Target, c.typeFlags)
		if err != nil {
			return nil, err
		}
		if f.target.Wire == "any" {
			return nil, usagef("any is for servers: name the wire to call by, such as rest://%s", f.target.Addrs[0])
		}
		to.finder = f
		return to, nil
	}
	if len(c.Proto) > 0 || len(c.ImportPath) > 0 || c.DescriptorSet != "" {
		return nil, usagef("--proto, --import-path and --descriptor-set are of methods on a target such as grpc://: a URL has none")
	}
	t, err := target.ParseHTTP(c.Target)
	if err != nil {
		return nil, usageError{err}
	}
	to.http = t
	to.tls, err = c.tlsConfig(t)
	return to, err
}

func (c *loadCmd) tlsConfig(t *target.HTTPTarget) (*tls.Config, error) {
	switch {
	case !t.TLS && (c.CACert != "" || c.Cert != "" || c.Key != "" || c.Insecure):
		return nil, usagef("--cacert, --cert, --key and --insecure are of https: %s has no TLS", c.Target)
	case (c.Cert == "") != (c.Key == ""):
		return nil, usagef("--cert and --key go together: the certificate, and its private key")
	case !t.TLS:
		return nil, nil //nolint:nilnil // no TLS
	}
	config := &tls.Config{InsecureSkipVerify: c.Insecure} //nolint:gosec // who says so wants it
	if c.CACert != "" {
		text, err := os.ReadFile(c.CACert)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("--cacert %s holds no certificate in PEM", c.CACert)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, usagef("--cert and --key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// find finds a method that a load can call.
func (e *endpoint) find(ctx context.Context, name, body string) (*target.Method, error) {
	m, err := e.finder.find(ctx, name, body)
	if err == nil && m.Kind != everywire.Unary {
		return nil, usagef("%s is %s: a load makes calls with one request and one reply", name, m.Kind)
	}
	return m, err
}

// reach reports whether anybody listens: what cannot be called at all is no load.
func (e *endpoint) reach(ctx context.Context) error {
	network := "tcp"
	var addrs []string
	switch {
	case e.http != nil:
		addrs = []string{e.http.Host}
	case e.target.Transport == "h3":
		return nil // on packets, which nobody accepts before a handshake
	case e.target.Transport == "unix":
		network, addrs = "unix", e.target.Addrs
	default:
		addrs = e.target.Addrs
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	var errs []error
	for _, addr := range addrs {
		nc, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			return nc.Close()
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("nobody is there to be loaded: %w", errors.Join(errs...))
}

// connections are those of all callers.
type connections struct {
	each  func(caller int) (grpc.ClientConnInterface, load.Meter, error)
	words string
	// counters count the bytes of sockets; none where the connections do themselves.
	counters []*netcount.Counter
	closers  []func() error
}

// sockets is what has crossed them so far, nil if nobody counted it.
func (c *connections) sockets() *record.Net {
	if len(c.counters) == 0 {
		return nil
	}
	sum := c.counters[0].Snapshot()
	for _, counter := range c.counters[1:] {
		sum = netcount.Sum(sum, counter.Snapshot())
	}
	return &sum
}

func (c *connections) close() {
	for _, f := range c.closers {
		_ = f() // the load is over, and its result known
	}
}

// connect makes the connections; most connect when they are first used.
func (c *loadCmd) connect(to *endpoint, p *plan.Plan) (*connections, error) {
	n := 1
	if c.Connections != nil {
		n = *c.Connections
		switch most := p.Callers[0]; {
		case c.ConnPerCall:
			return nil, usagef("--conn-per-call makes a connection for every call: leave out --connections")
		case to.http != nil && !c.HTTP2:
			return nil, usagef("a connection of HTTP/1.1 carries one call at a time, so each caller has its own: --connections is for --http2 and for targets of wires")
		case n < 1 || n > most:
			return nil, usagef("--connections %d: it is from 1 to the number of callers, %d", n, most)
		}
	}
	switch {
	case to.http == nil:
		return c.connectWire(to, p, n)
	case c.HTTP2:
		return c.connectHTTP2(to, p, n), nil
	}
	return c.connectHTTP1(to, p), nil
}

func (c *loadCmd) httpConfig(to *endpoint) target.HTTPConfig {
	return target.HTTPConfig{Target: to.http, TLS: to.tls, Timeout: c.Timeout, Reconnect: c.ConnPerCall, MaxBody: int(c.MaxSize)}
}

func (c *loadCmd) connectHTTP1(to *endpoint, p *plan.Plan) *connections {
	config := c.httpConfig(to)
	all := &connections{words: eachWords}
	if p.Shape.Open() {
		pool := target.NewPool(config)
		all.words = pooledWords
		all.each = func(int) (grpc.ClientConnInterface, load.Meter, error) {
			one := pool.Caller()
			return one, one, nil
		}
		all.closers = append(all.closers, pool.Close)
	} else {
		conns := make([]*target.HTTP1, p.Callers[0])
		for i := range conns {
			conns[i] = target.NewHTTP1(config)
			all.closers = append(all.closers, conns[i].Close)
		}
		all.each = func(caller int) (grpc.ClientConnInterface, load.Meter, error) {
			return conns[caller], conns[caller], nil
		}
	}
	if c.ConnPerCall {
		all.words = perCallWords
	}
	return all
}

// How callers are connected, as reports say it.
const (
	eachWords    = "one for each caller"
	pooledWords  = "as many as calls at once"
	perCallWords = "one for each call"
)

func (c *loadCmd) connectHTTP2(to *endpoint, p *plan.Plan, n int) *connections {
	counter := new(netcount.Counter)
	all := &connections{counters: []*netcount.Counter{counter}, words: sharedWords(n, p.Callers[0])}
	config := c.httpConfig(to)
	config.Dial = counter.Wrap(func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	})
	conns := make([]*target.HTTP2, n)
	for i := range conns {
		conns[i] = target.NewHTTP2(config)
		all.closers = append(all.closers, conns[i].Close)
	}
	all.each = func(caller int) (grpc.ClientConnInterface, load.Meter, error) { return conns[caller%n], nil, nil }
	if c.ConnPerCall {
		all.words = perCallWords
	}
	return all
}

func sharedWords(n, callers int) string {
	switch n {
	case 1:
		return "one for all callers"
	case callers:
		return eachWords
	}
	return fmt.Sprintf("%d, shared by all callers", n)
}

// A wireDialer dials a target, and counts what crosses its sockets.
type wireDialer struct {
	text    string
	packets bool // HTTP/3, whose bytes nobody counts
	options []wire.DialOption
}

func (d *wireDialer) dial(counter *netcount.Counter) (*wire.Conn, error) {
	if d.packets {
		return wire.Dial(d.text, d.options...)
	}
	return wire.Dial(d.text, append(slices.Clone(d.options), wire.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		return counter.Wrap(func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		})(ctx, addr)
	}))...)
}

// socketMeter counts one caller's bytes at its sockets.
type socketMeter struct{ counter *netcount.Counter }

// Bytes are those so far.
func (m socketMeter) Bytes() (out, in int64) {
	n := m.counter.Snapshot()
	return n.PayloadOut, n.PayloadIn
}

func (c *loadCmd) connectWire(to *endpoint, p *plan.Plan, n int) (*connections, error) {
	callers := p.Callers[0]
	all := &connections{words: sharedWords(n, p.Callers[0])}
	d := &wireDialer{
		text: c.Target, packets: to.target.Transport == "h3",
		options: []wire.DialOption{wire.WithMethods(to.known), wire.WithCodecs(codecs()...), wire.WithLimits(everywire.Limits{MaxMessage: p.MaxMessage})},
	}
	switch one := pooled(to.target); {
	case one && n > 1:
		return nil, usagef("%s is on HTTP/1.1, of which a connection carries one call at a time: --connections is for wires whose connections carry many", c.Target)
	case c.ConnPerCall:
		n, all.words = callers, perCallWords
	case one && p.Shape.Open():
		all.words = pooledWords
	case one: // it opens one connection for its caller
		n, all.words = callers, eachWords
	case len(to.target.Addrs) > 1:
		all.words += fmt.Sprintf(", to %d addresses", len(to.target.Addrs))
	}
	conns := make([]grpc.ClientConnInterface, n)
	for i := range conns {
		counter := new(netcount.Counter)
		if !d.packets {
			all.counters = append(all.counters, counter)
		}
		if c.ConnPerCall {
			conns[i] = target.Wrap(&perCall{func() (*wire.Conn, error) { return d.dial(counter) }}, c.Timeout)
			continue
		}
		conn, err := d.dial(counter)
		if err != nil {
			all.close()
			return nil, err
		}
		all.closers = append(all.closers, conn.Close)
		conns[i] = target.Wrap(conn, c.Timeout)
	}
	all.each = func(caller int) (grpc.ClientConnInterface, load.Meter, error) {
		if n == callers && !d.packets {
			return conns[caller], socketMeter{all.counters[caller]}, nil
		}
		return conns[caller%n], nil, nil
	}
	return all, nil
}

// pooled reports whether a wire opens a connection for each call at a time.
func pooled(t wire.Target) bool {
	switch {
	case t.Transport == "h3":
		return false
	case t.Wire == "rest":
		return t.Options["http"] != "2"
	case t.Wire == "connect":
		return t.Options["http"] == "1.1"
	}
	return t.Wire == "jsonrpc" && t.Transport == "http"
}

// perCall makes a connection for every call, and closes it.
type perCall struct{ dial func() (*wire.Conn, error) }

// Invoke makes a call.
func (p *perCall) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	conn, err := p.dial()
	if err != nil {
		return err
	}
	err = conn.Invoke(ctx, path, in, out, opts...)
	_ = conn.Close() // the call is over
	return err
}

// NewStream is not for loads.
func (p *perCall) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("a load makes calls with one request and one reply")
}
