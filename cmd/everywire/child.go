package main

import (
	"context"
	"maps"
	"net"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/lab/work"
	"github.com/everywire/everywire/wire"
)

// labServerCmd is the server's process of a trial.
type labServerCmd struct{}

// Run obeys the coordinator until it closes standard input.
func (*labServerCmd) Run(a *app) error { return run.Server(a.stdin, a.stdout, fabric) }

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
	// An arm's options are the client's, but for how JSON's bytes are written.
	maps.DeleteFunc(shape.Options, func(name, _ string) bool { return name != "bytes" })
	reg := w.NewRegistry()
	server, err := wire.Serve(context.WithoutCancel(ctx), reg, []string{shape.At(at.Addr).String()},
		wire.WithLimits(armLimits(w.Plan)), wire.WithCodecs(codecs()...), wire.WithListener(at.Listen))
	if err != nil {
		return run.Endpoint{}, nil, err
	}
	return run.At(server.Targets()[0].Addrs[0]), server.Shutdown, nil
}

func dialArm(_ context.Context, arm plan.Arm, w *work.Work, to run.Endpoint, dial ref.Dialer) (ref.Conn, error) {
	shape, err := wire.ParseShape(arm.Target)
	if err != nil {
		return nil, err
	}
	if len(to.Addrs) > 1 {
		shape.Options["lb"] = "round_robin"
	}
	reg := w.NewRegistry() // for what it says of the methods
	return wire.Dial(shape.At(to.Addrs...).String(),
		wire.WithLimits(armLimits(w.Plan)),
		wire.WithCodecs(codecs()...),
		wire.WithMethods(reg),
		wire.WithDialer(func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }))
}
