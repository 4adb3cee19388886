package run

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/netcount"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/work"
	"github.com/everywire/everywire/link"
)

// The operations of the two children; see package proc for the protocol.
//
//	server     serve {arm, plan, link, payload} -> {to, join}  serves the arm
//	           observe {} -> {calls, served}       since it was last asked
//	generator  setup {arm, plan, link, to, payload}   what is called, and where
//	           open {callers} -> {}                     fresh connection, warm-up
//	           measure {seed} -> {result, net, cpu}     the window, then closes
const (
	opServe   = "serve"
	opObserve = "observe"
	opSetup   = "setup"
	opOpen    = "open"
	opMeasure = "measure"
)

type serveArg struct {
	Arm  plan.Arm  `json:"arm"`
	Plan plan.Plan `json:"plan"`
	Link linkArg   `json:"link"`
	// Role is which of the arm's servers it is, and Behind where a front finds what
	// it calls.
	Role   role     `json:"role,omitempty"`
	Behind Endpoint `json:"behind,omitzero"`
	// Payload is [Config]'s: the server learns the type of its messages from it.
	Payload []byte `json:"payload,omitempty"`
}

type served struct {
	To Endpoint `json:"to"`
	// Join is how the generator joins an emulated link.
	Join string `json:"join,omitempty"`
}

type setupArg struct {
	Arm  plan.Arm  `json:"arm"`
	Plan plan.Plan `json:"plan"`
	Link linkArg   `json:"link"`
	To   Endpoint  `json:"to"`
	// Payload is [Config]'s.
	Payload []byte `json:"payload,omitempty"`
}

type openArg struct {
	Callers int `json:"callers"`
	// Seed makes the requests; the warm-up's differ from the window's.
	Seed uint64 `json:"seed"`
}

type measured struct {
	Result *load.Result `json:"result"`
	// Net and CPU are from the start of the window until the last call that
	// was open at its end has been answered.
	Net      record.Net       `json:"net"`
	Emulated *record.Emulated `json:"emulated,omitempty"`
	CPU      time.Duration    `json:"cpu_ns"`
}

type none struct{}

// Generator is a generator child: it calls what it is told on in until in
// ends. The hidden subcommand for generators calls it as [Server] is called.
func Generator(in io.Reader, out io.Writer, f Fabric) error {
	proc.IgnoreInterrupt()
	g := &generator{fabric: f}
	err := proc.Serve(in, out, map[string]proc.Handler{
		opSetup:   proc.Handle(g.setup),
		opOpen:    proc.Handle(g.open),
		opMeasure: proc.Handle(g.measure),
	})
	err = errors.Join(err, g.close())
	if g.end != nil {
		err = errors.Join(err, g.end.Close())
	}
	return err
}

type generator struct {
	fabric Fabric
	arm    setupArg
	work   *work.Work // since setup

	callers int
	window  time.Duration
	end     *link.End      // this end of an emulated link
	clients []*work.Client // one, or one for each caller
	meter   *meter
}

func (g *generator) setup(ctx context.Context, arg setupArg) (none, error) {
	if g.end != nil {
		return none{}, errors.New("setup for the second time")
	}
	end, err := arg.Link.join(ctx)
	if err != nil {
		return none{}, err
	}
	g.arm, g.end = arg, end
	if g.work, err = work.Of(&arg.Plan, arg.Payload); err != nil {
		return none{}, err
	}
	return none{}, nil
}

func (g *generator) open(ctx context.Context, arg openArg) (none, error) {
	if g.work == nil {
		return none{}, errors.New("open before setup")
	}
	if err := g.close(); err != nil {
		return none{}, err
	}
	g.meter = &meter{sockets: &netcount.Counter{}, end: g.end}
	conns := 1
	if g.arm.Plan.ConnEach {
		conns = arg.Callers
	}
	for range conns {
		conn, err := g.fabric.dial(ctx, called(&g.arm.Plan, g.arm.Arm), g.work, g.arm.To, g.meter.dial())
		if err != nil {
			return none{}, errors.Join(err, g.close())
		}
		client, err := g.work.Client(g.arm.Arm, conn)
		if err != nil {
			return none{}, errors.Join(err, conn.Close(), g.close())
		}
		g.clients = append(g.clients, client)
	}
	g.callers, g.window = arg.Callers, g.arm.Plan.Measure
	if g.arm.Plan.Warmup == 0 {
		return none{}, nil
	}
	warmup := g.load(g.arm.Plan.Warmup, arg.Seed)
	warmup.Shape.Ramp, warmup.Shape.Calls = 0, 0
	begin := time.Now()
	warm, err := load.Run(ctx, warmup)
	if err != nil {
		return none{}, err
	}
	if s := &g.arm.Plan.Shape; !s.Open() && s.Calls == 0 {
		g.window = windowFor(g.arm.Plan.Measure, g.end != nil, arg.Callers, warm, time.Since(begin))
	}
	return none{}, nil
}

func (g *generator) measure(ctx context.Context, arg openArg) (*measured, error) {
	if g.clients == nil {
		return nil, errors.New("measure before open")
	}
	if err := g.meter.start(ctx); err != nil {
		return nil, err
	}
	cpuBefore, err := proc.CPUTime()
	if err != nil {
		return nil, err
	}
	result, err := load.Run(ctx, g.load(g.window, arg.Seed))
	if err != nil {
		return nil, err
	}
	cpu, err := proc.CPUTime()
	if err != nil {
		return nil, err
	}
	m := &measured{Result: result, CPU: cpu - cpuBefore}
	m.Net, m.Emulated = g.meter.stop()
	return m, g.close()
}

// windowFor is the measured time of a load whose warm-up gave warm and took
// took, open calls included.
func windowFor(measure time.Duration, emulated bool, callers int, warm *load.Result, took time.Duration) time.Duration {
	call := time.Duration(warm.Latency.Mean())
	if warm.Latency.Count() < int64(callers) {
		call = took // some caller's first call is all that is known
		if warm.Errors != nil {
			return measure // calls that fail are not long
		}
	}
	if emulated {
		return max(measure, min(stretchOnLink*call, maxStretchedOnLink))
	}
	return max(measure, min(stretch*call, maxStretched))
}

func (g *generator) load(d time.Duration, seed uint64) load.Config {
	return load.Config{
		Each: func(caller int) (grpc.ClientConnInterface, load.Meter, error) {
			return g.clients[caller%len(g.clients)].Conn, nil, nil
		},
		Workload: g.clients[0].Load, Shape: g.arm.Plan.Shape, Callers: g.callers, For: d, Drain: drain, Seed: seed,
	}
}

func (g *generator) close() (err error) {
	for _, client := range g.clients {
		err = errors.Join(err, client.Close())
	}
	g.clients = nil
	return err
}
