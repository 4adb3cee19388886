package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// DefaultPath is where JSON-RPC lives on an HTTP server.
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
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				h.httpError(w, http.StatusNotFound, code.InvalidRequest, fmt.Sprintf("JSON-RPC is at %s, not at %s", path, r.URL.Path))
				return
			}
			h.ServeHTTP(w, r)
		}),
		TLS:    cfg.TLS,
		Limits: cfg.Limits,
		Logger: cfg.Logger,
	}), nil
}

type handler struct{ service *service }

// NewHandler makes the http.Handler of JSON-RPC, whatever the path.
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
	return &handler{s}, nil
}

// An exchange holds what one HTTP request needs; it is reused.
type exchange struct {
	body, reply []byte
	text        text
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func (x *exchange) free() {
	if cap(x.body) > keep || cap(x.reply) > keep || cap(x.text.requests) > 16 {
		return
	}
	clear(x.text.requests)
	exchanges.Put(x)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 && !web.IsOurs(r) {
		// A request with both a length and chunks must close its connection
		// (RFC 9112, section 6.1), but net/http has dropped the length by now.
		w.Header().Set("Connection", "close")
	}
	if !h.acceptable(w, r) {
		return
	}
	who := &caller{peer: web.Peer(r)}
	var err error
	if who.metadata, _, err = httpmeta.Take(r.Header); err != nil {
		h.httpError(w, http.StatusBadRequest, code.InvalidRequest, err.Error())
		return
	}
	switch t := r.Header[httpmeta.TimeoutHeader]; {
	case len(t) > 1:
		err = fmt.Errorf("more than one %s", httpmeta.TimeoutHeader)
	case len(t) == 1:
		who.timeout, err = httpmeta.ParseTimeout(t[0])
	}
	if err != nil {
		h.httpError(w, http.StatusBadRequest, code.InvalidRequest, err.Error())
		return
	}
	x := exchanges.Get().(*exchange)
	defer x.free()
	if !h.read(w, r, x) {
		return
	}
	h.answer(w, r, who, x)
}

// acceptable checks what can be checked before the body is read.
func (h *handler) acceptable(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.httpError(w, http.StatusMethodNotAllowed, code.InvalidRequest, "JSON-RPC is POST, not "+r.Method)
	case !isJSON(r.Header.Get("Content-Type")):
		h.httpError(w, http.StatusUnsupportedMediaType, code.InvalidRequest,
			fmt.Sprintf("content type %q is not application/json, application/json-rpc or application/jsonrequest", r.Header.Get("Content-Type")))
	case len(r.Header["Content-Type"]) > 1:
		h.httpError(w, http.StatusUnsupportedMediaType, code.InvalidRequest, "more than one content type")
	case !isIdentity(r.Header["Content-Encoding"]):
		h.httpError(w, http.StatusUnsupportedMediaType, code.InvalidRequest,
			fmt.Sprintf("content encoding %q is not supported", strings.Join(r.Header["Content-Encoding"], ", ")))
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

// isIdentity reports whether no coding but identity is named, on any line.
func isIdentity(encodings []string) bool {
	for _, e := range encodings {
		if e != "" && !strings.EqualFold(e, "identity") {
			return false
		}
	}
	return true
}

func (h *handler) tooLong(w http.ResponseWriter, r *http.Request) {
	closeAfter(w, r)
	h.httpError(w, http.StatusRequestEntityTooLarge, code.JSONRPC(codes.ResourceExhausted),
		fmt.Sprintf("the request is longer than the limit of %d bytes", h.service.maxText()))
}

// read reads the body, within the limit. How long it may take is the server's
// business.
func (h *handler) read(w http.ResponseWriter, r *http.Request, x *exchange) bool {
	var err error
	x.body, err = readAll(x.body[:0], r.Body, r.ContentLength, h.service.maxText())
	if err == nil {
		return true
	}
	if errors.Is(err, errTooLong) {
		h.tooLong(w, r)
		return false
	}
	status := http.StatusBadRequest
	if errors.Is(err, os.ErrDeadlineExceeded) {
		status = http.StatusRequestTimeout
	}
	closeAfter(w, r)
	h.httpError(w, status, code.ParseError, "the body could not be read: "+err.Error())
	return false
}

// closeAfter ends the connection with the response: the rest of the body is not
// read. HTTP/2 ends the stream alone, by itself.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header()["Connection"] = []string{"close"}
	}
}

var errTooLong = errors.New("longer than the limit")

// readAll appends what r has to dst. size is what it is said to have, -1 if
// nothing was said; it is believed up to a point.
func readAll(dst []byte, r io.Reader, size int64, limit int) ([]byte, error) {
	const believe = 64 << 10
	if want := int(min(size, believe)) + 1; cap(dst) < want {
		dst = make([]byte, 0, max(want, 512))
	}
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > limit:
			return dst, errTooLong
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
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
	case !x.text.batch:
		var outcome *rpc.Outcome
		out, outcome = h.single(w, r, who, &requests[0], out)
		if outcome == nil || outcome.Status.Code() != codes.OK {
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
	writeJSON(w, httpStatus, out)
}

// errorStatus is the status of HTTP with an error of JSON-RPC: HTTP did what it
// should. Servers of JSON-RPC 1.0 say 400, and their clients look at that.
func (r *request) errorStatus() int {
	if r.v1 {
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
			closeAfter(w, r)
			writeJSON(w, req.errorStatus(), req.appendStatus(nil, rpc.DidNotReturn))
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
func (h *handler) httpError(w http.ResponseWriter, status, number int, message string) {
	writeJSON(w, status, h.service.nobody.appendFailure(nil, number, message))
}

// contentTypeJSON is shared by all responses.
var contentTypeJSON = []string{"application/json"}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentTypeJSON
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone has nobody to tell
}
