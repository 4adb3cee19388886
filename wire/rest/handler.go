package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// bodyTimeout is how long a request may take to come in, body and all. The
// deadline of the call itself begins when it has.
const bodyTimeout = 2 * time.Minute

// readDeadline is what the ResponseWriter of net/http can do. After the body
// the read deadline must go, or a handler that runs longer would be cancelled
// when it passes.
type readDeadline interface{ SetReadDeadline(time.Time) error }

// NewHandler returns the wire as an http.Handler, for a server of the caller's
// own. It refuses routes that it does not support and routes in conflict; the
// error names them all.
func NewHandler(cfg *rpc.ServerConfig) (http.Handler, error) {
	return newHandler(cfg)
}

type handler struct {
	cfg    *rpc.ServerConfig
	logger *slog.Logger
	prefix string // of all paths; "" or begins with a slash and does not end in one
	codec  json.Codec
	// ownServer is set on our own listener. On another's server the timeouts
	// are the other's.
	ownServer bool

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
	methods := cfg.Registry.Methods()
	r, err := newRouter(methods)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	h.table.Store(&table{r, methods})
	return h, nil
}

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

// An exchange is what one request needs and the next can use again.
type exchange struct {
	h *handler
	match
	builder
	in      rpc.Incoming
	body    []byte
	message []byte // the request's JSON
	err     error  // why there is none
	reply   []byte // the buffer
	out     []byte // what to send: in reply
}

var exchanges = sync.Pool{New: func() any {
	x := &exchange{}
	x.in.Decode, x.in.Encode = x.decode, x.encode
	return x
}}

// maxPooledPairs is how many query parameters an exchange keeps room for.
const maxPooledPairs = 256

func (x *exchange) release() {
	if cap(x.body)+cap(x.reply)+cap(x.buf) > maxPooled {
		return
	}
	if clear(x.pairs); cap(x.pairs) > maxPooledPairs {
		x.pairs = nil
	}
	x.h, x.endpoint, x.message, x.out, x.err = nil, nil, nil, nil, nil
	x.in.Method, x.in.Metadata, x.in.Peer = nil, nil, nil
	exchanges.Put(x)
}

func (x *exchange) decode(v any) error {
	if x.err != nil {
		return x.err
	}
	return x.h.codec.Decode(x.message, v)
}

func (x *exchange) encode(v any) (n int, err error) {
	if x.reply, err = x.h.codec.Append(x.reply[:0], v); err != nil {
		return 0, err
	}
	x.out = x.reply
	if f := x.endpoint.responseField; f != nil {
		x.out, err = memberOr(x.reply, f)
	}
	return len(x.out), err
}

// memberOr returns the value of a message's field, also if the codec left it
// out.
func memberOr(message []byte, f *field) ([]byte, error) {
	value := []byte(nil)
	err := members(message, func(name, v []byte) bool {
		if string(name) == f.name {
			value = v
		}
		return value == nil
	})
	if value == nil {
		value = []byte(f.absent)
	}
	return value, err
}

// A refusal is a request that never became a call.
type refusal struct {
	status  int // of HTTP
	code    codes.Code
	message string
	allow   string // the Allow header, with 405
	closing bool   // the rest of the request was not read
}

func refuse(httpStatus int, c codes.Code, format string, args ...any) *refusal {
	return &refusal{status: httpStatus, code: c, message: fmt.Sprintf(format, args...)}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchanges.Get().(*exchange)
	defer x.release()
	x.h = h
	if len(r.TransferEncoding) > 0 {
		// A request with both a length and chunks must close its connection
		// (RFC 9112, section 6.1), but net/http has dropped the length by now.
		w.Header()["Connection"] = []string{"close"}
	}
	if no := h.accept(x, r); no != nil {
		if no.allow != "" {
			w.Header()["Allow"] = []string{no.allow}
		}
		if no.closing {
			w.Header()["Connection"] = []string{"close"}
		}
		if no.status == http.StatusNoContent {
			w.WriteHeader(no.status)
			return
		}
		if no.status == http.StatusUnsupportedMediaType && r.Header.Get("Content-Encoding") != "" {
			w.Header()["Accept-Encoding"] = []string{"identity"} // RFC 9110, section 12.5.3
		}
		writeProblem(w, r, no.status, status.New(no.code, no.message))
		return
	}
	if d, ok := w.(readDeadline); ok && h.ownServer {
		_ = d.SetReadDeadline(time.Time{}) // fails only if the connection is gone, which ends the context
	}
	outcome := h.unary(x, w, r)
	header := w.Header()
	httpmeta.Put(header, "", outcome.Header)
	httpmeta.Put(header, httpmeta.TrailerPrefix, outcome.Trailer)
	if c := outcome.Status.Code(); c != codes.OK {
		writeProblem(w, r, code.HTTP(c), outcome.Status)
		return
	}
	write(w, r, http.StatusOK, jsonHeader, x.out)
}

// unary answers for a handler that ends its goroutine, and then the
// connection's. A panic that comes as far as here goes on to net/http.
func (h *handler) unary(x *exchange, w http.ResponseWriter, r *http.Request) *rpc.Outcome {
	returned := false
	defer func() {
		if !returned {
			httpStatus := code.HTTP(rpc.DidNotReturn.Code())
			body := encodeProblem(httpStatus, rpc.DidNotReturn)
			w.Header()["Connection"] = []string{"close"}
			w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))} // nobody will end chunks
			write(w, r, httpStatus, problemHeader, body)
			_ = http.NewResponseController(w).Flush() // fails only if the client is gone
		}
	}()
	outcome := h.cfg.Unary(r.Context(), &x.in)
	returned = true
	return outcome
}

var jsonHeader, problemHeader = []string{jsonType}, []string{problemType}

func writeProblem(w http.ResponseWriter, r *http.Request, httpStatus int, s *status.Status) {
	write(w, r, httpStatus, problemHeader, encodeProblem(httpStatus, s))
}

// sniffed is the length up to which net/http buffers a body and sets its length
// itself, which is cheaper.
const sniffed = 2 << 10

func write(w http.ResponseWriter, r *http.Request, httpStatus int, contentType []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	if len(body) > sniffed || r.Method == http.MethodHead {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(httpStatus)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client is gone, whom nothing can be told
	}
}

// accept reads a request into x, or says why not.
func (h *handler) accept(x *exchange, r *http.Request) *refusal {
	if no := h.route(x, r); no != nil {
		return no
	}
	e := x.endpoint
	if e.method.Kind != everywire.Unary {
		return refuse(http.StatusNotImplemented, codes.Unimplemented, "method %s is %s, which this wire does not carry", e.method.FullName(), e.method.Kind)
	}
	if !acceptsJSON(r.Header) {
		return refuse(http.StatusNotAcceptable, codes.InvalidArgument, "Accept does not allow %s", jsonType)
	}
	x.in.Timeout = 0
	if v := r.Header[httpmeta.TimeoutHeader]; len(v) > 0 {
		if len(v) > 1 {
			return refuse(http.StatusBadRequest, codes.InvalidArgument, "more than one %s", httpmeta.TimeoutHeader)
		}
		var err error
		if x.in.Timeout, err = httpmeta.ParseTimeout(v[0]); err != nil {
			return refuse(http.StatusBadRequest, codes.InvalidArgument, "%v", err)
		}
	}
	body, no := h.readBody(x, r)
	if no != nil {
		return no
	}
	var md metadata.MD
	md, _, err := httpmeta.Take(r.Header)
	if err != nil {
		return refuse(http.StatusBadRequest, codes.InvalidArgument, "%v", err)
	}
	x.message, x.err = x.request(e, x.values, r.URL.RawQuery, body)
	x.in.Method, x.in.Metadata, x.in.Peer, x.in.Size = e.method, md, peerOf(r), len(x.message)
	return nil
}

// route finds the endpoint, or answers for the wire.
func (h *handler) route(x *exchange, r *http.Request) *refusal {
	verb := r.Method
	if verb == http.MethodHead {
		verb = http.MethodGet
	}
	path := r.URL.EscapedPath()
	h.find(verb, path, &x.match)
	switch {
	case x.endpoint != nil:
		return nil
	case len(x.allowed) == 0:
		return refuse(http.StatusNotFound, codes.Unimplemented, "no route matches the path %s", path)
	case verb == http.MethodOptions:
		return &refusal{status: http.StatusNoContent, allow: x.allow()}
	}
	no := refuse(http.StatusMethodNotAllowed, codes.Unimplemented, "%s is not allowed on %s: use %s", r.Method, path, x.allow())
	no.allow = x.allow()
	return no
}

// readBody returns the request's body, nil if it has none.
func (h *handler) readBody(x *exchange, r *http.Request) ([]byte, *refusal) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	limit := h.cfg.Limits.MaxMessage
	if r.ContentLength > int64(limit) {
		return nil, tooLarge(limit)
	}
	if wrong := checkContentType(r.Header); wrong != "" {
		// A chunked body may turn out to be empty; then its type is no matter.
		if r.ContentLength < 0 && isEmpty(r) {
			return nil, nil
		}
		return nil, refuse(http.StatusUnsupportedMediaType, codes.InvalidArgument, "%s", wrong)
	}
	var err error
	x.body, err = readAll(x.body[:0], r.Body, r.ContentLength, limit)
	switch {
	case isTimeout(err):
		no := refuse(http.StatusRequestTimeout, codes.DeadlineExceeded, "the request's body did not come in within %v", bodyTimeout)
		no.closing = true
		return nil, no
	case err != nil:
		no := refuse(http.StatusBadRequest, codes.InvalidArgument, "reading the request's body: %v", err)
		no.closing = true
		return nil, no
	case len(x.body) > limit:
		return nil, tooLarge(limit)
	case len(x.body) == 0:
		return nil, nil
	}
	return x.body, nil
}

func tooLarge(limit int) *refusal {
	no := refuse(http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "the request's body is larger than the limit of %d bytes", limit)
	no.closing = true
	return no
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func isEmpty(r *http.Request) bool {
	var b [1]byte
	n, _ := r.Body.Read(b[:])
	return n == 0
}
