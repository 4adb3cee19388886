package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/web"
)

// A refusal answers a request that never became a call.
type refusal struct {
	status        int // of HTTP
	code          codes.Code
	message       string
	header, value string // one more header, if any
	upgrade       bool   // to a WebSocket is what the method needs
	closing       bool   // the rest of the request was not read
}

func refuse(httpStatus int, c codes.Code, format string, args ...any) *refusal {
	return &refusal{status: httpStatus, code: c, message: fmt.Sprintf(format, args...)}
}

// with adds a header that says what would have been accepted.
func (no *refusal) with(header, value string) *refusal {
	no.header, no.value = header, value
	return no
}

func (no *refusal) write(w http.ResponseWriter, r *http.Request) {
	if no.upgrade && r.ProtoMajor == 1 { // RFC 9110, section 15.5.22
		w.Header()["Upgrade"], w.Header()["Connection"] = []string{"websocket"}, []string{"Upgrade"}
	}
	if no.header != "" {
		w.Header()[no.header] = []string{no.value}
	}
	if no.closing {
		web.CloseAfter(w, r)
	}
	if no.status == http.StatusNoContent {
		w.WriteHeader(no.status)
		return
	}
	writeProblem(w, r, no.status, status.New(no.code, no.message))
}

// accept reads a request into x, or says why not.
func (h *handler) accept(x *exchange, r *http.Request) *refusal {
	if no := h.route(x, r); no != nil {
		return no
	}
	e := x.endpoint
	if e.method.Kind != everywire.Unary {
		if no := h.acceptStream(x, r); no != nil {
			return no
		}
	} else if no := x.negotiate(r.Header); no != nil {
		return no
	}
	if no := x.readTimeout(r); no != nil {
		return no
	}
	header, no := x.preconditions(r)
	if no != nil {
		return no
	}
	body, no := h.readBody(x, r)
	if no != nil {
		return no
	}
	if body == nil && r.Method == http.MethodPost && !h.upgrader.Origins.AllowPost(r) {
		return refuse(http.StatusForbidden, codes.PermissionDenied, "a page from elsewhere cannot call this: origin %q is not among those of the option origins", strings.Join(r.Header["Origin"], ", "))
	}
	md, _, err := httpmeta.Take(header)
	if err != nil {
		return refuse(http.StatusBadRequest, codes.InvalidArgument, "%v", err)
	}
	x.message, x.err = x.assemble(r, header, body)
	x.in.Method, x.in.Metadata, x.in.Peer, x.in.Size = e.method, md, web.Peer(r), len(x.message)
	return nil
}

// readTimeout reads how long the call may take.
func (x *exchange) readTimeout(r *http.Request) (no *refusal) {
	x.in.Timeout = 0
	v := r.Header[httpmeta.TimeoutHeader]
	if len(v) == 0 {
		return nil
	}
	if len(v) > 1 {
		return refuse(http.StatusBadRequest, codes.InvalidArgument, "more than one %s", httpmeta.TimeoutHeader)
	}
	var err error
	if x.in.Timeout, err = httpmeta.ParseTimeout(v[0]); err != nil {
		return refuse(http.StatusBadRequest, codes.InvalidArgument, "%v", err)
	}
	return nil
}

// assemble returns the message of a request, and sets its format. Where the
// body is the whole message that is the body's own; a message that is put
// together from several places is put together as JSON.
func (x *exchange) assemble(r *http.Request, header http.Header, body []byte) (message []byte, err error) {
	e := x.endpoint
	if !x.bodyFormat.isJSON && (body == nil || !e.plainBody) {
		if body != nil {
			if body, err = toJSON(nil, x.bodyFormat, body); err != nil {
				return nil, fmt.Errorf("the body: %w", err)
			}
		}
		x.bodyFormat = x.h.formats.json
	}
	return x.request(e, x.values, r.URL.RawQuery, header, body)
}

// route finds the endpoint, or answers for the wire.
func (h *handler) route(x *exchange, r *http.Request) *refusal {
	verb, path := r.Method, r.URL.EscapedPath()
	h.find(verb, path, &x.match)
	switch {
	case x.endpoint != nil:
		return nil
	case len(x.allowed) == 0:
		return refuse(http.StatusNotFound, codes.Unimplemented, "no route matches the path %s", path)
	case verb == http.MethodOptions:
		return (&refusal{status: http.StatusNoContent}).with("Allow", x.allow())
	}
	return refuse(http.StatusMethodNotAllowed, codes.Unimplemented, "%s is not allowed on %s: use %s", r.Method, path, x.allow()).with("Allow", x.allow())
}

// readBody returns the request's body as it is without codings, nil if it has
// none. What can be refused by the head alone is refused before the body is
// read.
func (h *handler) readBody(x *exchange, r *http.Request) ([]byte, *refusal) {
	x.bodyFormat = h.formats.json
	if r.ContentLength == 0 {
		return x.emptyBody(r), nil
	}
	limit := h.cfg.Limits.MaxMessage
	if r.ContentLength > int64(limit) {
		return nil, tooLarge(limit)
	}
	coding, no := x.bodyHead(r)
	if no != nil {
		// A chunked body may turn out to be empty; then its type is no matter.
		if r.ContentLength < 0 && isEmpty(r) {
			return nil, nil
		}
		return nil, no
	}
	var err error
	x.bodyBuf, err = httpbody.ReadAll(x.bodyBuf[:0], r.Body, r.ContentLength, limit)
	if err != nil {
		no := bodyError(err, limit)
		no.closing = true
		return nil, no
	}
	if len(x.bodyBuf) == 0 {
		return x.emptyBody(r), nil
	}
	if coding == httpbody.Identity {
		return x.bodyBuf, nil
	}
	if x.scratch, err = coding.Decode(x.scratch[:0], x.bodyBuf, limit); err != nil {
		no := bodyError(err, limit)
		no.closing = false // all of it has come
		return nil, no
	}
	x.bodyBuf, x.scratch = x.scratch, x.bodyBuf
	if len(x.bodyBuf) == 0 {
		return x.emptyBody(r), nil
	}
	return x.bodyBuf, nil
}

// emptyBody returns the body of a request without content: none, unless its type is
// of a format in which a whole message may be no bytes at all.
func (x *exchange) emptyBody(r *http.Request) []byte {
	if r.Header["Content-Type"] == nil {
		return nil
	}
	f, err := x.h.formats.of(r.Header)
	if err != nil || f.isDocument || f.reads(x.endpoint, r.URL.RawQuery) != nil {
		return nil
	}
	x.bodyFormat = f
	return []byte{}
}

// bodyHead reads what the head says about a body.
func (x *exchange) bodyHead(r *http.Request) (httpbody.Coding, *refusal) {
	coding := httpbody.Identity
	var err error
	if lines := r.Header["Content-Encoding"]; len(lines) > 0 {
		if coding, err = httpbody.Encoded(lines); err != nil {
			return coding, refuse(http.StatusUnsupportedMediaType, codes.InvalidArgument, "%v", err).with("Accept-Encoding", httpbody.Supported+", identity")
		}
	}
	fs := x.h.formats
	f, err := fs.of(r.Header)
	if err != nil {
		return coding, refuse(http.StatusUnsupportedMediaType, codes.InvalidArgument, "%v", err).with("Accept", types(fs.all))
	}
	if err := f.reads(x.endpoint, r.URL.RawQuery); err != nil {
		want := types(fs.readable(x.endpoint, r.URL.RawQuery))
		return coding, refuse(http.StatusUnsupportedMediaType, codes.Unimplemented, "%v: want one of %s", err, want).with("Accept", want)
	}
	x.bodyFormat = f
	return coding, nil
}

// bodyError answers for a body that could not be had.
func bodyError(err error, limit int) *refusal {
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		return tooLarge(limit)
	case isTimeout(err):
		return refuse(http.StatusRequestTimeout, codes.DeadlineExceeded, "the request's body did not come in within %v", web.BodyTimeout)
	}
	return refuse(http.StatusBadRequest, codes.InvalidArgument, "reading the request's body: %v", err)
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
