package ref

import (
	"context"
	"errors"
	"net"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"
	jserver "github.com/creachadair/jrpc2/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
)

type jrpc2Server struct {
	methods handler.Map
	stopped chan struct{}
}

func newJRPC2Server(o Options) server {
	s := &jrpc2Server{stopped: make(chan struct{})}
	if o.Service == "arith" {
		s.methods = handler.Map{"sum": handler.New(jrpc2Sum)}
	} else {
		s.methods = handler.Map{"echo": jrpc2Echo(o)}
	}
	return s
}

func jrpc2Sum(_ context.Context, numbers []int64) (int64, error) {
	var sum int64
	for _, n := range numbers {
		sum += n
	}
	return sum, nil
}

// jrpc2Echo takes the message as the only element of its params, because
// JSON-RPC's params must be an array or an object and a document need not be.
func jrpc2Echo(o Options) jrpc2.Handler {
	return func(_ context.Context, r *jrpc2.Request) (any, error) {
		params := [1]any{bareValue(o.newMessage())}
		if err := r.UnmarshalParams(&params); err != nil {
			return nil, err
		}
		return params[0], nil
	}
}

// bareValue is what encoding/json is to read and write of a message: a document's
// value in place of the document.
func bareValue(message any) any {
	if doc, ok := message.(*everywire.Document); ok {
		return &doc.Value
	}
	return message
}

func (s *jrpc2Server) serve(lis net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-s.stopped:
		case <-ctx.Done():
		}
	}()
	err := jserver.Loop(ctx, jserver.NetAccepter(lis, channel.Line), jserver.Static(s.methods), nil)
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *jrpc2Server) stop(context.Context) error {
	close(s.stopped)
	return nil
}

type jrpc2Conn struct {
	unary
	client  *jrpc2.Client
	options Options
}

func dialJRPC2(ctx context.Context, addr string, dial Dialer, o Options) (Conn, error) {
	nc, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &jrpc2Conn{client: jrpc2.NewClient(channel.Line(nc, nc), nil), options: o}, nil
}

func (c *jrpc2Conn) Invoke(ctx context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	if c.options.isMessage(in, out) {
		return c.call(ctx, "echo", [1]any{bareValue(in)}, bareValue(out))
	}
	request, ok := in.(*arith.SumRequest)
	sum, okToo := out.(*arith.SumReply)
	if !ok || !okToo {
		return unknownMessage(in, out)
	}
	return c.call(ctx, "sum", request.Numbers, &sum.Sum)
}

func (c *jrpc2Conn) call(ctx context.Context, method string, params, result any) error {
	err := c.client.CallResult(ctx, method, params, result)
	if err == nil {
		return nil
	}
	if remote, ok := errors.AsType[*jrpc2.Error](err); ok && ctx.Err() == nil {
		return status.Error(codes.Unknown, remote.Error())
	}
	return failed(ctx, err)
}

func (c *jrpc2Conn) Close() error { return c.client.Close() }
