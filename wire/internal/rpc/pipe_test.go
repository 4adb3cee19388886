package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A pipeConn is a connection to a server in the same process, whose streams
// travel by a pipe: the transport that a wire would write, without the wire.
type pipeConn struct {
	client *ClientConfig
	server *ServerConfig
	codec  everywire.Codec
	ctx    context.Context // of the handlers: it ends with the connection

	handlers sync.WaitGroup
	opened   []*pipe
}

func newPipeConn(t *testing.T, server *ServerConfig) *pipeConn {
	ctx, cancel := context.WithCancel(t.Context())
	c := &pipeConn{client: clientConfig(), server: server, codec: json.Codec{}, ctx: ctx}
	t.Cleanup(func() { cancel(); c.handlers.Wait() })
	return c
}

func (*pipeConn) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return NoStreams("pipe")
}

func (c *pipeConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.client.NewStream(ctx, desc, path, c.codec, opts, func(_ context.Context, call *Outgoing, broken func(error)) (ClientTransport, error) {
		m, err := c.server.Lookup(path)
		if err != nil {
			return nil, err
		}
		handlerCtx, cancel := context.WithCancel(c.ctx)
		p := &pipe{
			requests: make(chan []byte, 1), replies: make(chan []byte, 1),
			header: make(chan struct{}), done: make(chan struct{}), cancel: cancel, broken: broken,
		}
		c.opened = append(c.opened, p)
		from := &peer.Peer{AuthInfo: insecureInfo{}}
		c.handlers.Go(func() {
			defer cancel()
			p.end(c.server.Stream(handlerCtx, &IncomingStream{
				Method: m, Metadata: call.Metadata, Peer: from, Codec: c.codec, Transport: (*pipeServer)(p),
			}))
		})
		return (*pipeClient)(p), nil
	})
}

// A pipe carries one message at a time each way.
type pipe struct {
	requests, replies chan []byte
	header            chan struct{} // closed when md is set or never will be
	done              chan struct{} // closed at the end
	cancel            func()
	broken            func(error)

	mu        sync.Mutex
	md        metadata.MD
	hasHeader bool
	outcome   *Outcome
	err       error
}

func (p *pipe) setHeader(md metadata.MD) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasHeader {
		p.hasHeader, p.md = true, md
		close(p.header)
	}
}

func (p *pipe) end(out *Outcome) {
	p.setHeader(out.Header)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outcome == nil && p.err == nil {
		p.outcome = out
		close(p.done)
	}
}

// break ends it as the end of a connection does.
func (p *pipe) breakOff(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outcome == nil && p.err == nil {
		p.err = err
		close(p.done)
		p.cancel()
		p.broken(err)
	}
}

var errPipeEnded = errors.New("the pipe has ended")

func encoded(encode func([]byte) ([]byte, error)) ([]byte, error) {
	prefix := []byte("not of the message")
	b, err := encode(prefix)
	if err != nil {
		return nil, err
	}
	return b[len(prefix):], nil
}

type pipeServer pipe

func (p *pipeServer) Recv(ctx context.Context) ([]byte, error) {
	select {
	case msg, ok := <-p.requests:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeServer) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	msg, err := encoded(encode)
	if err != nil {
		return err
	}
	select {
	case p.replies <- msg:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipeServer) SendHeader(md metadata.MD) error {
	if md == nil {
		md = metadata.MD{}
	}
	(*pipe)(p).setHeader(md)
	return nil
}

type pipeClient pipe

func (p *pipeClient) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	msg, err := encoded(encode)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
		return errPipeEnded
	default:
	}
	select {
	case p.requests <- msg:
		return nil
	case <-p.done:
		return errPipeEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipeClient) CloseSend() { close(p.requests) }

func (p *pipeClient) Header(ctx context.Context) (metadata.MD, error) {
	select {
	case <-p.header:
	case <-p.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.md, p.err
}

func (p *pipeClient) Recv(ctx context.Context) ([]byte, *Outcome, error) {
	select {
	case msg := <-p.replies:
		return msg, nil, nil
	default:
	}
	select {
	case msg := <-p.replies:
		return msg, nil, nil
	case <-p.done:
		select {
		case msg := <-p.replies:
			return msg, nil, nil
		default:
			return nil, p.outcome, p.err
		}
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

func (*pipeClient) Peer() *peer.Peer { return &peer.Peer{AuthInfo: insecureInfo{}} }

func (p *pipeClient) Abandon() { p.cancel() }
