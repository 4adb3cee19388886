package target

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/valyala/fasthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// HTTP2 is one connection to a server of HTTP/2 (RFC 9113) by net/http: with prior
// knowledge in cleartext, by ALPN with TLS. Any number of calls are made at once, as
// far as the server allows; others wait. It connects when first used, and again when
// the server has closed it.
//
// net/http's own pool would open several where several calls begin at once, and as
// many as it likes: what is measured is to be what was asked for.
type HTTP2 struct {
	config    HTTPConfig
	transport *http.Transport
	scheme    string
	sent      atomic.Int64
	read      atomic.Int64
	// turn is held by who connects.
	turn chan struct{}
	mu   sync.Mutex
	conn *http.ClientConn // nil if not connected
	// old take no more calls, but may have open ones.
	old    []*http.ClientConn
	closed bool
}

// NewHTTP2 makes a connection. It must be closed.
func NewHTTP2(c HTTPConfig) *HTTP2 {
	c = c.withDefaults("h2")
	h := &HTTP2{config: c, scheme: "http", turn: make(chan struct{}, 1)}
	if c.Target.TLS {
		h.scheme = "https"
	}
	h.transport = h.newTransport()
	return h
}

func (h *HTTP2) newTransport() *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	t := &http.Transport{
		Protocols:          &protocols,
		DisableCompression: true,
		TLSClientConfig:    h.config.TLS,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			nc, err := h.config.Dial(ctx, addr)
			if err != nil {
				return nil, err
			}
			return &counted{nc, &h.sent, &h.read}, nil
		},
		TLSHandshakeTimeout: dialTimeout,
	}
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = new(tls.Config)
	}
	return t
}

// Bytes are those that crossed the connection's sockets so far, below TLS.
func (h *HTTP2) Bytes() (out, in int64) { return h.sent.Load(), h.read.Load() }

// Close closes the connection. Calls that are open fail.
func (h *HTTP2) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.retire()
	for _, conn := range h.old {
		_ = conn.Close() // nothing is wanted of it any more
	}
	h.old = nil
	return nil
}

// retire makes no more calls on the connection. The lock is held.
func (h *HTTP2) retire() {
	h.old = slices.DeleteFunc(h.old, func(c *http.ClientConn) bool { return c.Err() != nil })
	if h.conn != nil {
		h.old = append(h.old, h.conn)
		h.conn = nil
	}
}

// NewStream is not for HTTP.
func (h *HTTP2) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoStreams
}

// Invoke sends a *[Request] and fills a *[Response].
func (h *HTTP2) Invoke(ctx context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	request, response := in.(*Request), out.(*Response)
	if h.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, h.config.Timeout)
		defer cancel()
	}
	reply, conn, err := h.send(ctx, request)
	if h.config.Reconnect && conn != nil {
		defer conn.Close() //nolint:errcheck // the call is over
	}
	if err != nil {
		return httpStatus(ctx, err, h.config)
	}
	defer reply.Body.Close() //nolint:errcheck // it was read
	if reply.ProtoMajor != 2 {
		return status.Errorf(codes.Unavailable, "the server answered by %s, not by HTTP/2", reply.Proto)
	}
	response.Status = reply.StatusCode
	response.Body, err = readLimited(response.Body[:0], reply.Body, h.config.MaxBody)
	if err != nil {
		return httpStatus(ctx, err, h.config)
	}
	return response.check(request.Statuses)
}

// send sends a request, again if the server closes the connection and says that it has
// not looked at it (RFC 9113, section 6.8): servers do so after some number of requests.
func (h *HTTP2) send(ctx context.Context, request *Request) (*http.Response, *http.ClientConn, error) {
	for attempt := 1; ; attempt++ {
		r, err := h.request(ctx, request)
		if err != nil {
			return nil, nil, status.Error(codes.InvalidArgument, err.Error())
		}
		conn, err := h.connected(ctx)
		if err != nil {
			return nil, nil, err
		}
		reply, err := conn.RoundTrip(r)
		if err == nil || attempt == maxAttempts || !wasNotSeen(err) {
			return reply, conn, err
		}
		h.refused(conn)
	}
}

// refused gives up a connection that takes no more requests.
func (h *HTTP2) refused(conn *http.ClientConn) {
	if h.config.Reconnect {
		_ = conn.Close() // it was this call's alone
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == conn {
		h.retire()
	}
}

// maxAttempts is how often a request is sent to a server that does not look at it.
const maxAttempts = 5

// wasNotSeen reports whether a request surely was not looked at. The errors of net/http
// that say so have texts alone.
func wasNotSeen(err error) bool {
	text := err.Error()
	return strings.Contains(text, "received Server's graceful shutdown GOAWAY") || strings.Contains(text, "http2: client conn not usable")
}

// connected is the connection, or a new one if that can take no more requests.
func (h *HTTP2) connected(ctx context.Context) (*http.ClientConn, error) {
	if conn, err := h.current(); conn != nil || err != nil {
		return conn, err
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if conn, err := h.current(); conn != nil || err != nil { // another caller was first
		return conn, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := h.transport.NewClientConn(ctx, h.scheme, h.config.Target.Host)
	if err != nil || h.config.Reconnect {
		return conn, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errors.Join(errClosed, conn.Close())
	}
	h.retire()
	h.conn = conn
	return conn, nil
}

var errClosed = status.Error(codes.Canceled, "the connection is closed")

// current is the connection that is there, nil if there is none to be used.
func (h *HTTP2) current() (*http.ClientConn, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, errClosed
	case h.conn != nil && h.conn.Err() == nil:
		return h.conn, nil
	}
	return nil, nil //nolint:nilnil // there is none
}

func (h *HTTP2) request(ctx context.Context, request *Request) (*http.Request, error) {
	var body io.Reader
	if request.HasBody {
		// A copy: the transport may read it after the call was given up.
		body = bytes.NewReader(bytes.Clone(request.Body))
	}
	r, err := http.NewRequestWithContext(ctx, request.Method, h.scheme+"://"+h.config.Target.Authority+string(request.Path), body)
	if err != nil {
		return nil, err
	}
	for _, f := range request.Header {
		name := http.CanonicalHeaderKey(f.Name)
		r.Header[name] = append(r.Header[name], string(f.Value))
	}
	return r, nil
}

// readLimited appends all of r.
func readLimited(dst []byte, r io.Reader, most int) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	_, err := b.ReadFrom(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return b.Bytes(), err
	case b.Len() > most:
		return b.Bytes(), fasthttp.ErrBodyTooLarge
	}
	return b.Bytes(), nil
}
