package wire

import (
	"net/http"

	"github.com/everywire/everywire/wire/connectwire"
	"github.com/everywire/everywire/wire/grpcwire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/sniff"
	"github.com/everywire/everywire/wire/jsonrpc"
	"github.com/everywire/everywire/wire/rest"
)

// An anyHandler gives each request to the wire that it is of. docs/spec/any.md
// has the table.
type anyHandler struct {
	rest, jsonrpc, webSocket, connect, grpc http.Handler
	// isJSONRPC tells the paths that methods declare for JSON-RPC.
	isJSONRPC func(path string) bool
}

// newAnyHandler makes the handler of all wires on HTTP.
func newAnyHandler(cfg *rpc.ServerConfig) (*Handler, error) {
	h, parts := new(Handler), new(anyHandler)
	for _, p := range []struct {
		wire string
		make func(*rpc.ServerConfig) (http.Handler, error)
		to   *http.Handler
	}{
		{"rest", rest.NewHandler, &parts.rest},
		{"jsonrpc", jsonrpc.NewHandler, &parts.jsonrpc},
		{"jsonrpc", webSocket, &parts.webSocket},
		{"connect", connectwire.NewHandler, &parts.connect},
	} {
		part, err := p.make(cfg.Of(p.wire))
		if err != nil {
			return nil, err
		}
		h.endsWith(part)
		*p.to = part
	}
	parts.isJSONRPC = parts.jsonrpc.(interface{ ServesPath(string) bool }).ServesPath
	h.grpc = grpcwire.NewHandler(cfg.Of("grpc"))
	parts.grpc = h.grpc
	h.Handler = parts
	return h, nil
}

// ServeHTTP is [http.Handler]'s.
func (h *anyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.of(r).ServeHTTP(w, r) }

// of finds the wire of a request.
func (h *anyHandler) of(r *http.Request) http.Handler {
	switch {
	case r.URL.Path == jsonrpc.DefaultPath && r.Header["Upgrade"] != nil:
		return h.webSocket
	case r.URL.Path == jsonrpc.DefaultPath, h.isJSONRPC(r.URL.Path):
		return h.jsonrpc
	case sniff.IsGRPC(r.Header.Get("Content-Type")):
		return h.grpc
	case connectwire.IsRequest(r):
		return h.connect
	}
	return h.rest
}
