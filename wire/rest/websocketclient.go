package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// NewStream opens a stream on a WebSocket of its own, whatever its kind: what
// else carries a server stream cannot say headers and trailers at their time.
func (c *conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if c.packets {
		return nil, rpc.NoStreams("rest+h3") // WebSockets over HTTP/3 (RFC 9220) are not quic-go's
	}
	return c.cfg.NewStream(ctx, desc, path, c.formats.json.codec, opts,
		func(ctx context.Context, call *rpc.Outgoing, broken func(error)) (rpc.ClientTransport, error) {
			if _, _, err := everywire.SplitMethod(path); err != nil || path[0] != '/' {
				return nil, status.Errorf(codes.Unimplemented, "malformed method name: %q", path)
			}
			var s *clientSocket
			err := call.Reach(ctx, func() (err error) {
				s, err = c.openSocket(ctx, call, broken)
				return err
			})
			if err != nil {
				return nil, err
			}
			return s, nil
		})
}

// A clientSocket is the [rpc.ClientTransport] of a stream.
type clientSocket struct {
	*socket
	conn   *conn
	call   string // the method's path
	peer   *peer.Peer
	broken func(error)

	headed chan struct{} // closed when header is set, or the stream is over
	header metadata.MD   // nil if it ended without any
	once   sync.Once     // closes headed

	mu      sync.Mutex
	outcome *rpc.Outcome // that the server sent
	given   bool         // up, by this end
}

// openSocket connects, and begins the stream.
func (c *conn) openSocket(ctx context.Context, call *rpc.Outgoing, broken func(error)) (*clientSocket, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, ok := c.streams.open(cancel)
	if !ok {
		return nil, errClosing
	}
	defer done()
	s, err := c.connect(ctx, call, broken)
	switch {
	case err == nil && !c.streams.add(s):
		s.close(errClosing)
		return nil, errClosing
	case err != nil && c.streams.isClosed() && !isAnswer(err):
		return nil, errClosing
	case err != nil:
		return nil, err
	}
	go s.read()
	return s, nil
}

func (c *conn) connect(ctx context.Context, call *rpc.Outgoing, broken func(error)) (*clientSocket, error) {
	raw, err := c.cfg.Dial(ctx, web.HTTP11)
	if err != nil {
		return nil, err
	}
	request := websocket.Request{
		Host: c.host, Target: c.prefix + escapePath(call.Path), Header: make(http.Header, 2+len(call.Metadata)),
		Subprotocols: []string{subprotocol}, Demand: true,
	}
	if c.agent[0] != "" {
		request.Header["User-Agent"] = c.agent
	}
	httpmeta.Put(request.Header, "", call.Metadata)
	if deadline, ok := ctx.Deadline(); ok {
		request.Header[httpmeta.TimeoutHeader] = []string{httpmeta.FormatTimeout(time.Until(deadline))}
	}
	if _, err := websocket.Handshake(ctx, raw, &request); err != nil {
		closeNow(raw)
		return nil, c.handshakeFailed(ctx, call, err)
	}
	s := &clientSocket{
		socket: newSocket(raw, false, call.MaxReceive()), conn: c, call: call.Path, peer: rpc.PeerOf(raw),
		broken: broken, headed: make(chan struct{}),
	}
	s.post(websocket.Binary, []byte("{}")) // the metadata are the request's fields
	return s, nil
}

// handshakeFailed is the error of a handshake: the status of an answer, which is
// that no handler has run, or that the server could not be reached. Then its
// answer may have been lost, and a handler have begun.
func (c *conn) handshakeFailed(ctx context.Context, call *rpc.Outgoing, err error) error {
	var refused *websocket.RefusedError
	switch {
	case errors.As(err, &refused):
		if refused.StatusCode >= 200 && refused.StatusCode <= 299 {
			return status.Errorf(codes.Internal, "opening %s: the server answered with HTTP status %s, not with a WebSocket", call.Path[1:], refused.Status)
		}
		return rpc.NotSent(statusOf(refused.StatusCode, refused.Header.Get("Content-Type"), refused.Body).Err())
	case ctx.Err() == nil:
		err = fmt.Errorf("WebSocket handshake: %w", err)
	}
	return rpc.After(err, &rpc.DialError{Target: c.cfg.Target, Err: err})
}

// read puts what comes into the inbox until the stream is over.
func (s *clientSocket) read() {
	defer s.conn.streams.remove(s)
	err := s.readMessages()
	s.mu.Lock()
	ended, given := s.outcome != nil, s.given
	s.mu.Unlock()
	switch {
	case ended:
		s.once.Do(func() { close(s.headed) })
		s.in.close(io.EOF)
		s.out.seal()
		s.part()
		return
	case given:
		err = errClosing // nobody looks at it
	case s.conn.streams.isClosed():
		err = errClosing
	case status.Code(err) == codes.Unknown: // no status of this end's own
		err = s.conn.broken("before the stream's end", err)
	}
	s.in.close(err)
	s.once.Do(func() { close(s.headed) })
	s.out.fail(err)
	closeNow(s.raw)
	if !given {
		s.broken(err)
	}
}

// readMessages ends without an error when the stream has.
func (s *clientSocket) readMessages() error {
	for {
		text, message, err := s.ws.ReadMessage()
		switch {
		case err != nil:
			return lengthError(err)
		case text:
			s.setHeader(metadata.MD{}) // none came before the message
			s.in.put(message)
			continue
		}
		if over, err := s.control(message); over || err != nil {
			return err
		}
	}
}

func (s *clientSocket) control(message []byte) (over bool, err error) {
	var c serverControl
	if err := parseControl(message, &c); err != nil {
		return false, err
	}
	if c.End == nil {
		if c.Headers == nil {
			return false, nil // something that is not known yet
		}
		md, err := httpmeta.FromJSON(c.Headers)
		if err != nil {
			return false, fmt.Errorf("headers of %s: %w", s.call[1:], err)
		}
		s.setHeader(md)
		return false, nil
	}
	outcome := &rpc.Outcome{Status: status.New(codes.OK, "")}
	if c.End.Error != nil {
		outcome.Status = statusOf(http.StatusInternalServerError, problemType, c.End.Error)
	}
	if outcome.Header, err = httpmeta.FromJSON(c.End.Headers); err == nil {
		outcome.Trailer, err = httpmeta.FromJSON(c.End.Trailers)
	}
	if err != nil {
		return false, fmt.Errorf("metadata of %s: %w", s.call[1:], err)
	}
	if len(outcome.Header) > 0 {
		s.setHeader(outcome.Header)
	}
	s.mu.Lock()
	s.outcome = outcome
	s.mu.Unlock()
	return true, nil
}

// setHeader keeps the first.
func (s *clientSocket) setHeader(md metadata.MD) {
	s.once.Do(func() {
		s.header = md
		close(s.headed)
	})
}

// part answers the server's close frame.
func (s *clientSocket) part() {
	_ = s.raw.SetDeadline(time.Now().Add(lingerTimeout)) // fails only on a closed connection
	var err error
	for err == nil {
		_, _, err = s.ws.ReadMessage()
	}
	s.out.finish(s.ws.Goodbye(err))
	<-s.out.done
	closeNow(s.raw)
}

// Send is [rpc.ClientTransport]'s.
func (s *clientSocket) Send(ctx context.Context, encode func([]byte) ([]byte, error)) error {
	var err error
	if s.text, err = encode(s.text[:0]); err != nil {
		return err
	}
	s.text = s.ws.Wrap(s.text, 0, websocket.Text)
	return s.out.send(ctx, s.text)
}

// CloseSend is [rpc.ClientTransport]'s: an empty message.
func (s *clientSocket) CloseSend() { s.post(websocket.Text, nil) }

// Header is [rpc.ClientTransport]'s.
func (s *clientSocket) Header(ctx context.Context) (metadata.MD, error) {
	select {
	case <-s.headed:
		return s.header, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Recv is [rpc.ClientTransport]'s.
func (s *clientSocket) Recv(ctx context.Context) ([]byte, *rpc.Outcome, error) {
	message, err := s.in.take(ctx)
	if err == io.EOF { //nolint:errorlint // the inbox returns what it was closed with
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, s.outcome, nil
	}
	return message, nil, err
}

// Peer is [rpc.ClientTransport]'s.
func (s *clientSocket) Peer() *peer.Peer { return s.peer }

// Abandon is [rpc.ClientTransport]'s. The server learns of it by the end of the
// connection.
func (s *clientSocket) Abandon() {
	s.mu.Lock()
	over := s.outcome != nil
	s.given = true
	s.mu.Unlock()
	if !over {
		s.close(errClosing)
	}
}

// clientStreams are the streams of a client's connection, so that Close can end
// them.
type clientStreams struct {
	mu      sync.Mutex
	closed  bool
	sockets map[*clientSocket]struct{}
	opening map[*context.CancelFunc]struct{}
}

// open keeps what ends the attempt to open a stream, until done is called.
func (c *clientStreams) open(cancel context.CancelFunc) (done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false
	}
	if c.opening == nil {
		c.opening, c.sockets = map[*context.CancelFunc]struct{}{}, map[*clientSocket]struct{}{}
	}
	c.opening[&cancel] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.opening, &cancel)
	}, true
}

func (c *clientStreams) add(s *clientSocket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.sockets[s] = struct{}{}
	}
	return !c.closed
}

func (c *clientStreams) remove(s *clientSocket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sockets, s)
}

func (c *clientStreams) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close ends all streams, and lets none begin.
func (c *clientStreams) close() {
	c.mu.Lock()
	c.closed = true
	sockets := c.sockets
	c.sockets = nil
	for cancel := range c.opening {
		(*cancel)()
	}
	c.mu.Unlock()
	for s := range sockets {
		closeNow(s.raw) // its reader tells why
	}
}
