package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// beginTimeout bounds the wait for the first control of a client that sends
// them.
const beginTimeout = 10 * time.Second

// lingerTimeout is how long a server reads and drops what still comes of a stream
// that is over: closed with unread bytes, TCP would reset, and the client could
// lose the end.
const lingerTimeout = time.Second

// webSocket answers a request for an upgrade, and reports whether it did: at a
// path without a streaming method the request is like any other (RFC 9110,
// section 7.8).
func (h *handler) webSocket(x *exchange, w http.ResponseWriter, r *http.Request) bool {
	if !h.findStream(x, r) {
		return false
	}
	status, why := h.upgrader.Check(w.Header(), r)
	if status == 0 {
		status, why = x.acceptUpgrade(r)
	}
	if status == 0 && !h.sockets.begin() {
		status, why = http.StatusServiceUnavailable, "the server is shutting down"
	}
	if status != 0 {
		if r.ContentLength != 0 {
			w.Header()["Connection"] = []string{"close"} // the body is not read
		}
		refuseUpgrade(w, r, status, why)
		return true
	}
	defer h.sockets.done()
	conn, subprotocol, err := h.upgrader.Upgrade(w, r)
	switch {
	case err != nil:
		refuseUpgrade(w, r, http.StatusInternalServerError, err.Error())
	case conn != nil:
		s := &socketStream{
			socket: newSocket(conn, true, h.cfg.Limits.MaxMessage), h: h, call: x.in, endpoint: x.endpoint, every: everyMessage(x.endpoint),
			values: slices.Clone(x.values), query: r.URL.RawQuery, header: r.Header, controls: subprotocol != "",
		}
		s.serve(r.Context())
	}
	return true
}

func refuseUpgrade(w http.ResponseWriter, r *http.Request, httpStatus int, why string) {
	writeProblem(w, r, httpStatus, status.New(code.FromHTTP(httpStatus), why))
}

// findStream finds the streaming method of a path, whatever verb its routes have:
// a WebSocket begins with GET. A route with a body comes first, for its message
// can say all that a query can.
func (h *handler) findStream(x *exchange, r *http.Request) bool {
	path := r.URL.EscapedPath()
	streams := func(verb string) bool {
		h.find(verb, path, &x.match)
		return x.endpoint != nil && x.endpoint.method.Kind != everywire.Unary
	}
	if streams(http.MethodPost) || streams("") { // the verb of no route, so that all are listed
		return true
	}
	for _, verb := range slices.Clone(x.allowed) {
		if verb != http.MethodGet && streams(verb) {
			return true
		}
	}
	return streams(http.MethodGet)
}

// acceptUpgrade reads what a request says of the call. It returns the status and
// the reason to refuse it, or 0.
func (x *exchange) acceptUpgrade(r *http.Request) (httpStatus int, why string) {
	x.in.Timeout = 0
	if no := x.readTimeout(r); no != nil {
		return no.status, no.message
	}
	md, _, err := httpmeta.Take(r.Header)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	for name := range md { // the handshake's own
		if isHandshake(name) {
			delete(md, name)
		}
	}
	m := x.endpoint.method
	if m.Kind != everywire.ServerStream && r.URL.RawQuery != "" {
		return http.StatusBadRequest, "method " + m.FullName() + " takes its requests from messages, and nothing from the query"
	}
	x.in.Method, x.in.Metadata, x.in.Peer = m, md, web.Peer(r)
	return 0, ""
}

func isHandshake(key string) bool {
	switch key {
	case "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol", "sec-websocket-extensions":
		return true
	}
	return false
}

// A socketStream is the [rpc.ServerTransport] of a stream on a WebSocket. It keeps
// nothing of the exchange, for goroutines that a handler leaves behind outlive that.
type socketStream struct {
	*socket
	h        *handler
	call     rpc.Incoming // what the request says of it
	endpoint *endpoint
	every    *endpoint // the route, for a message of many
	values   []string  // of the path
	query    string
	header   http.Header
	controls bool // the client wants all, not only messages
	taken    bool // the request of a server stream
	built    builder
}

// serve runs the stream to its end.
func (s *socketStream) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := s.h
	unwatch := h.sockets.onCut(func() {
		s.close(errCut)
		cancel()
	})
	defer unwatch()
	if err := s.begin(); err != nil {
		s.giveUp(err)
		return
	}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		s.read(cancel)
	}()
	outcome := &rpc.Outcome{Status: rpc.DidNotReturn}
	// A handler that ends its goroutine ends this one, but not before the client
	// has been told.
	defer func() { s.end(outcome, reading) }()
	outcome = h.cfg.Stream(ctx, &rpc.IncomingStream{
		Method: s.call.Method, Metadata: s.call.Metadata, Peer: s.call.Peer, Timeout: s.call.Timeout,
		Codec: h.formats.json.codec, Transport: s,
	})
}

// errCut is why a stream is given up by a server that waits no longer.
var errCut = errors.New("the server has shut down")

// begin takes the first control, if the client sends any.
func (s *socketStream) begin() error {
	if !s.controls {
		return nil
	}
	if err := s.raw.SetReadDeadline(time.Now().Add(beginTimeout)); err != nil {
		return err
	}
	text, message, err := s.ws.ReadMessage()
	if err != nil {
		return err
	}
	if text {
		return &websocket.Error{Code: websocket.CloseProtocol, What: "the first message is no control: with " + subprotocol + " it is binary"}
	}
	var first clientControl
	if err := parseControl(message, &first); err != nil {
		return &websocket.Error{Code: websocket.CloseProtocol, What: err.Error()}
	}
	md, err := httpmeta.FromJSON(first.Metadata)
	if err == nil {
		err = rpc.ValidateMetadata(md)
	}
	if err == nil && first.Timeout != "" {
		s.call.Timeout, err = httpmeta.ParseTimeout(first.Timeout)
	}
	if err != nil {
		return &websocket.Error{Code: websocket.CloseProtocol, What: err.Error()}
	}
	s.call.Metadata = metadata.Join(s.call.Metadata, md)
	return s.raw.SetReadDeadline(time.Time{})
}

// read puts what comes into the inbox until the connection ends, and drops what
// comes behind the client's last message.
func (s *socketStream) read(cancel func()) {
	err := s.readMessages()
	var long *websocket.TooLargeError
	if errors.As(err, &long) {
		s.in.close(lengthError(err))
		_, _ = io.Copy(io.Discard, s.raw) // the client may not read before it has written
		cancel()
		return
	}
	s.out.finish(s.ws.Goodbye(err)) // the handler's end is told no more
	cancel()                        // before a handler that receives is told that nothing more comes
	s.in.close(io.ErrUnexpectedEOF)
}

func (s *socketStream) readMessages() error {
	one := s.call.Method.Kind == everywire.ServerStream
	received := 0
	for {
		text, message, err := s.ws.ReadMessage()
		switch {
		case err != nil:
			return err
		case !text:
			return &websocket.Error{Code: closeUnsupported, What: "messages are text"}
		case len(message) == 0:
			s.in.close(io.EOF)
			continue
		case one && received > 0:
			return &websocket.Error{Code: websocket.ClosePolicy, What: "method " + s.call.Method.FullName() + " has one request"}
		}
		received++
		s.in.put(message)
	}
}

// Recv is [rpc.ServerTransport]'s. What the path has is in every request.
func (s *socketStream) Recv(ctx context.Context) ([]byte, error) {
	if s.call.Method.Kind == everywire.ServerStream {
		return s.request(ctx)
	}
	message, err := s.in.take(ctx)
	if err != nil || s.every.plainBody {
		return message, err
	}
	if message, err = s.built.request(s.every, s.values, "", s.header, message); err != nil {
		return nil, badRequest(s.call.Method, err)
	}
	return message, nil
}

// request is that of a server stream: from path and query alone if the route has
// no body, or else with a message in the body's place.
func (s *socketStream) request(ctx context.Context) ([]byte, error) {
	if s.taken {
		return nil, io.EOF
	}
	s.taken = true
	e := s.endpoint
	var body []byte
	if e.wholeBody || e.bodyField != nil {
		message, err := s.in.take(ctx)
		if err != nil && err != io.EOF { //nolint:errorlint // the inbox returns what it was closed with
			return nil, err
		}
		body = message
	}
	message, err := s.built.request(e, s.values, s.query, s.header, body)
	if err != nil {
		return nil, badRequest(s.call.Method, err)
	}
	return message, nil
}

func badRequest(m *everywire.Method, err error) error {
	if _, is := status.FromError(err); is {
		return err
	}
	return status.Errorf(codes.InvalidArgument, "request of %s: %v", m.FullName(), err)
}

// everyMessage is e as a route of the messages of a client's stream: each is the
// body of a request, also on a route that has none.
func everyMessage(e *endpoint) *endpoint {
	every := *e
	every.wholeBody = e.bodyField == nil
	every.plainBody = every.wholeBody && len(e.variables)+len(e.headers)+len(e.cookies) == 0
	return &every
}

// Send is [rpc.ServerTransport]'s.
func (s *socketStream) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	var err error
	if s.text, err = encode(s.text[:0]); err != nil {
		return err
	}
	if f := s.endpoint.responseField; f != nil {
		body, err := memberOr(s.text, f)
		if err != nil {
			return err
		}
		s.text = append(s.text[:0], body...)
	}
	s.text = s.ws.Wrap(s.text, 0, websocket.Text)
	return s.out.send(ctx, s.text)
}

// SendHeader is [rpc.ServerTransport]'s.
func (s *socketStream) SendHeader(md metadata.MD) error {
	if md != nil && s.controls {
		s.post(websocket.Binary, appendJSON(nil, headersControl{httpmeta.ToJSON(md)}))
	}
	return nil
}

// end tells the client how the stream ended, and waits until it has heard it, or
// is gone.
func (s *socketStream) end(outcome *rpc.Outcome, reading <-chan struct{}) {
	var last []byte
	if s.controls {
		last = appendJSON(nil, serverControl{End: newServerEnd(outcome.Status, outcome.Header, outcome.Trailer)})
		last = s.ws.Wrap(last, 0, websocket.Binary)
	}
	last = append(last, s.ws.CloseFrame(closeCode(outcome.Status), outcome.Status.Message())...)
	s.out.finish(last)
	s.in.close(io.ErrClosedPipe) // who reads is not held up any more
	s.part(reading)
}

// giveUp ends a stream whose client has not even begun it.
func (s *socketStream) giveUp(err error) {
	s.out.finish(s.ws.Goodbye(err))
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		_, _ = io.Copy(io.Discard, s.raw) // to its end, or the deadline
	}()
	s.part(reading)
}

// part closes the connection when the last of what is queued has been written and
// the client has closed its side.
func (s *socketStream) part(reading <-chan struct{}) {
	timer := time.AfterFunc(drainTimeout, func() { closeNow(s.raw) })
	<-s.out.done
	timer.Stop()
	_ = s.raw.SetReadDeadline(time.Now().Add(lingerTimeout)) // fails only if it is closed
	<-reading
	closeNow(s.raw)
}
