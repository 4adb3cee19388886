package target

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// HTTPConfig is what connections to one HTTP server have in common.
type HTTPConfig struct {
	Target *HTTPTarget
	// TLS is for https, nil for the usual.
	TLS *tls.Config
	// Dial opens sockets; nil stands for net.Dialer.DialContext.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Timeout is how long a call may take, 0 for as long as it wants.
	Timeout time.Duration
	// Reconnect makes a connection for every call.
	Reconnect bool
	// MaxBody bounds a reply's body. Default 4 MiB.
	MaxBody int
}

const (
	defaultMaxBody = 4 << 20
	dialTimeout    = 10 * time.Second
	bufferSize     = 16 << 10
	// excerpt is how much of a body is kept of which nobody looks at all.
	excerpt = 200
)

// HTTP1 is one connection to a server of HTTP/1.1 (RFC 9112), kept open from call to
// call. One call is made at a time; others wait. It connects when first used, and
// again when the server has closed it.
//
// Requests are written as they were rendered, in one write; replies are parsed by
// fasthttp, into memory that is used again.
type HTTP1 struct {
	config HTTPConfig
	prefix string // what follows the method and the path
	mu     sync.Mutex
	socket *socket // nil if not connected
	closed bool
	out    []byte
	reply  fasthttp.Response
	sent   atomic.Int64
	read   atomic.Int64
}

// NewHTTP1 makes a connection. It must be closed.
func NewHTTP1(c HTTPConfig) *HTTP1 {
	c = c.withDefaults("http/1.1")
	h := &HTTP1{config: c}
	h.prefix = " HTTP/1.1\r\nHost: " + c.Target.Authority + "\r\n"
	if c.Reconnect {
		h.prefix += "Connection: close\r\n"
	}
	h.reply.Header.DisableNormalizing()
	return h
}

func (c HTTPConfig) withDefaults(protocol string) HTTPConfig {
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}
	}
	if c.Target.TLS {
		if c.TLS == nil {
			c.TLS = new(tls.Config)
		}
		c.TLS = c.TLS.Clone()
		c.TLS.NextProtos = []string{protocol}
		if c.TLS.ServerName == "" {
			c.TLS.ServerName, _, _ = net.SplitHostPort(c.Target.Host)
		}
	}
	return c
}

// A socket is one connection, and who watches it.
type socket struct {
	nc net.Conn
	br *bufio.Reader
	// ctx is the context whose end interrupts it; stop ends that.
	ctx  context.Context //nolint:containedctx // compared with the next call's: calls of one load have one
	stop func() bool
	used bool
}

func (s *socket) close() {
	if s.stop != nil {
		s.stop()
	}
	_ = s.nc.Close() // its reply has come, or its call has failed already
}

// interruptedBy lets the end of ctx interrupt reads and writes. Calls of one load have
// one context, so this costs something for the first alone.
func (s *socket) interruptedBy(ctx context.Context) {
	if s.ctx == ctx {
		return
	}
	if s.stop != nil {
		s.stop()
	}
	s.ctx = ctx
	s.stop = context.AfterFunc(ctx, func() { _ = s.nc.SetDeadline(past) })
}

// past is a deadline that interrupts at once.
var past = time.Unix(1, 0)

// Bytes are those that crossed the connection's sockets so far, below TLS.
func (h *HTTP1) Bytes() (out, in int64) { return h.sent.Load(), h.read.Load() }

// Close closes the connection. Calls fail then.
func (h *HTTP1) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.drop()
	return nil
}

func (h *HTTP1) drop() {
	if h.socket != nil {
		h.socket.close()
		h.socket = nil
	}
}

// NewStream is not for HTTP.
func (h *HTTP1) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoStreams
}

// Invoke sends a *[Request] and fills a *[Response].
func (h *HTTP1) Invoke(ctx context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	request, response := in.(*Request), out.(*Response)
	h.render(request)
	for {
		if h.closed {
			return errClosed
		}
		again, err := h.try(ctx, request, response)
		if err == nil {
			return response.check(request.Statuses)
		}
		h.drop()
		if !again {
			return h.statusOf(ctx, err)
		}
	}
}

// render writes the request's bytes.
func (h *HTTP1) render(r *Request) {
	b := h.out[:0]
	b = append(b, r.Method...)
	b = append(append(b, ' '), r.Path...)
	b = append(b, h.prefix...)
	for i := range r.Header {
		b = append(append(b, r.Header[i].Name...), ':', ' ')
		b = append(append(b, r.Header[i].Value...), '\r', '\n')
	}
	if r.HasBody {
		b = append(b, "Content-Length: "...)
		b = append(strconv.AppendInt(b, int64(len(r.Body)), 10), '\r', '\n')
	}
	b = append(b, '\r', '\n')
	b = append(b, r.Body...)
	h.out = b
}

// try makes the call once. again says that it may be made once more: the server had
// closed the connection before, as it may at any time (RFC 9112, section 9.3.1), and
// making such a request twice is making it once.
func (h *HTTP1) try(ctx context.Context, request *Request, response *Response) (again bool, err error) {
	var deadline time.Time
	if h.config.Timeout > 0 {
		deadline = time.Now().Add(h.config.Timeout)
	}
	if h.socket == nil {
		if err := h.connect(ctx, deadline); err != nil {
			return false, err
		}
	}
	s := h.socket
	if !deadline.IsZero() {
		if err := s.nc.SetDeadline(deadline); err != nil {
			return false, err
		}
	}
	s.interruptedBy(ctx)
	if err := ctx.Err(); err != nil { // perhaps before the deadline was set
		return false, err
	}
	stale := s.used && idempotent(request.Method)
	s.used = true
	before := h.read.Load()
	if _, err := s.nc.Write(h.out); err != nil {
		return stale && !isTimeout(err), err
	}
	h.reply.SkipBody = request.Method == fasthttp.MethodHead
	if err := h.reply.ReadLimitBody(s.br, h.config.MaxBody); err != nil {
		return stale && h.read.Load() == before && !isTimeout(err), err
	}
	response.Status = h.reply.StatusCode()
	body := h.reply.Body()
	if !request.KeepBody {
		body = body[:min(len(body), excerpt)]
	}
	response.Body = append(response.Body[:0], body...)
	if h.config.Reconnect || h.reply.ConnectionClose() {
		h.drop()
	}
	return false, nil
}

func idempotent(method string) bool {
	switch method { // RFC 9110, section 9.2.2
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// isTimeout knows fasthttp's error for it, too.
func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, fasthttp.ErrTimeout)
}

func (h *HTTP1) connect(ctx context.Context, deadline time.Time) error {
	if until := time.Now().Add(dialTimeout); deadline.IsZero() || until.Before(deadline) {
		deadline = until
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	nc, err := h.config.Dial(ctx, h.config.Target.Host)
	if err != nil {
		return err
	}
	nc = &counted{nc, &h.sent, &h.read}
	if h.config.Target.TLS {
		secure := tls.Client(nc, h.config.TLS)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = nc.Close() // the handshake's error is the one to tell
			if errors.Is(err, io.EOF) {
				return errors.New("TLS: the server closed the connection in the handshake: perhaps it has no TLS, and the URL is http://")
			}
			return fmt.Errorf("TLS: %w", err)
		}
		nc = secure
	}
	h.socket = &socket{nc: nc, br: bufio.NewReaderSize(nc, bufferSize)}
	return nil
}

// statusOf makes the error that a connection owes.
func (h *HTTP1) statusOf(ctx context.Context, err error) error {
	return httpStatus(ctx, err, h.config)
}

func httpStatus(ctx context.Context, err error, c HTTPConfig) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return status.Error(codes.Canceled, context.Canceled.Error())
	case isTimeout(err), errors.Is(err, context.DeadlineExceeded):
		if c.Timeout > 0 {
			return status.Errorf(codes.DeadlineExceeded, "no reply within %v", c.Timeout)
		}
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return status.Errorf(codes.ResourceExhausted, "the reply's body is larger than %d bytes: --max-message raises the limit", c.MaxBody)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return status.Error(codes.Unavailable, "the server closed the connection before its reply was whole")
	}
	return status.Error(codes.Unavailable, err.Error())
}

// counted counts the bytes of a socket.
type counted struct {
	net.Conn
	out, in *atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}
