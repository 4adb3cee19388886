package run

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/proc"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/lab/work"
	"github.com/everywire/everywire/link"
)

// stopTimeout bounds how long a server child may take to end in good order.
// Its clients have gone by then.
const stopTimeout = 500 * time.Millisecond

// Server is a server child: it serves what it is told on in until in ends. The
// hidden subcommand for servers calls it with the process's standard input
// and output, and does nothing else. It serves on a free port of the host, which is
// the loopback interface if it is empty.
func Server(in io.Reader, out io.Writer, f Fabric, host string) error {
	proc.IgnoreInterrupt()
	s := &server{fabric: f, host: host}
	err := proc.Serve(in, out, map[string]proc.Handler{
		opServe:   proc.Handle(s.serve),
		opObserve: proc.Handle(s.observe),
	})
	return errors.Join(err, s.close())
}

type server struct {
	fabric Fabric
	host   string
	work   *work.Work // since serve

	stop   func(context.Context) error
	end    *link.End // this end of an emulated link
	behind ref.Conn  // what a front calls
}

// observed is what a server has seen since it was last asked.
type observed struct {
	Calls int64 `json:"calls"`
	// Served is how long the service itself took.
	Served record.Hist `json:"served"`
}

func (s *server) serve(ctx context.Context, arg serveArg) (served, error) {
	if s.work != nil {
		return served{}, errors.New("a server child serves one arm")
	}
	// The server outlives ctx, which ends when the parent has gone: close is to
	// end the server in good order then.
	ctx = context.WithoutCancel(ctx)
	at, end, join, err := arg.Link.host(ctx)
	if err != nil {
		return served{}, err
	}
	s.end = end
	if end == nil && s.host != "" {
		at.Addr = net.JoinHostPort(s.host, "0")
	}
	w, err := work.Of(&arg.Plan, arg.Payload)
	if err != nil {
		return served{}, err
	}
	arm := called(&arg.Plan, arg.Arm)
	switch arg.Role {
	case backend:
		w, arm = w.Backend, arg.Arm
	case front:
		if s.behind, err = s.fabric.dial(ctx, arg.Arm, w.Backend, arg.Behind, dialer); err != nil {
			return served{}, err
		}
		w.Upstream = s.behind
	}
	to, stop, err := s.fabric.serve(ctx, arm, w, at)
	if err != nil {
		return served{}, err
	}
	s.work, s.stop = w, stop
	return served{To: to, Join: join}, nil
}

// called is the arm as the generator calls it: where a service calls another,
// the arm's own target is that of the second.
func called(p *plan.Plan, arm plan.Arm) plan.Arm {
	if !twoTiers(p) {
		return arm
	}
	return plan.Arm{Name: arm.Name, Kind: plan.Wire, Target: p.Front}
}

func dialer(ctx context.Context, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

func (s *server) observe(context.Context, none) (*observed, error) {
	if s.work == nil {
		return nil, errors.New("observe before serve")
	}
	o := &observed{}
	o.Calls, o.Served = s.work.Seen()
	return o, nil
}

func (s *server) close() (err error) {
	if s.stop != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = s.stop(ctx)
	}
	if s.behind != nil {
		err = errors.Join(err, s.behind.Close())
	}
	if s.end != nil {
		err = errors.Join(err, s.end.Close())
	}
	return err
}
