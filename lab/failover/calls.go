package failover

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/resilience"
)

// An outcome is what a caller learned of a call.
type outcome struct {
	write      bool
	err        error
	mayHaveRun bool
}

// calls is a connection that gives each call an id, has a Guard make it, and keeps
// what became of it.
type calls struct {
	conn  grpc.ClientConnInterface
	guard *resilience.Guard

	mu       sync.Mutex
	outcomes []outcome // by id
}

func (c *calls) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	c.mu.Lock()
	id := len(c.outcomes)
	c.outcomes = append(c.outcomes, outcome{})
	c.mu.Unlock()
	ctx = metadata.AppendToOutgoingContext(ctx, idKey, strconv.Itoa(id))
	err := c.guard.Unary(ctx, path, in, out, nil, func(ctx context.Context, path string, in, out any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
		return c.conn.Invoke(ctx, path, in, out, opts...)
	}, opts...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outcomes[id] = outcome{write: path == "/"+write, err: err, mayHaveRun: err == nil || everywire.MayHaveRun(err)}
	return err
}

func (c *calls) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.conn.NewStream(ctx, desc, path, opts...)
}

// turns calls the two methods in turn.
type turns struct{ replicas int }

func (w turns) Caller(_ uint64, i int) load.Caller {
	return &turn{replicas: w.replicas, write: i%2 == 0}
}

type turn struct {
	replicas int
	write    bool
	in       request
	out      reply
}

func (t *turn) Next() (path string, in, out any) {
	t.write, t.out = !t.write, reply{Replica: -1}
	if t.write {
		return "/" + write, &t.in, &t.out
	}
	return "/" + read, &t.in, &t.out
}

func (t *turn) Check() string {
	if t.out.Replica < 0 || t.out.Replica >= t.replicas {
		return fmt.Sprintf("replica %d of %d answered", t.out.Replica, t.replicas)
	}
	return ""
}
