package connectwire

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"sync"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// An exchange is one request and its response as the network knows them, below
// connect-go.
type exchange struct {
	conn *conn
	call *rpc.Outgoing

	mu      sync.Mutex
	over    bool
	err     error         // how the connection failed
	from    *peer.Peer    // of the last connection, nil before there was one
	reached chan struct{} // closed when there is a connection, or will be none
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

func newExchange(c *conn, call *rpc.Outgoing) *exchange {
	return &exchange{conn: c, call: call, reached: make(chan struct{})}
}

// context returns the context of the request.
func (x *exchange) context(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.from = rpc.PeerOf(info.Conn)
		x.reach()
	}})
}

// reach closes reached. x.mu is held.
func (x *exchange) reach() {
	if !x.over {
		x.over = true
		close(x.reached)
	}
}

func (x *exchange) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err == nil {
		x.err = err
	}
	x.reach()
}

func (x *exchange) failed() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

func (x *exchange) peer() *peer.Peer {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.from
}

// bound sets the limit of a response's body, and looks how it ends.
func (x *exchange) bound(res *http.Response) {
	limit := max(int64(x.call.MaxReceive()), minErrorLimit)
	body := &watchedBody{ReadCloser: res.Body, x: x}
	ct := res.Header.Get("Content-Type")
	switch {
	case hasPrefixFold(ct, streamType) || hasPrefixFold(ct, grpcWebType):
		res.Body = &boundedBody{ReadCloser: body, limit: limit}
	case limit < math.MaxInt64: // else there is none
		res.Body = http.MaxBytesReader(nil, body, limit+1)
	default:
		res.Body = body
	}
}

// minErrorLimit is what an error may be long, whatever the limit of messages.
const minErrorLimit = 64 << 10

// A watchedBody tells how its connection failed.
type watchedBody struct {
	io.ReadCloser
	x *exchange
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.x.fail(err)
	}
	return n, err
}

// takeHeader returns the headers of a response; nil if it has none, but gRPC-Web's
// trailers in their place.
func takeHeader(h http.Header) (metadata.MD, error) {
	if len(h) == 0 || h["Grpc-Status"] != nil {
		return nil, nil //nolint:nilnil // there are none
	}
	return takeMetadata(h)
}
