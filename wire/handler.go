package wire

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/connectwire"
	"github.com/everywire/everywire/wire/grpcwire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/jsonrpc"
	"github.com/everywire/everywire/wire/rest"
)

// A Handler serves a registry within an HTTP server of the program's own.
// [NewHandler] makes it.
type Handler struct {
	http.Handler
	endings []ending
	grpc    *grpcwire.Handler // nil if it does not serve gRPC
}

// An ending is a part of a handler with connections that outlive requests.
type ending interface {
	Shutdown(ctx context.Context) error
}

// NewHandler makes an http.Handler of the wires on HTTP. The shape is a target
// without its address and may have options: "rest", "jsonrpc+http", "jsonrpc+ws",
// "connect"; or "any" for all of them, told apart as on any://, and for gRPC on
// HTTP/2.
//
// TLS, timeouts and listeners are those of the server that it is mounted in. The
// handler knows no path of its own: to put it below one, use http.StripPrefix.
// gRPC and Connect's clients speak HTTP/2, which an [http.Server] without TLS has
// only if its Protocols say so (SetUnencryptedHTTP2).
func NewHandler(reg *everywire.Registry, shape string, opts ...ServeOption) (*Handler, error) {
	t, err := ParseShape(shape)
	if err != nil {
		return nil, err
	}
	if err := t.checkOptions(serveSide); err != nil {
		return nil, targetError(shape, "%v", err)
	}
	cfg := config{logger: slog.Default()}
	for _, o := range opts {
		o.applyServe(&cfg)
	}
	_, cleartext := t.Options["cleartext"]
	if t.TLS || cleartext || cfg.tls != nil || cfg.listen != nil {
		return nil, targetError(shape, "TLS and the listener of a handler are its server's")
	}
	for _, name := range []string{"keepalive", "keepalivetimeout", "keepalivemin", "maxage", "maxagegrace"} {
		if _, given := t.Options[name]; given {
			return nil, targetError(shape, "the option %s is for connections, and a handler's are its server's", name)
		}
	}
	maker, ok := handlers[t.shape()]
	if !ok {
		return nil, targetError(shape, "%s is not served within HTTP: what is: %s", shapeName(&t), handlerShapes)
	}
	if err := cfg.serves(&t); err != nil {
		return nil, targetError(shape, "%v", err)
	}
	codecs, err := cfg.codecsFor(&t)
	if err != nil {
		return nil, targetError(shape, "%v", err)
	}
	rc := rpc.ServerConfig{
		Registry: reg,
		Limits:   cfg.limits.WithDefaults(),
		StatsOf:  cfg.serverStats(reg),
		Codecs:   codecs,
		Logger:   cfg.logger,
		Options:  t.Options,
		GRPC:     cfg.grpcServe,
	}
	h, err := maker(t.configOf(&rc))
	if err != nil {
		return nil, targetError(shape, "%v", err)
	}
	if cfg.around != nil {
		h.Handler = cfg.around(h.Handler)
	}
	return h, nil
}

// Shutdown ends what outlives requests: it lets the calls on WebSockets finish
// until ctx ends, and closes them then. Calls of gRPC are requests, but those that
// watch the service's health end only by this. http.Server.Shutdown waits for
// requests and knows nothing of WebSockets: call both, at the same time.
func (h *Handler) Shutdown(ctx context.Context) error {
	if h.grpc == nil {
		return h.endConnections(ctx)
	}
	calls := make(chan error, 1)
	go func() { calls <- h.grpc.Shutdown(ctx) }()
	err := h.endConnections(ctx)
	return cmp.Or(<-calls, err)
}

// endConnections is Shutdown for what is on connections of its own.
func (h *Handler) endConnections(ctx context.Context) error {
	errs := make([]error, len(h.endings))
	var wg sync.WaitGroup
	for i, e := range h.endings {
		wg.Go(func() { errs[i] = e.Shutdown(ctx) })
	}
	wg.Wait()
	return cmp.Or(errs...) // that ctx has ended, from whoever noticed
}

// handlers make the wires on HTTP by shape.
var handlers = map[shape]func(*rpc.ServerConfig) (*Handler, error){
	{"rest", "http"}:    one(rest.NewHandler),
	{"jsonrpc", "http"}: one(jsonrpc.NewHandler),
	{"jsonrpc", "ws"}:   one(webSocket),
	{"connect", "http"}: one(connectwire.NewHandler),
	{"any", "tcp"}:      newAnyHandler,
}

// handlerShapes is what handlers has, for messages.
const handlerShapes = "rest, jsonrpc+http, jsonrpc+ws, connect, any"

func webSocket(cfg *rpc.ServerConfig) (http.Handler, error) { return jsonrpc.NewWebSocketHandler(cfg) }

// one makes a Handler of one wire.
func one(maker func(*rpc.ServerConfig) (http.Handler, error)) func(*rpc.ServerConfig) (*Handler, error) {
	return func(cfg *rpc.ServerConfig) (*Handler, error) {
		part, err := maker(cfg)
		if err != nil {
			return nil, err
		}
		h := &Handler{Handler: part}
		h.endsWith(part)
		return h, nil
	}
}

// endsWith remembers a part that has an end of its own.
func (h *Handler) endsWith(part http.Handler) {
	if e, ok := part.(ending); ok {
		h.endings = append(h.endings, e)
	}
}
