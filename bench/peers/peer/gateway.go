package peer

import (
	"context"
	"io"
	"net"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/bench/peers/peer/echopb"
)

// gateway translates JSON over HTTP to the methods of a gRPC service, in the
// same process, which is the fastest of its ways. The handlers do what its
// generator would write. Its client is net/http's: it has none.
var gateway = Peer{
	Name: "grpc-gateway", Kind: API, Form: "protojson on net/http", Module: "github.com/grpc-ecosystem/grpc-gateway/v2", Documents: true,
	Serve: func(lis net.Listener) error {
		mux := runtime.NewServeMux()
		var service pbEcho
		if err := translate(mux, "/echo", echopb.Peer_Echo_FullMethodName, service.Echo); err != nil {
			return err
		}
		if err := translate(mux, "/document", echopb.Peer_Document_FullMethodName, service.Document); err != nil {
			return err
		}
		return serveHTTP(lis, mux, false)
	},
	Dial: func(ctx context.Context, addr string) (Conn, error) {
		conn, err := dialHTTP(false, "/echo", "/document")(ctx, addr)
		if err != nil {
			return nil, err
		}
		return gatewayConn{conn.(*httpConn)}, nil
	},
}

// translate adds a method whose request is the whole body.
func translate[T any, M interface {
	*T
	proto.Message
}](mux *runtime.ServeMux, path, method string, call func(context.Context, M) (M, error)) error {
	return mux.HandlePath(http.MethodPost, path, func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		inbound, outbound := runtime.MarshalerForRequest(mux, r)
		ctx, err := runtime.AnnotateIncomingContext(ctx, mux, r, method, runtime.WithHTTPPathPattern(path))
		if err != nil {
			runtime.HTTPError(ctx, mux, outbound, w, r, err)
			return
		}
		in := M(new(T))
		if err := inbound.NewDecoder(http.MaxBytesReader(w, r.Body, MaxMessage)).Decode(in); err != nil && err != io.EOF {
			runtime.HTTPError(ctx, mux, outbound, w, r, status.Errorf(codes.InvalidArgument, "%v", err))
			return
		}
		out, err := call(ctx, in)
		ctx = runtime.NewServerMetadataContext(ctx, runtime.ServerMetadata{})
		if err != nil {
			runtime.HTTPError(ctx, mux, outbound, w, r, err)
			return
		}
		runtime.ForwardResponseMessage(ctx, mux, outbound, w, r, out)
	})
}

// A gatewayConn knows that protobuf's JSON has 64-bit integers as strings.
type gatewayConn struct{ *httpConn }

func (c gatewayConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	type message struct {
		Seq  int64  `json:"seq,string"`
		Text string `json:"text"`
	}
	var m message
	err := c.post(ctx, c.echo, &message{seq, text}, &m)
	return m.Seq, m.Text, err
}
