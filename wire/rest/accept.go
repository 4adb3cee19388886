package rest

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpmeta"
)

// bodyTimeout is how long a request may take to come in, body and all. The
// deadline of the call itself begins when it has.
const bodyTimeout = 2 * time.Minute

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
