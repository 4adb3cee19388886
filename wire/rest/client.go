package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/roundtrip"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// maxIdleConns is how many idle connections a client keeps.
const maxIdleConns = 512

type conn struct {
	cfg       rpc.ClientConfig
	codec     json.Codec
	transport *roundtrip.Transport
	scheme    string
	host      string // of the Host header
	prefix    string // of all paths
	agent     []string
	closed    atomic.Bool
	routes    sync.Map // *everywire.Method -> *clientRoute, of those that declare routes
}

// NewConn returns a client's connection: a pool of HTTP connections. With the
// option reconnect each call opens and closes one of its own. It refuses
// routes of cfg.Methods that the wire does not support.
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	c := &conn{cfg: *cfg, scheme: "http", host: "localhost", prefix: strings.TrimSuffix(cfg.Path, "/"), agent: []string{cfg.UserAgent}}
	if len(cfg.Addrs) > 0 && !strings.Contains(cfg.Addrs[0], "/") { // not the path of a socket
		c.host = cfg.Addrs[0]
	}
	if cfg.TLS != nil {
		c.scheme = "https"
	}
	if cfg.Methods != nil {
		for _, m := range cfg.Methods.Methods() {
			if _, err := c.routeOf(m); err != nil {
				return nil, fmt.Errorf("rest: %w", err)
			}
		}
	}
	c.transport = &roundtrip.Transport{
		Dial:        func(ctx context.Context) (net.Conn, error) { return c.cfg.Dial(ctx, alpn) },
		MaxIdle:     maxIdleConns,
		IdleTimeout: clientIdleTimeout,
		MaxHead:     headerLimit(cfg.Limits.MaxMetadata),
	}
	if _, reconnect := cfg.Options["reconnect"]; reconnect {
		c.transport.MaxIdle = 0
	}
	return c, nil
}

func (c *conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, rpc.NoStreams("rest")
}

// Close ends the calls in flight, which are then Canceled, and closes all
// connections.
func (c *conn) Close() error {
	c.closed.Store(true)
	c.transport.Close()
	return nil
}

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

func (c *conn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if call.OneWay {
			return status.Error(codes.Unimplemented, "the wire rest has no one-way calls")
		}
		x, err := c.newRequest(call, args)
		if err != nil {
			return err
		}
		return call.Reach(ctx, func() error {
			err := c.roundTrip(ctx, call, x, reply)
			if err != nil && c.closed.Load() && !isAnswer(err) {
				return errClosing
			}
			return err
		})
	})
}

// isAnswer tells what a server answered from a failure of the connection.
func isAnswer(err error) bool {
	var unreachable *rpc.DialError
	_, ok := status.FromError(err)
	return ok && !errors.As(err, &unreachable)
}

// An outbound is a call's request, built once and sent once, or more often if
// no server could be reached.
type outbound struct {
	route *clientRoute
	verb  string
	url   *url.URL
	body  []byte // nil for none
}

func (c *conn) newRequest(call *rpc.Outgoing, args any) (*outbound, error) {
	if _, _, err := everywire.SplitMethod(call.Path); err != nil || call.Path[0] != '/' {
		return nil, status.Errorf(codes.Unimplemented, "malformed method name: %q", call.Path)
	}
	x := &outbound{route: defaultRoute, verb: http.MethodPost}
	if call.Method != nil && len(call.Method.Routes) > 0 {
		var err error
		if x.route, err = c.routeOf(call.Method); err != nil {
			return nil, status.Error(codes.Unimplemented, err.Error())
		}
	}
	buf := getBuffer()
	defer putBuffer(buf)
	var err error
	if *buf, err = c.codec.Append(*buf, args); err != nil {
		return nil, status.Errorf(codes.Internal, "request of %s: %v", call.Path, err)
	}
	var path, query string
	// The transport may read a body even after it has returned the response,
	// so the body is not in the pooled buffer.
	if e := x.route.endpoint; e == nil {
		path, x.body = escapePath(call.Path), bytes.Clone(*buf)
	} else {
		x.verb = e.verb
		if path, query, x.body, err = x.route.split(*buf); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "request of %s: %v", call.Path, err)
		}
	}
	x.url = &url.URL{Scheme: c.scheme, Host: c.host, Opaque: c.prefix + path, RawQuery: query}
	return x, call.Sent(len(*buf))
}

var jsonContent = []string{jsonType}

func (c *conn) httpRequest(ctx context.Context, call *rpc.Outgoing, x *outbound) *http.Request {
	header := make(http.Header, 4+len(call.Metadata))
	header["User-Agent"] = c.agent // if empty, net/http sends none
	httpmeta.Put(header, "", call.Metadata)
	if deadline, ok := ctx.Deadline(); ok {
		header[httpmeta.TimeoutHeader] = []string{httpmeta.FormatTimeout(time.Until(deadline))}
	}
	r := &http.Request{
		Method: x.verb, URL: x.url, Host: c.host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if x.body != nil {
		header["Content-Type"] = jsonContent
		// Of these types, so that headers and body go out as one write. GetBody
		// lets the transport take another connection if the one it chose was
		// closed before anything was written.
		r.ContentLength = int64(len(x.body))
		r.Body = io.NopCloser(bytes.NewReader(x.body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	}
	if call.WantPeer {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(info httptrace.GotConnInfo) { call.Peer = rpc.PeerOf(info.Conn) },
		})
	}
	return r.WithContext(ctx)
}

// roundTrip sends a request and takes its answer.
func (c *conn) roundTrip(ctx context.Context, call *rpc.Outgoing, x *outbound, reply any) error {
	if c.closed.Load() {
		return errClosing
	}
	res, err := c.transport.RoundTrip(c.httpRequest(ctx, call, x))
	if err != nil {
		return c.broken("before the reply came", err)
	}
	defer func() { _ = res.Body.Close() }() // a connection with a rest unread is closed, not used again
	if err := takeMetadata(call, res.Header); err != nil {
		return err
	}
	buf := getBuffer()
	defer putBuffer(buf)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		// The limit is for messages; an error is bounded by what details need.
		if *buf, err = readAll(*buf, res.Body, res.ContentLength, max(call.MaxReceive(), 64<<10)); err != nil {
			return c.broken("within an error reply", err)
		}
		return statusOf(res.StatusCode, res.Header.Get("Content-Type"), *buf).Err()
	}
	if err := call.CheckReceived(int(max(res.ContentLength, 0))); err != nil {
		return err
	}
	if *buf, err = readAll(*buf, res.Body, res.ContentLength, call.MaxReceive()); err != nil {
		return c.broken("within the reply", err)
	}
	if err := call.CheckReceived(len(*buf)); err != nil {
		return err
	}
	if err := c.decode(x, res, *buf, reply); err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", call.Path, err)
	}
	call.Received(len(*buf))
	return nil
}

// broken words a failure of the connection. What nobody could be reached for
// stays a *rpc.DialError; of anything else nobody knows whether it ran.
func (c *conn) broken(when string, err error) error {
	var unreachable *rpc.DialError
	if errors.As(err, &unreachable) {
		return unreachable
	}
	return fmt.Errorf("the connection to %s broke %s; the call may have run: %w", c.cfg.Target, when, err)
}

// takeMetadata sets the call's header and trailer.
func takeMetadata(call *rpc.Outgoing, h http.Header) (err error) {
	for name := range h {
		switch name {
		case "Content-Type", "Content-Length", "Date", "Connection":
			continue
		}
		call.Header, call.Trailer, err = httpmeta.Take(h)
		if err != nil {
			return status.Errorf(codes.Internal, "reply of %s: %v", call.Path, err)
		}
		return nil
	}
	return nil
}

func (c *conn) decode(x *outbound, res *http.Response, body []byte, reply any) error {
	if len(body) == 0 { // as others answer: 204, or 200 with nothing
		return c.codec.Decode(emptyObject, reply)
	}
	if ct := res.Header.Get("Content-Type"); ct != jsonType {
		if typ, _, err := mime.ParseMediaType(ct); err != nil || typ != jsonType {
			return fmt.Errorf("its Content-Type is %q, not %s: %s", ct, jsonType, quote(body))
		}
	}
	if e := x.route.endpoint; e != nil && e.responseField != nil {
		wrapped, err := wrap(e.responseField, body)
		if err != nil {
			return err
		}
		body = wrapped
	}
	return c.codec.Decode(body, reply)
}

// routeOf returns the route that calls of m take.
func (c *conn) routeOf(m *everywire.Method) (*clientRoute, error) {
	if len(m.Routes) == 0 || m.Kind != everywire.Unary {
		return defaultRoute, nil
	}
	if r, ok := c.routes.Load(m); ok {
		return r.(*clientRoute), nil
	}
	r, err := newClientRoute(m)
	if err == nil {
		c.routes.Store(m, r)
	}
	return r, err
}
