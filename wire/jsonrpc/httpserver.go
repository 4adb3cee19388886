package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/origin"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// DefaultPath is where JSON-RPC lives on an HTTP server, beside the paths that
// methods declare.
const DefaultPath = "/rpc"

// pathOf is the target's path, or the default.
func pathOf(path string) string {
	if path == "" || path == "/" {
		return DefaultPath
	}
	return path
}

// NewHTTPServer makes a server of JSON-RPC over HTTP/1.1 and HTTP/2. It answers
// at cfg.Path, or else at [DefaultPath].
func NewHTTPServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	h, err := newHandler(cfg)
	if err != nil {
		return nil, err
	}
	path := pathOf(cfg.Path)
	return web.NewServer(web.Config{
		Handler: cfg.Around(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !h.bare && r.URL.Path != path && !h.ServesPath(r.URL.Path) {
				h.httpError(w, r, http.StatusNotFound, code.InvalidRequest, fmt.Sprintf("JSON-RPC is at %s, not at %s", path, r.URL.Path))
				return
			}
			h.ServeHTTP(w, r)
		})),
		TLS:    cfg.TLS,
		Limits: cfg.Limits,
		Logger: cfg.Logger,
	}), nil
}

type handler struct {
	service *service
	cors    *origin.Policy
	bare    bool   // replies are bare
	path    string // before that of a method, if they are
}

// ServesPath reports whether a method declares that JSON-RPC is answered at path.
func (h *handler) ServesPath(path string) bool { return h.service.names.HasPath(path) }

// NewHandler makes the http.Handler of JSON-RPC, whatever the path. It has a method
// ServesPath, which says which paths the methods declare.
func NewHandler(cfg *rpc.ServerConfig) (http.Handler, error) {
	h, err := newHandler(cfg)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func newHandler(cfg *rpc.ServerConfig) (*handler, error) {
	s, err := newService(cfg)
	if err != nil {
		return nil, err
	}
	cors, err := origin.FromOptions(cfg.Options)
	if err != nil {
		return nil, err
	}
	bare, err := isBare(cfg.Options)
	if err != nil {
		return nil, err
	}
	s.nobody.bare = bare
	return &handler{s, cors, bare, cfg.Path}, nil
}

// An exchange holds what one HTTP request needs; it is reused.
type exchange struct {
	body, reply, coded []byte
	text               text
	prefers            httpbody.Preference // of the client
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func (x *exchange) free() {
	if cap(x.body) > keep || cap(x.reply) > keep || cap(x.coded) > keep || cap(x.text.requests) > 16 {
		return
	}
	clear(x.text.requests)
	exchanges.Put(x)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	web.CloseIfUnclear(w, r)
	if h.cors.Answer(w, r) {
		return
	}
	x := exchanges.Get().(*exchange)
	defer x.free()
	if !h.acceptable(w, r, x) {
		return
	}
	who := &caller{peer: web.Peer(r)}
	var err error
	if who.metadata, _, err = httpmeta.Take(r.Header); err != nil {
		h.httpError(w, r, http.StatusBadRequest, code.InvalidRequest, err.Error())
		return
	}
	switch t := r.Header[httpmeta.TimeoutHeader]; {
	case len(t) > 1:
		err = fmt.Errorf("more than one %s", httpmeta.TimeoutHeader)
	case len(t) == 1:
		who.timeout, err = httpmeta.ParseTimeout(t[0])
	}
	if err != nil {
		h.httpError(w, r, http.StatusBadRequest, code.InvalidRequest, err.Error())
		return
	}
	if !h.read(w, r, x) {
		return
	}
	h.answer(w, r, who, x)
}

// acceptable checks what can be checked before the body is read.
func (h *handler) acceptable(w http.ResponseWriter, r *http.Request, x *exchange) bool {
	x.prefers = httpbody.Accepted(r.Header["Accept-Encoding"])
	_, coding := httpbody.Encoded(r.Header["Content-Encoding"])
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.httpError(w, r, http.StatusMethodNotAllowed, code.InvalidRequest, "JSON-RPC is POST, not "+r.Method)
	case !isJSON(r.Header.Get("Content-Type")) && (!h.bare || !unnamed(r)):
		h.httpError(w, r, http.StatusUnsupportedMediaType, code.InvalidRequest,
			fmt.Sprintf("content type %q is not application/json, application/json-rpc or application/jsonrequest", r.Header.Get("Content-Type")))
	case len(r.Header["Content-Type"]) > 1:
		h.httpError(w, r, http.StatusUnsupportedMediaType, code.InvalidRequest, "more than one content type")
	case coding != nil:
		w.Header().Set("Accept-Encoding", httpbody.Supported+", identity")
		h.httpError(w, r, http.StatusUnsupportedMediaType, code.InvalidRequest, coding.Error())
	case x.prefers.Refuses():
		h.httpError(w, r, http.StatusNotAcceptable, code.InvalidRequest,
			fmt.Sprintf("Accept-Encoding %q allows none of %s, identity", strings.Join(r.Header["Accept-Encoding"], ", "), httpbody.Supported))
	case r.ContentLength > int64(h.service.maxText()):
		h.tooLong(w, r)
	default:
		return true
	}
	return false
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	// Parameters that cannot be parsed do not make it another type.
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return false
	}
	return t == "application/json" || t == "application/json-rpc" || t == "application/jsonrequest"
}

func (h *handler) tooLong(w http.ResponseWriter, r *http.Request) {
	web.CloseAfter(w, r)
	h.httpError(w, r, http.StatusRequestEntityTooLarge, code.JSONRPC(codes.ResourceExhausted),
		fmt.Sprintf("the request is longer than the limit of %d bytes", h.service.maxText()))
}

// read reads the body, within the limit. How long it may take is the server's
// business.
func (h *handler) read(w http.ResponseWriter, r *http.Request, x *exchange) bool {
	limit := h.service.maxText()
	var err error
	x.body, err = httpbody.Read(x.body[:0], r.Body, r.ContentLength, r.Header["Content-Encoding"], limit)
	switch {
	case err == nil:
		return true
	case errors.Is(err, httpbody.ErrTooLarge):
		h.tooLong(w, r)
		return false
	}
	status := http.StatusBadRequest
	if errors.Is(err, os.ErrDeadlineExceeded) {
		status = http.StatusRequestTimeout
	}
	web.CloseAfter(w, r)
	h.httpError(w, r, status, code.ParseError, "the body could not be read: "+err.Error())
	return false
}

// answer runs what is in x.body and writes the response.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, who *caller, x *exchange) {
	s := h.service
	out := x.reply[:0]
	err := x.text.parse(x.body, s.grammar)
	requests := x.text.requests
	httpStatus := http.StatusOK
	switch {
	case err != nil:
		httpStatus = s.nobody.errorStatus()
		out = s.appendTextError(out, err)
	case !x.text.batch || h.bare:
		var outcome *rpc.Outcome
		if h.bare {
			out, outcome = h.bareAnswer(w, r, who, x, out)
		} else {
			out, outcome = h.single(w, r, who, &requests[0], out)
		}
		if h.bare && outcome == nil {
			httpStatus = http.StatusBadRequest // nothing has run
		} else if outcome == nil || outcome.Status.Code() != codes.OK {
			httpStatus = requests[0].errorStatus()
		}
		if outcome != nil {
			httpmeta.Put(w.Header(), "", outcome.Header)
			httpmeta.Put(w.Header(), httpmeta.TrailerPrefix, outcome.Trailer)
		}
	case len(requests) == 0:
		out = s.nobody.appendFailure(out, code.InvalidRequest, emptyBatch)
	default:
		out = h.batch(r.Context(), who, requests, out)
	}
	x.reply = out
	if len(out) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if len(out) >= httpbody.MinSize {
		w.Header()["Vary"] = append(w.Header()["Vary"], "Accept-Encoding")
	}
	coded, ok := x.prefers.Encode(x.coded[:0], out)
	if x.coded = coded; ok {
		w.Header()["Content-Encoding"] = x.prefers.Coding.Header()
		out = coded
	}
	writeJSON(w, r, httpStatus, out)
}

// errorStatus is the status of HTTP with an error of JSON-RPC: HTTP did what it
// should. Servers of JSON-RPC 1.0 say 400, and their clients look at that. Bare replies
// say whose the fault is.
func (r *request) errorStatus() int {
	switch {
	case r.bare && r.method != nil && !r.misfit: // a handler was asked
		return http.StatusInternalServerError
	case r.v1 || r.bare:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// single answers for a handler that ends its goroutine, and then the
// connection's. A panic that comes as far as here goes on to net/http.
func (h *handler) single(w http.ResponseWriter, r *http.Request, who *caller, req *request, dst []byte) ([]byte, *rpc.Outcome) {
	returned := false
	defer func() {
		if !returned {
			web.CloseAfter(w, r)
			writeJSON(w, r, req.errorStatus(), req.appendStatus(nil, rpc.DidNotReturn))
			_ = http.NewResponseController(w).Flush() // fails only if the client is gone
		}
	}()
	out, outcome := h.service.answer(r.Context(), who, req, dst)
	returned = true
	return out, outcome
}

const emptyBatch = "the batch is empty"

func (h *handler) batch(ctx context.Context, who *caller, requests []request, dst []byte) []byte {
	ids := rpc.NewFlights(ctx, nil)
	ctxs := make([]*rpc.CallContext, len(requests))
	for i := range requests {
		ctxs[i] = start(ids, &requests[i])
	}
	slots := make(chan struct{}, min(len(requests), h.service.cfg.Limits.MaxInFlight))
	return h.service.batch(requests, slots, dst, func(i int, dst []byte) []byte { //nolint:contextcheck // each has its own, of ctx
		defer ids.End(ctxs[i])
		dst, _ = h.service.answer(ctxs[i], who, &requests[i], dst)
		return dst
	})
}

// httpError answers a request that is not fit to be read as JSON-RPC; the body
// is an error of JSON-RPC all the same.
func (h *handler) httpError(w http.ResponseWriter, r *http.Request, status, number int, message string) {
	writeJSON(w, r, status, h.service.nobody.appendFailure(nil, number, message))
}

// contentTypeJSON is shared by all responses.
var contentTypeJSON = []string{"application/json"}

func writeJSON(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	web.Answer(w, r, status, contentTypeJSON, body)
}
