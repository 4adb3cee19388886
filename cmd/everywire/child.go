package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/lab/work"
	"github.com/everywire/everywire/wire"
)

// labServerCmd is the server's process of a trial.
type labServerCmd struct {
	Host string `help:"Where to serve (default the loopback interface)."`
}

// Run obeys the coordinator until it closes standard input.
func (c *labServerCmd) Run(a *app) error { return run.Server(a.stdin, a.stdout, fabric, c.Host) }

// labGeneratorCmd is the load generator's process of a trial.
type labGeneratorCmd struct{}

// Run obeys the coordinator until it closes standard input.
func (*labGeneratorCmd) Run(a *app) error { return run.Generator(a.stdin, a.stdout, fabric) }

// fabric makes both ends of the wire arms, with the library as its users have
// it.
var fabric = run.Fabric{Serve: serveArm, Dial: dialArm}

func armLimits(p *plan.Plan) everywire.Limits { return everywire.Limits{MaxMessage: p.MaxMessage} }

func serveArm(ctx context.Context, arm plan.Arm, w *work.Work, at ref.Place) (run.Endpoint, func(context.Context) error, error) {
	shape, err := wire.ParseShape(arm.Target)
	if err != nil {
		return run.Endpoint{}, nil, err
	}
	// An arm's options are the client's, but for how JSON's bytes are written and which
	// JSON-RPC is spoken.
	maps.DeleteFunc(shape.Options, func(name, _ string) bool { return name != "bytes" && name != "version" })
	opts := []wire.ServeOption{wire.WithLimits(armLimits(w.Plan)), wire.WithCodecs(codecs()...), wire.WithListener(at.Listen)}
	var ca []byte
	if shape.TLS {
		cert, cfg, err := throwAwayTLS()
		if err != nil {
			return run.Endpoint{}, nil, err
		}
		ca, opts = cert, append(opts, wire.WithTLSConfig(cfg))
	}
	server, err := wire.Serve(context.WithoutCancel(ctx), w.NewRegistry(), []string{shape.At(at.Addr).String()}, opts...)
	if err != nil {
		return run.Endpoint{}, nil, err
	}
	return run.Endpoint{Addrs: server.Targets()[0].Addrs, CA: ca}, server.Shutdown, nil
}

func dialArm(_ context.Context, arm plan.Arm, w *work.Work, to run.Endpoint, dial ref.Dialer) (ref.Conn, error) {
	shape, err := wire.ParseShape(arm.Target)
	if err != nil {
		return nil, err
	}
	if len(to.Addrs) > 1 {
		if shape.Options == nil {
			shape.Options = map[string]string{}
		}
		shape.Options["lb"] = "round_robin"
	}
	opts := []wire.DialOption{
		wire.WithLimits(armLimits(w.Plan)),
		wire.WithCodecs(codecs()...),
		wire.WithMethods(w.NewRegistry()), // for what it says of the methods
		wire.WithDialer(func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }),
	}
	if shape.TLS {
		// The link decides what is dialled; the certificate is for this machine.
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(to.CA)
		opts = append(opts, wire.WithTLSConfig(&tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS13}))
	}
	return wire.Dial(shape.At(to.Addrs...).String(), opts...)
}

// throwAwayTLS is the TLS of a trial's server, and the certificate that its clients
// trust. Ours speak TLS 1.3; NGINX speaks to upstreams what it was built to.
func throwAwayTLS() (ca []byte, _ *tls.Config, err error) {
	c, err := cluster.SelfSigned()
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		return nil, nil, err
	}
	return c.Cert, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
