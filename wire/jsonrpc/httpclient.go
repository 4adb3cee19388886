package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/roundtrip"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

type httpConn struct {
	*encoder
	transport *roundtrip.Transport
	url       *url.URL
	userAgent []string
	coding    httpbody.Coding // of long requests
	closed    atomic.Bool
}

// NewHTTPConn makes a client of JSON-RPC over HTTP/1.1. Connections are kept
// and used again, unless the option reconnect asks for one a call.
func NewHTTPConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	e, err := newEncoder(cfg)
	if err != nil {
		return nil, err
	}
	c := &httpConn{encoder: e, userAgent: []string{cfg.UserAgent}}
	if name := cfg.Options["compression"]; name != "" {
		var ok bool
		if c.coding, ok = httpbody.ParseCoding(name); !ok {
			return nil, fmt.Errorf("there is no content coding %q", name)
		}
	}
	c.url = &url.URL{Scheme: "http", Host: hostOf(cfg.Addrs), Path: pathOf(cfg.Path)}
	pacer := new(rpc.Pacer)
	dial := func(ctx context.Context) (net.Conn, error) { return c.cfg.Dial(ctx, web.HTTP11) }
	c.transport = &roundtrip.Transport{
		Dial:        func(ctx context.Context) (net.Conn, error) { return pacer.Dial(ctx, dial) },
		MaxIdle:     web.ClientMaxIdle,
		IdleTimeout: web.ClientIdleTimeout,
		MaxHead:     web.MaxHead(cfg.Limits),
	}
	if _, reconnect := cfg.Options["reconnect"]; reconnect {
		c.transport.MaxIdle = 0
	}
	return c, nil
}

// hostOf is what the Host header says: the first address, if it can.
func hostOf(addrs []string) string {
	if len(addrs) > 0 && !strings.Contains(addrs[0], "/") {
		if host, port, err := net.SplitHostPort(addrs[0]); err == nil && host == "" {
			return net.JoinHostPort("localhost", port)
		} else if err == nil {
			return addrs[0]
		}
	}
	return "localhost"
}

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// Close closes all connections. Calls under way fail with Canceled.
func (c *httpConn) Close() error {
	c.closed.Store(true)
	c.transport.Close()
	return nil
}

func (c *httpConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, rpc.NoStreams(wireName + "+http")
}

func (c *httpConn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if c.closed.Load() {
			return errClosing
		}
		body, err := c.appendRequest(make([]byte, 0, 256), call, args)
		if err != nil {
			return err
		}
		if call.OneWay {
			body = c.appendNoID(body)
		} else {
			body = appendNumericID(body, 1) // the only one in its HTTP request
		}
		return call.Reach(ctx, func() error {
			err := c.exchange(ctx, call, body, reply)
			if err != nil && c.closed.Load() {
				return errClosing // not that of dialling, which is tried again
			}
			return err
		})
	})
}

// exchange makes one HTTP request and reads its response.
func (c *httpConn) exchange(ctx context.Context, call *rpc.Outgoing, body []byte, reply any) error {
	if call.WantPeer {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { call.Peer = rpc.PeerOf(info.Conn) },
		})
	}
	res, err := c.transport.RoundTrip(c.request(ctx, call, body))
	if err != nil {
		return c.broken("before the reply came", err)
	}
	buf := httpbody.Buffer()
	defer httpbody.Free(buf)
	limit := c.maxReply(call)
	*buf, err = httpbody.Read(*buf, res.Body, res.ContentLength, res.Header["Content-Encoding"], limit)
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		return status.Errorf(codes.ResourceExhausted, "received a reply longer than the limit of %d bytes", limit)
	case errors.Is(err, httpbody.ErrCoding):
		return status.Errorf(codes.Internal, "the reply of %s: %v", call.Path[1:], err)
	case err != nil:
		return c.broken("within the reply", err)
	}
	return c.readResponse(res, *buf, call, reply)
}

// broken words a failure of the connection. What nobody could be reached for
// is a *rpc.DialError, at the first try or a later one; of anything else nobody
// knows whether it ran.
func (c *httpConn) broken(when string, err error) error {
	var unreachable *rpc.DialError
	if errors.As(err, &unreachable) {
		return rpc.After(err, unreachable)
	}
	return fmt.Errorf("the connection to %s broke %s; the call may have run: %w", c.cfg.Target, when, err)
}

func (c *httpConn) request(ctx context.Context, call *rpc.Outgoing, body []byte) *http.Request {
	header := make(http.Header, 4+len(call.Metadata))
	header["Content-Type"] = contentTypeJSON
	if c.coding != httpbody.Identity {
		header["Accept-Encoding"] = c.coding.Header()
		if coded, ok := (httpbody.Preference{Coding: c.coding}).Encode(nil, body); ok {
			header["Content-Encoding"] = c.coding.Header()
			body = coded
		}
	}
	header["User-Agent"] = c.userAgent
	httpmeta.Put(header, "", call.Metadata)
	if deadline, ok := ctx.Deadline(); ok {
		header[httpmeta.TimeoutHeader] = []string{httpmeta.FormatTimeout(time.Until(deadline))}
	}
	r := &http.Request{
		Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Body: roundtrip.Bytes(body),
	}
	return r.WithContext(ctx)
}

// readResponse reads the response to a single request. An error of JSON-RPC is
// believed with any status, for some servers send it with 400 or 500.
func (c *httpConn) readResponse(res *http.Response, body []byte, call *rpc.Outgoing, reply any) error {
	var err error
	if call.Header, call.Trailer, err = httpmeta.Take(res.Header); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	ok := res.StatusCode >= 200 && res.StatusCode < 300
	if ok && call.OneWay {
		return nil
	}
	if ok && res.StatusCode == http.StatusNoContent {
		return status.Error(codes.Internal, "the server answered a call as if it were a notification")
	}
	var r response
	err = r.parse(body)
	switch {
	case !ok && (err != nil || r.err == nil):
		s := status.Newf(code.FromHTTP(res.StatusCode), "HTTP status %s: %s", res.Status, excerpt(bytes.TrimSpace(body)))
		return httpmeta.RetryAfter(s, res.Header).Err()
	case err != nil:
		return status.Errorf(codes.Internal, "the reply of %s is not JSON-RPC: %v: %s", call.Path[1:], err, excerpt(body))
	case string(r.id) != "1" && (r.err == nil || string(r.id) != "null" && r.id != nil):
		return status.Errorf(codes.Internal, "the reply of %s has the id %s, not 1", call.Path[1:], excerpt(r.id))
	case !ok && code.FromHTTP(res.StatusCode) == codes.ResourceExhausted:
		// 413, 429, 431: said by HTTP, whatever the error in the body.
		return httpmeta.RetryAfter(status.New(codes.ResourceExhausted, statusOf(r.err).Message()), res.Header).Err()
	}
	err = c.readReply(&r, call, reply)
	if err != nil && r.err != nil {
		return httpmeta.RetryAfter(status.Convert(err), res.Header).Err()
	}
	return err
}
