package connectwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/origin"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

type handler struct {
	cfg      *rpc.ServerConfig
	prefix   string // of all paths; "" or begins with a slash and does not end in one
	codecs   codecs
	options  []connect.HandlerOption
	refusals *connect.ErrorWriter

	endpoints sync.Map // *everywire.Method -> *connect.Handler
}

// NewHandler returns the wire as an http.Handler, for a server of the caller's
// own. Streams that go both ways need HTTP/2.
func NewHandler(cfg *rpc.ServerConfig) (http.Handler, error) {
	pages, err := origin.FromOptions(cfg.Options)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return pages.Handler(newHandler(cfg)), nil
}

func newHandler(cfg *rpc.ServerConfig) *handler {
	h := &handler{cfg: cfg, prefix: strings.TrimSuffix(cfg.Path, "/"), codecs: newCodecs(cfg.Codecs)}
	h.options = []connect.HandlerOption{
		connect.WithReadMaxBytes(cfg.Limits.MaxMessage),
		connect.WithCompressMinBytes(httpbody.MinSize),
	}
	for _, c := range h.codecs {
		h.options = append(h.options, connect.WithCodec(c))
	}
	charset := *h.codecs["json"]
	charset.name = jsonWithCharset
	h.options = append(h.options, connect.WithCodec(&charset))
	for _, c := range codings {
		h.options = append(h.options, connect.WithCompression(c.String(), newDecompressor(c, cfg.Limits.MaxMessage), newCompressor(c)))
	}
	h.refusals = connect.NewErrorWriter(h.options...)
	return h
}

// endpoint returns connect-go's handler of a method. It is made at the first
// call: methods may be registered later.
func (h *handler) endpoint(m *everywire.Method) http.Handler {
	if e, ok := h.endpoints.Load(m); ok {
		return e.(*connect.Handler)
	}
	opts := h.options
	if m.Idempotency == everywire.NoSideEffects {
		opts = append(opts[:len(opts):len(opts)], connect.WithIdempotency(connect.IdempotencyNoSideEffects))
	}
	var e *connect.Handler
	switch m.Kind {
	case everywire.ClientStream:
		e = connect.NewClientStreamHandler(m.Path(), h.clientStream, opts...)
	case everywire.ServerStream:
		e = connect.NewServerStreamHandler(m.Path(), h.serverStream, opts...)
	case everywire.BidiStream:
		e = connect.NewBidiStreamHandler(m.Path(), h.bidiStream, opts...)
	default:
		e = connect.NewUnaryHandler(m.Path(), h.unary, opts...)
	}
	made, _ := h.endpoints.LoadOrStore(m, e)
	return made.(*connect.Handler)
}

// A call is what goes round connect-go, which knows nothing of it.
type call struct {
	kind
	method     *everywire.Method
	peer       *peer.Peer
	controller *http.ResponseController
}

type callKey struct{}

func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isText(r) {
		text := &textWriter{ResponseWriter: w}
		defer text.end()
		w, r = text, binaryRequest(r)
	}
	path := procedure(r.URL, h.prefix)
	m, err := h.cfg.Lookup(path)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	if r.Method != http.MethodPost && (r.Method != http.MethodGet || m.Kind != everywire.Unary || m.Idempotency != everywire.NoSideEffects) {
		allow := "POST"
		if m.Kind == everywire.Unary && m.Idempotency == everywire.NoSideEffects {
			allow = "GET, POST"
		}
		w.Header().Set("Allow", allow)
		h.reject(w, http.StatusMethodNotAllowed, errMethod)
		return
	}
	k, err := h.codecs.kindOf(r, m.Kind != everywire.Unary)
	if err != nil {
		h.reject(w, http.StatusUnsupportedMediaType, err)
		return
	}
	if err := rpc.Carries(k.codec.Codec, m); err != nil {
		h.refuse(w, r, err)
		return
	}
	if m.Kind == everywire.BidiStream && r.ProtoMajor < 2 {
		// Its client might wait for ever for a reply that needs the request to
		// have ended.
		w.Header().Set("Connection", "close")
		h.reject(w, http.StatusHTTPVersionNotSupported, fmt.Errorf("%s streams both ways, which needs HTTP/2", m.FullName()))
		return
	}
	c := &call{kind: k, method: m, peer: web.Peer(r), controller: http.NewResponseController(w)}
	if err := checkMessage(r); err != nil {
		h.refuse(w, r, status.Errorf(codes.InvalidArgument, "request of %s: %v", m.FullName(), err))
		return
	}
	if err := h.boundBody(c, w, r); err != nil {
		h.refuse(w, r, err)
		return
	}
	h.endpoint(m).ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
}

// drained is how much more than a message may have is read of one that is too
// large: a client that learns of it while it still sends may not learn why.
const drained = 256 << 10

// boundBody sets the limits of a request's body before any of it is read.
func (h *handler) boundBody(c *call, w http.ResponseWriter, r *http.Request) error {
	limit := int64(h.cfg.Limits.MaxMessage)
	most := limit + drained
	switch {
	case most < limit: // there is none
	case c.enveloped:
		r.Body = &boundedBody{ReadCloser: r.Body, limit: most}
	case r.ContentLength > most:
		w.Header().Set("Connection", "close")
		return status.Errorf(codes.ResourceExhausted, "received message larger than max (%d vs. %d)", r.ContentLength, limit)
	case r.Method == http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, most)
	}
	if !c.enveloped && r.Method == http.MethodPost {
		r.Body = &unaryBody{r.Body, r.Context().Err}
	}
	if c.method.Kind == everywire.Unary {
		return nil
	}
	if web.IsOwn(r) { // it waits so long for a request; a stream may take longer
		_ = c.controller.SetReadDeadline(time.Time{}) // fails only if the connection is gone, which ends the context
	}
	if r.ProtoMajor == 1 {
		// Else net/http would read the requests to their end before the first
		// reply. Others' servers may not have it, and then that is how they are.
		_ = c.controller.EnableFullDuplex()
	}
	return nil
}

// A unaryBody is a body whose faults are the client's. connect-go has no code
// for what it cannot read, which would be HTTP's 500.
type unaryBody struct {
	io.ReadCloser
	ended func() error // the request's context's
}

func (b *unaryBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var large *http.MaxBytesError
	var timeout net.Error
	switch {
	case err == nil || err == io.EOF || errors.As(err, &large) || b.ended() != nil:
		return n, err
	case errors.As(err, &timeout) && timeout.Timeout():
		return n, connect.NewError(connect.CodeDeadlineExceeded, errors.New("the request's body did not come in in time"))
	}
	return n, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("reading the request's body: %w", err))
}

// refuse answers a call that never began, in its own protocol.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	_ = h.refusals.Write(notFound{w}, r, connectError(status.Convert(err), connect.ProtocolConnect)) // fails only if the client is gone
}

// notFound makes the status of unary Connect for a method that there is not that
// of HTTP for a path that there is not. The body has the code.
type notFound struct{ http.ResponseWriter }

func (w notFound) WriteHeader(status int) {
	if status == http.StatusNotImplemented {
		status = http.StatusNotFound
	}
	w.ResponseWriter.WriteHeader(status)
}

// reject answers what is a call in no protocol.
func (h *handler) reject(w http.ResponseWriter, httpStatus int, err error) {
	if httpStatus == http.StatusUnsupportedMediaType {
		w.Header().Set("Accept-Post", h.codecs.contentTypes())
	}
	http.Error(w, err.Error(), httpStatus)
}

// contentTypes lists the content types of calls.
func (cs codecs) contentTypes() string {
	var types []string
	for _, prefix := range []string{unaryType, streamType, grpcType + "+", grpcWebType + "+", textType + "+"} {
		for _, name := range cs.names() {
			types = append(types, prefix+name)
		}
	}
	return strings.Join(types, ", ")
}
