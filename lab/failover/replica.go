package failover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/proc"
)

// A Conn is what calls are made on.
type Conn interface {
	grpc.ClientConnInterface
	Close() error
}

// Wires makes the two ends of a wire by the shape of its target, such as
// "jsonrpc+tcp"; the lab itself knows no wire.
type Wires struct {
	// Serve serves reg on a free port of the loopback address. stop ends it in good
	// order.
	Serve func(ctx context.Context, reg *everywire.Registry, shape string) (addr string, stop func(context.Context) error, err error)
	// Dial makes a connection that spreads its calls over the addresses, if there are
	// several. methods describes what is called.
	Dial func(shape string, addrs []string, methods *everywire.Registry) (Conn, error)
}

const (
	opServe = "serve"
	// stopTimeout bounds how long a replica takes to end in good order.
	stopTimeout = time.Second
)

type serveArg struct {
	Shape   string `json:"shape"`
	Replica int    `json:"replica"`
	Ledger  string `json:"ledger"`
}

type served struct {
	Addr string `json:"addr"`
}

// Replica is a process that serves what it is told on in until in ends. A hidden
// subcommand calls it with the process's standard input and output, and does nothing
// else.
func Replica(in io.Reader, out io.Writer, w Wires) error {
	proc.IgnoreInterrupt()
	var stop func(context.Context) error
	var book *ledger
	err := proc.Serve(in, out, map[string]proc.Handler{
		opServe: proc.Handle(func(ctx context.Context, arg serveArg) (served, error) {
			if stop != nil {
				return served{}, errors.New("a replica serves once")
			}
			var err error
			if book, err = openLedger(arg.Ledger); err != nil {
				return served{}, err
			}
			reg := everywire.NewRegistry()
			register(reg, arg.Replica, book.began)
			addr, end, err := w.Serve(context.WithoutCancel(ctx), reg, arg.Shape)
			if err != nil {
				return served{}, errors.Join(err, book.close())
			}
			stop = end
			return served{addr}, nil
		}),
	})
	if stop != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		err = errors.Join(err, stop(ctx), book.close())
	}
	return err
}

// replicas are the processes that serve.
type replicas struct {
	dir      string // of their ledgers
	children []*proc.Child
	addrs    []string
}

// serve starts them.
func (r *replicas) serve(ctx context.Context, c *Config) error {
	for i := range c.Replicas {
		child, err := proc.Start(ctx, c.Exe, c.ReplicaArgs, nil)
		if err != nil {
			return fmt.Errorf("failover: replica %d did not start: %w", i, err)
		}
		r.children = append(r.children, child)
		var s served
		if err := child.Call(ctx, opServe, serveArg{Shape: c.Shape, Replica: i, Ledger: r.ledger(i)}, &s); err != nil {
			return fmt.Errorf("failover: replica %d: %w", i, err)
		}
		r.addrs = append(r.addrs, s.Addr)
	}
	return nil
}

func (r *replicas) ledger(i int) string { return filepath.Join(r.dir, fmt.Sprintf("replica-%d", i)) }

// kill ends a replica without warning, and reaps it.
func (r *replicas) kill(i int) error {
	p, err := os.FindProcess(r.children[i].PID())
	if err != nil {
		return err
	}
	if err := p.Kill(); err != nil {
		return fmt.Errorf("failover: killing replica %d: %w", i, err)
	}
	<-r.children[i].Done()
	return nil
}

func (r *replicas) stop() {
	for _, c := range r.children {
		c.Stop()
	}
}
