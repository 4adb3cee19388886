package connectwire

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// unary runs a unary call. connect-go has read the request and set the
// deadline.
func (h *handler) unary(ctx context.Context, req *connect.Request[message]) (*connect.Response[message], error) {
	c := callOf(ctx)
	md, err := takeMetadata(req.Header())
	if err != nil {
		return nil, connectError(status.New(codes.InvalidArgument, err.Error()), c.protocol)
	}
	request := req.Msg.data
	if c.enveloped {
		request = c.codec.bytesOf(req.Msg)
	}
	reply := &message{}
	out := &rpc.Outcome{Status: rpc.DidNotReturn}
	rpc.Returns(func() { // on a goroutine that may end: this one has to answer
		out = h.cfg.Unary(ctx, &rpc.Incoming{
			Method: c.method, Metadata: md, Peer: c.peer, Size: len(request),
			Decode: func(v any) error { return c.codec.Decode(request, v) },
			Encode: func(v any) (n int, err error) {
				reply.data, err = c.codec.Append(nil, v)
				return len(reply.data), err
			},
		})
	})
	info, _ := connect.CallInfoForHandlerContext(ctx) // connect-go has set it
	putMetadata(info.ResponseHeader(), out.Header)
	putMetadata(info.ResponseTrailer(), out.Trailer)
	if err := connectError(out.Status, c.protocol); err != nil {
		return nil, err
	}
	return connect.NewResponse(reply), nil
}

// finish is what the handlers of streams return to connect-go.
func finish(c *call, header, trailer http.Header, out *rpc.Outcome) error {
	putMetadata(header, out.Header)
	putMetadata(trailer, out.Trailer)
	return connectError(out.Status, c.protocol)
}
