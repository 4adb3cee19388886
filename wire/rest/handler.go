package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/origin"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// NewHandler returns the wire as an http.Handler, for a server of the caller's
// own. It refuses routes that it does not support and routes in conflict; the
// error names them all.
func NewHandler(cfg *rpc.ServerConfig) (http.Handler, error) {
	return newHandler(cfg)
}

type handler struct {
	cfg     *rpc.ServerConfig
	formats *formats
	logger  *slog.Logger
	prefix  string // of all paths; "" or begins with a slash and does not end in one

	documents *documents // answer where no route matches

	cors     *origin.Policy
	upgrader websocket.Upgrader
	sockets  sockets

	ledger ledger // of calls that had a key

	table atomic.Pointer[table]
	mu    sync.Mutex // held while the table is remade
}

// A table is the router for the methods that the registry had when it was made.
type table struct {
	router  *router
	methods []*everywire.Method // in the order in which their routes were added
}

func newHandler(cfg *rpc.ServerConfig) (*handler, error) {
	h := &handler{cfg: cfg, logger: cfg.Logger, prefix: strings.TrimSuffix(cfg.Path, "/")}
	if h.logger == nil {
		h.logger = slog.Default()
	}
	var err error
	if h.formats, err = newFormats(cfg.Codecs); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	if h.documents, err = documentsOf(cfg); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	methods := cfg.Registry.Methods()
	r, err := newRouter(methods)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	if h.cors, err = origin.FromOptions(cfg.Options); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	h.upgrader.Subprotocols = []string{subprotocol}
	if v, ok := cfg.Options["origins"]; ok {
		if h.upgrader.Origins, err = origin.Parse(v); err != nil {
			return nil, fmt.Errorf("rest: %w", err)
		}
	}
	h.table.Store(&table{r, methods})
	return h, nil
}

// Shutdown waits for the streams that run on WebSockets, and cuts them off when
// ctx ends; no new one begins. The server that the handler is mounted in does not
// know these connections, and is to be shut down by itself.
func (h *handler) Shutdown(ctx context.Context) error { return h.sockets.shutdown(ctx) }

// find looks up a request's endpoint. A miss may be a method that was
// registered after the table was made; methods are never removed, so their
// number tells. Routes that are in error by then are logged and not found.
func (h *handler) find(verb, path string, m *match) {
	if h.prefix != "" {
		var ok bool
		if path, ok = strings.CutPrefix(path, h.prefix); !ok {
			path = ""
		}
	}
	t := h.table.Load()
	if t.router.find(verb, path, m); m.endpoint != nil {
		return
	}
	methods := h.cfg.Registry.Methods()
	if len(methods) == len(t.methods) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if t = h.table.Load(); len(methods) > len(t.methods) {
		t = t.extended(methods)
		r, err := newRouter(t.methods)
		if err != nil {
			h.logger.Error("rest: routes of methods registered later are left out", "error", err)
		}
		t.router = r
		h.table.Store(t)
	}
	t.router.find(verb, path, m)
}

// extended returns the methods of t and those that are new, in this order: in
// a conflict it is the new one's route that is left out.
func (t *table) extended(methods []*everywire.Method) *table {
	known := make(map[*everywire.Method]bool, len(t.methods))
	for _, m := range t.methods {
		known[m] = true
	}
	all := slices.Clone(t.methods)
	for _, m := range methods {
		if !known[m] {
			all = append(all, m)
		}
	}
	return &table{methods: all}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchanges.Get().(*exchange)
	defer x.release()
	x.h = h
	web.CloseIfUnclear(w, r)
	if h.cors.Answer(w, r) {
		return
	}
	if asksForWebSocket(r) && h.webSocket(x, w, r) {
		return
	}
	if no := h.accept(x, r); no != nil {
		if no.status == http.StatusNotFound && h.documents.serve(w, r) {
			return
		}
		no.write(w, r)
		return
	}
	if x.in.Method.Kind != everywire.Unary {
		h.serveStream(x, w, r)
		return
	}
	h.serveUnary(x, w, r)
}

// serveUnary answers a unary call: by running it, or with what was remembered
// of the first one with its key.
func (h *handler) serveUnary(x *exchange, w http.ResponseWriter, r *http.Request) {
	a, c, no := h.claim(x, r)
	switch {
	case no != nil:
		no.write(w, r)
		return
	case c == known:
		x.result = a.result
		w.Header()[replayedHeader] = []string{"true"}
	case a != nil:
		h.runKeyed(x, w, r, a)
	default:
		x.outcome = h.unary(x, w, r)
	}
	x.respond(w, r)
}

// unary answers for a handler that ends its goroutine, and then, on HTTP/1.1, the
// connection's. A panic that comes as far as here goes on to the server.
func (h *handler) unary(x *exchange, w http.ResponseWriter, r *http.Request) (outcome *rpc.Outcome) {
	if r.ProtoMajor > 1 {
		// Servers of later versions reset a stream whose goroutine ends, and what
		// was written is lost.
		if !rpc.Returns(func() { outcome = h.cfg.Unary(r.Context(), &x.in) }) {
			outcome = &rpc.Outcome{Status: rpc.DidNotReturn}
		}
		return outcome
	}
	returned := false
	defer func() {
		if !returned {
			didNotReturn(w, r)
		}
	}()
	outcome = h.cfg.Unary(r.Context(), &x.in)
	returned = true
	return outcome
}

// didNotReturn answers for a handler that ends its goroutine, while that ends.
func didNotReturn(w http.ResponseWriter, r *http.Request) {
	httpStatus := code.HTTP(rpc.DidNotReturn.Code())
	body := encodeProblem(httpStatus, rpc.DidNotReturn)
	web.CloseAfter(w, r)
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))} // nobody will end chunks
	web.Answer(w, r, httpStatus, problemHeader, body)
	_ = http.NewResponseController(w).Flush() // fails only if the client is gone
}

// runKeyed runs a call that has a key, and remembers what it came to.
func (h *handler) runKeyed(x *exchange, w http.ResponseWriter, r *http.Request, a *entry) {
	defer a.drop() // unless it was kept
	x.outcome = h.unary(x, w, r)
	x.keep(a)
}
