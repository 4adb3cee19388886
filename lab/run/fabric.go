package run

import (
	"context"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/work"
)

// An Endpoint is where the servers of an arm are.
type Endpoint struct {
	// Addrs are their host:port: more than one if who calls spreads its calls.
	Addrs []string `json:"addrs"`
	// CA is the PEM text of the authority that their certificates come from, if
	// they have TLS with certificates of their own making.
	CA []byte `json:"ca,omitempty"`
}

// At is the endpoint of one server without a certificate.
func At(addr string) Endpoint { return Endpoint{Addrs: []string{addr}} }

// A Fabric makes the two ends of the wire arms; the lab itself knows no wire.
// Reference arms and pings are the lab's own and do not come here.
type Fabric struct {
	// Serve serves the work's service at a place and returns where that is.
	// Messages up to the plan's MaxMessage must pass. stop ends it, within the
	// time that its context gives.
	Serve func(ctx context.Context, arm plan.Arm, w *work.Work, at ref.Place) (to Endpoint, stop func(context.Context) error, err error)
	// Dial makes a connection to it whose sockets are opened by dial.
	Dial func(ctx context.Context, arm plan.Arm, w *work.Work, to Endpoint, dial ref.Dialer) (ref.Conn, error)
}

func (f Fabric) serve(ctx context.Context, arm plan.Arm, w *work.Work, at ref.Place) (Endpoint, func(context.Context) error, error) {
	if name, ok := reference(arm); ok {
		addr, stop, err := ref.Serve(ctx, name, at, refOptions(w))
		return At(addr), stop, err
	}
	return f.Serve(ctx, arm, w, at)
}

func (f Fabric) dial(ctx context.Context, arm plan.Arm, w *work.Work, to Endpoint, dial ref.Dialer) (ref.Conn, error) {
	if name, ok := reference(arm); ok {
		return ref.Dial(ctx, name, to.Addrs[0], dial, refOptions(w))
	}
	return f.Dial(ctx, arm, w, to, dial)
}

// reference is the name of an arm's reference implementation, if it has one.
func reference(arm plan.Arm) (name string, ok bool) {
	switch arm.Kind {
	case plan.Reference:
		return arm.Target, true
	case plan.Ping:
		return ref.Ping, true
	default:
		return "", false
	}
}

func refOptions(w *work.Work) ref.Options {
	p := w.Plan
	return ref.Options{Service: p.Service, Type: w.Type, MaxMessage: p.MaxMessage, ReadDelay: p.ReadDelay, WriteDelay: p.WriteDelay, Delay: p.Delay}
}
