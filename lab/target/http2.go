package target

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/valyala/fasthttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// HTTP2 is a connection to a server of HTTP/2 (RFC 9113) by net/http: with prior
// knowledge in cleartext, by ALPN with TLS. Any number of calls are made at once.
type HTTP2 struct {
	config    HTTPConfig
	transport *http.Transport
	base      string
	sent      atomic.Int64
	read      atomic.Int64
}

// NewHTTP2 makes a connection. It must be closed.
func NewHTTP2(c HTTPConfig) *HTTP2 {
	c = c.withDefaults("h2")
	h := &HTTP2{config: c, base: "http://" + c.Target.Authority}
	if c.Target.TLS {
		h.base = "https://" + c.Target.Authority
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
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			nc, err := h.config.Dial(ctx, addr)
			if err != nil {
				return nil, err
			}
			return &counted{nc, &h.sent, &h.read}, nil
		},
		TLSHandshakeTimeout: dialTimeout,
		DisableKeepAlives:   h.config.Reconnect,
	}
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = new(tls.Config)
	}
	return t
}

// Bytes are those that crossed the connection's sockets so far, below TLS.
func (h *HTTP2) Bytes() (out, in int64) { return h.sent.Load(), h.read.Load() }

// Close closes the connection once its calls are over.
func (h *HTTP2) Close() error {
	h.transport.CloseIdleConnections()
	return nil
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
	var body io.Reader
	if request.HasBody {
		// A copy: the transport may read it after the call was given up.
		body = bytes.NewReader(bytes.Clone(request.Body))
	}
	r, err := http.NewRequestWithContext(ctx, request.Method, h.base+string(request.Path), body)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	for _, f := range request.Header {
		r.Header[http.CanonicalHeaderKey(f.Name)] = append(r.Header[http.CanonicalHeaderKey(f.Name)], string(f.Value))
	}
	reply, err := h.transport.RoundTrip(r)
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
