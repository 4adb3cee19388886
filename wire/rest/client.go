package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/roundtrip"
	"github.com/everywire/everywire/wire/internal/rpc"
)

type conn struct {
	cfg       rpc.ClientConfig
	formats   *formats
	format    *format         // of requests
	coding    httpbody.Coding // of long requests
	wants     http.Header     // what requests say about replies
	transport transport
	packets   bool // the transport is HTTP/3
	scheme    string
	host      string // of the Host header
	prefix    string // of all paths
	agent     []string
	plain     http.Header // of requests with a body that have nothing to add
	closed    atomic.Bool
	streams   clientStreams
	routes    sync.Map // *everywire.Method -> *clientRoute
}

// NewConn returns a client's connection: a pool of HTTP connections. With the
// option reconnect each call opens and closes one of its own. It refuses
// routes of cfg.Methods that the wire does not support.
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	rc, err := newConn(cfg, newTransport)
	if err != nil {
		return nil, err
	}
	return rc, nil
}

// NewHTTP3Conn is [NewConn] over HTTP/3.
func NewHTTP3Conn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	rc, err := newConn(cfg, newHTTP3)
	if err != nil {
		return nil, err
	}
	rc.packets = true
	return rc, nil
}

func newConn(cfg *rpc.ClientConfig, over func(*rpc.ClientConfig) (transport, error)) (*conn, error) {
	formats, err := newFormats(cfg.Codecs)
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	codec, err := cfg.Codec(formats.json.codec.Name())
	if err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	c := &conn{cfg: *cfg, formats: formats, format: formats.ofCodec(codec.Name()), wants: http.Header{}, scheme: "http", host: "localhost", prefix: strings.TrimSuffix(cfg.Path, "/"), agent: []string{cfg.UserAgent}}
	if len(cfg.Addrs) > 0 && !strings.Contains(cfg.Addrs[0], "/") { // not the path of a socket
		c.host = cfg.Addrs[0]
	}
	if cfg.TLS != nil {
		c.scheme = "https"
	}
	if !c.format.isJSON {
		c.wants["Accept"] = c.format.header
	}
	if name := cfg.Options["compression"]; name != "" {
		var ok bool
		if c.coding, ok = httpbody.ParseCoding(name); !ok {
			return nil, fmt.Errorf("rest: there is no content coding %q", name)
		}
		c.wants["Accept-Encoding"] = c.coding.Header()
	}
	if cfg.Methods != nil {
		for _, m := range cfg.Methods.Methods() {
			if _, err := c.routeOf(m); err != nil {
				return nil, fmt.Errorf("rest: %w", err)
			}
		}
	}
	c.plain = maps.Clone(c.wants)
	c.plain["User-Agent"], c.plain["Content-Type"] = c.agent, c.format.header
	if c.transport, err = over(&c.cfg); err != nil {
		return nil, fmt.Errorf("rest: %w", err)
	}
	return c, nil
}

// Close ends the calls in flight, which are then Canceled, and closes all
// connections.
func (c *conn) Close() error {
	c.closed.Store(true)
	c.streams.close()
	c.transport.Close()
	return nil
}

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

func (c *conn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if call.OneWay {
			return status.Error(codes.Unimplemented, "the wire rest has no one-way calls")
		}
		x := &outbound{buf: httpbody.Buffer()}
		defer httpbody.Free(x.buf)
		if err := c.prepare(x, call, args); err != nil {
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
	verb string
	url  url.URL
	placedRequest
	format *format         // of the body
	coding httpbody.Coding // of the body
	buf    *[]byte         // the message, encoded
	sent   roundtrip.Body  // what the transport reads
}

// prepare builds a request.
func (c *conn) prepare(x *outbound, call *rpc.Outgoing, args any) error {
	if _, _, err := everywire.SplitMethod(call.Path); err != nil || call.Path[0] != '/' {
		return status.Errorf(codes.Unimplemented, "malformed method name: %q", call.Path)
	}
	route := defaultRoute
	if call.Method != nil {
		var err error
		if route, err = c.routeOf(call.Method); err != nil {
			return status.Error(codes.Unimplemented, err.Error())
		}
	}
	x.verb = http.MethodPost
	if err := c.fill(x, route, call, args); err != nil {
		return err
	}
	return call.Sent(len(*x.buf))
}

// fill sets the path, the query and the body of a request.
func (c *conn) fill(x *outbound, route *clientRoute, call *rpc.Outgoing, args any) error {
	// A body that is the message is in the message's own format; one that is
	// put together from what the path leaves is JSON at first, and stays so if the
	// format is for whole messages only.
	alone := route.plainBody()
	x.format = c.format
	codec := c.format.codec
	if !alone {
		codec = plainJSON
		if !c.format.isDocument {
			x.format = c.formats.json
		}
	}
	var err error
	if *x.buf, err = codec.Append(*x.buf, args); err != nil {
		return status.Errorf(codes.Internal, "request of %s: %v", call.Path, err)
	}
	var body []byte
	if route == defaultRoute {
		x.path, body = escapePath(call.Path), *x.buf
	} else {
		message := *x.buf
		if alone {
			message = emptyObject
		}
		if x.placedRequest, err = route.split(message); err != nil {
			return status.Errorf(codes.InvalidArgument, "request of %s: %v", call.Path, err)
		}
		x.verb = x.endpoint.verb
		if body = x.body; alone {
			body = *x.buf
		}
	}
	x.url = url.URL{Scheme: c.scheme, Host: c.host, Opaque: c.prefix + x.path, RawQuery: x.query}
	if body == nil {
		return nil
	}
	if !alone && !x.format.isJSON {
		if body, err = fromJSON(nil, x.format, body); err != nil {
			return status.Errorf(codes.Internal, "request of %s: %v", call.Path, err)
		}
	}
	x.setBody(body, c.coding)
	return nil
}

// setBody sets the body, or a shorter form of it.
func (x *outbound) setBody(body []byte, coding httpbody.Coding) {
	if coded, ok := (httpbody.Preference{Coding: coding}).Encode(nil, body); ok {
		x.body, x.coding = coded, coding
		return
	}
	x.body = body
}

// header returns the fields of a request. Those of the simplest calls are the
// same, and nobody changes them.
func (c *conn) header(ctx context.Context, call *rpc.Outgoing, x *outbound) http.Header {
	deadline, timed := ctx.Deadline()
	if x.body != nil && x.coding == httpbody.Identity && len(x.headers) == 0 && len(call.Metadata) == 0 && !timed && x.format == c.format && !x.part(c.format) {
		return c.plain
	}
	header := make(http.Header, 4+len(call.Metadata))
	header["User-Agent"] = c.agent // if empty, net/http sends none
	maps.Copy(header, c.wants)
	if x.part(c.format) {
		header["Accept"] = c.formats.json.header
	}
	httpmeta.Put(header, "", call.Metadata)
	x.setIn(header)
	if timed {
		header[httpmeta.TimeoutHeader] = []string{httpmeta.FormatTimeout(time.Until(deadline))}
	}
	if x.body != nil {
		header["Content-Type"] = x.format.header
	}
	if x.coding != httpbody.Identity {
		header["Content-Encoding"] = x.coding.Header()
	}
	return header
}

// part reports whether the call's reply is one field of the message, which a
// format for whole messages only has no form for.
func (x *outbound) part(f *format) bool {
	return !f.isDocument && x.endpoint != nil && x.endpoint.responseField != nil
}

func (c *conn) httpRequest(ctx context.Context, call *rpc.Outgoing, x *outbound) *http.Request {
	header := c.header(ctx, call, x)
	r := &http.Request{
		Method: x.verb, URL: &x.url, Host: c.host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if x.body != nil {
		r.ContentLength = int64(len(x.body))
		x.sent.Set(x.body)
		r.Body = &x.sent
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
	buf := httpbody.Buffer()
	defer httpbody.Free(buf)
	if res.StatusCode < 200 || res.StatusCode > 299 {
		// The limit is for messages; an error is bounded by what details need.
		// Of a longer one the beginning is told.
		*buf, err = httpbody.Read(*buf, res.Body, res.ContentLength, res.Header["Content-Encoding"], max(call.MaxReceive(), 64<<10))
		if err != nil && !errors.Is(err, httpbody.ErrTooLarge) {
			return c.broken("within an error reply", err)
		}
		return httpmeta.RetryAfter(statusOf(res.StatusCode, res.Header.Get("Content-Type"), *buf), res.Header).Err()
	}
	if err := call.CheckReceived(int(max(res.ContentLength, 0))); err != nil {
		return err
	}
	*buf, err = httpbody.Read(*buf, res.Body, res.ContentLength, res.Header["Content-Encoding"], call.MaxReceive())
	switch {
	case errors.Is(err, httpbody.ErrTooLarge):
		return call.CheckReceived(call.MaxReceive() + 1)
	case errors.Is(err, httpbody.ErrCoding):
		return status.Errorf(codes.Internal, "reply of %s: %v", call.Path, err)
	case err != nil:
		return c.broken("within the reply", err)
	}
	if err := c.decodeReply(x, res, *buf, reply); err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", call.Path, err)
	}
	call.Received(len(*buf))
	return nil
}

// broken words a failure of the connection. What nobody could be reached for
// is a *rpc.DialError, at the first try or a later one; of anything else nobody
// knows whether it ran.
func (c *conn) broken(when string, err error) error {
	var unreachable *rpc.DialError
	if errors.As(err, &unreachable) {
		return rpc.After(err, unreachable)
	}
	return fmt.Errorf("the connection to %s broke %s; the call may have run: %w", c.cfg.Target, when, err)
}

// takeMetadata sets the call's header and trailer.
func takeMetadata(call *rpc.Outgoing, h http.Header) (err error) {
	for name := range h {
		switch name {
		case "Content-Type", "Content-Length", "Content-Encoding", "Date", "Connection", "Vary":
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

// decodeReply decodes the body of a success, in whatever format it is.
func (c *conn) decodeReply(x *outbound, res *http.Response, body []byte, reply any) error {
	f, err := c.formats.of(res.Header)
	if len(body) == 0 && (err != nil || f.isDocument) { // 204, or what others answer with nothing
		return plainJSON.Decode(emptyObject, reply)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, quote(body))
	}
	if e := x.endpoint; e != nil && e.responseField != nil {
		switch {
		case f.isJSON:
			body, err = wrap(e.responseField, body)
		case !f.isDocument:
			return fmt.Errorf("the reply is one field of a message, and %s is for a whole one", f.mediaType)
		default:
			body, err = wrapValue(f, e.responseField, body)
		}
		if err != nil {
			return err
		}
	}
	return f.codec.Decode(body, reply)
}

// routeOf returns the routes that calls of m take.
func (c *conn) routeOf(m *everywire.Method) (*clientRoute, error) {
	if m.Kind != everywire.Unary {
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
