package rest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// A streamFormat is how the replies of a server stream look in the body of a
// response.
type streamFormat interface {
	// message appends one reply, of which whole is the message and body the part
	// that the route's response_body names.
	message(dst, whole, body []byte) []byte
	// idle appends what keeps a silent connection in use.
	idle(dst []byte) []byte
	// end appends what comes last. late are headers that came too late to be
	// fields of the response.
	end(dst []byte, s *status.Status, late, trailer metadata.MD) []byte
}

// A responseStream is the [rpc.ServerTransport] of a server stream whose replies
// are the body of one response. The exchange is used until the handler has ended,
// and no longer: what sends beside it may outlive that.
type responseStream struct {
	x      *exchange
	w      http.ResponseWriter
	http   *http.ResponseController
	format streamFormat
	field  *field // that each message is reduced to, if any
	out    *outbox

	taken   bool // the request
	message []byte
	piece   []byte

	// mu guards the response's head until it is written.
	mu    sync.Mutex
	begun bool // the head may be written any time
	over  bool // the handler has ended
	late  metadata.MD

	wrote bool // by the outbox: the head
}

// drainTimeout bounds the writing of what a handler that has ended left behind
// for a client that does not read.
const drainTimeout = 30 * time.Second

// serveStream runs a server stream whose replies are the body of the response.
func (h *handler) serveStream(x *exchange, w http.ResponseWriter, r *http.Request) {
	s := &responseStream{x: x, w: w, http: http.NewResponseController(w), format: ndjson{}, field: x.endpoint.responseField}
	if x.format.mediaType == sseType {
		s.format = sse{eventID(x.endpoint.method.Output)}
		if saidGoodbye(r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if r.Method == http.MethodHead {
		s.head(nil)
		w.WriteHeader(http.StatusOK)
		return
	}
	if web.IsOwn(r) { // on another's server the timeouts are the other's
		// A client that is slow holds its handler back for as long as that likes.
		_ = s.http.SetWriteDeadline(time.Time{}) // fails only if the connection is gone
	}
	s.out = newOutbox(s.write, s.idle)
	outcome := &rpc.Outcome{Status: rpc.DidNotReturn}
	// A handler that ends its goroutine ends that of the connection too, but not
	// before this.
	defer func() { s.end(r, outcome) }()
	outcome = h.cfg.Stream(r.Context(), &rpc.IncomingStream{
		Method: x.endpoint.method, Metadata: x.in.Metadata, Peer: x.in.Peer, Timeout: x.in.Timeout,
		Codec: responseCodec{x}, Transport: s,
	})
}

// Recv is [rpc.ServerTransport]'s.
func (s *responseStream) Recv(context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over: // the exchange is not ours any more
		return nil, io.ErrClosedPipe
	case s.taken:
		return nil, io.EOF
	}
	s.taken = true
	return s.x.message, nil
}

// A responseCodec reads a request like that of a unary call, in any format and
// with what is wrong with it.
type responseCodec struct{ x *exchange }

func (c responseCodec) Name() string { return c.x.format.codec.Name() }

func (c responseCodec) Append(dst []byte, msg any) ([]byte, error) {
	return c.x.format.codec.Append(dst, msg)
}

func (c responseCodec) Decode(_ []byte, msg any) error { return c.x.decode(msg) }

// Send is [rpc.ServerTransport]'s. If ctx ends while the client takes nothing,
// the write that is under way is given up with it.
func (s *responseStream) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	var err error
	if s.message, err = encode(s.message[:0]); err != nil {
		return err
	}
	body := s.message
	if s.field != nil {
		if body, err = memberOr(s.message, s.field); err != nil {
			return err
		}
	}
	s.piece = s.format.message(s.piece[:0], s.message, body)
	return s.out.send(ctx, s.piece)
}

// SendHeader is [rpc.ServerTransport]'s.
func (s *responseStream) SendHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.late = md // the response has begun, to show a sign of life
		return nil
	}
	s.head(md)
	if md != nil {
		s.out.flush() // they go out at once; else with the message that follows
	}
	return nil
}

// head fixes the head of the response. s.mu is held, or nobody else is there.
func (s *responseStream) head(md metadata.MD) {
	s.begun = true
	h := s.w.Header()
	httpmeta.Put(h, "", md)
	h["Content-Type"] = s.x.format.header
	h["Vary"] = append(h["Vary"], "Accept")
	if s.x.format.mediaType == sseType {
		// A cache that kept events, and a proxy that gathered them (as nginx does
		// unless told so), would hold the stream up.
		h["Cache-Control"] = []string{"no-store"}
		h["X-Accel-Buffering"] = []string{"no"}
	}
}

// write is the outbox's.
func (s *responseStream) write(batch []byte) error {
	if !s.wrote {
		s.wrote = true
		s.w.WriteHeader(http.StatusOK)
	}
	if _, err := s.w.Write(batch); err != nil {
		return err
	}
	return s.flush()
}

// flush lets what was written go out. A ResponseWriter of somebody's own may not
// be able to.
func (s *responseStream) flush() error {
	if err := s.http.Flush(); err != nil && !isUnsupported(err) {
		return err
	}
	return nil
}

// idle is the outbox's. The response begins with it, if it has not.
func (s *responseStream) idle(dst []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return dst
	}
	before := len(dst)
	if dst = s.format.idle(dst); len(dst) > before && !s.begun {
		s.head(nil)
	}
	return dst
}

// end ends the response. Nothing has been sent of one that has not begun, so an
// error has the form of a unary call's.
func (s *responseStream) end(r *http.Request, outcome *rpc.Outcome) {
	failed := outcome.Status.Code() != codes.OK
	s.mu.Lock()
	begun, late := s.begun, metadata.Join(s.late, outcome.Header)
	s.over = true
	if !begun && !failed {
		s.head(outcome.Header)
		begun, late = true, nil
	}
	s.mu.Unlock()
	switch {
	case r.Context().Err() != nil: // the client is gone, or nobody is to hear more
		s.out.fail(r.Context().Err())
		s.cut()
		<-s.out.done
		panic(http.ErrAbortHandler)
	case !begun:
		s.out.finish(nil)
		<-s.out.done
		s.problem(r, outcome)
	default:
		s.out.flush() // of the head, if nothing else comes
		s.out.finish(s.format.end(nil, outcome.Status, late, outcome.Trailer))
		timer := time.AfterFunc(drainTimeout, s.cut)
		<-s.out.done
		timer.Stop()
		s.trail(r, outcome)
	}
}

// cut ends a write that is under way, and with it the connection.
func (s *responseStream) cut() {
	_ = s.http.SetWriteDeadline(time.Unix(1, 0)) // fails if the server has no such thing, or the connection is gone
}

// problem answers as for a unary call.
func (s *responseStream) problem(r *http.Request, outcome *rpc.Outcome) {
	h := s.w.Header()
	httpmeta.Put(h, "", outcome.Header)
	httpmeta.Put(h, httpmeta.TrailerPrefix, outcome.Trailer)
	if outcome.Status == rpc.DidNotReturn {
		didNotReturn(s.w, r)
		return
	}
	writeProblem(s.w, r, code.HTTP(outcome.Status.Code()), outcome.Status)
}

// trail says how a stream ended by HTTP's own trailers, if the client takes any.
func (s *responseStream) trail(r *http.Request, outcome *rpc.Outcome) {
	if !httpguts.HeaderValuesContainsToken(r.Header["Te"], "trailers") { // RFC 9110, section 10.1.4
		return
	}
	trailer := http.Header{statusTrailer: {strconv.Itoa(int(outcome.Status.Code()))}}
	httpmeta.Put(trailer, "", outcome.Trailer)
	h := s.w.Header()
	for name, values := range trailer {
		h[http.TrailerPrefix+name] = values
	}
}

// statusTrailer is the trailer with the number of the code, as in gRPC.
const statusTrailer = "Grpc-Status"

func isUnsupported(err error) bool { return errors.Is(err, http.ErrNotSupported) }
