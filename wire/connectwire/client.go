package connectwire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/roundtrip"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

type conn struct {
	cfg       rpc.ClientConfig
	codec     *bytesCodec
	transport roundtrip.Carrier
	conns     *roundtrip.Conns // all, whatever transport they are of
	base      url.URL
	options   []connect.ClientOption
	compress  httpbody.Coding // of requests, and of replies if the server likes
	get       bool            // methods without side effects are called by GET

	clients sync.Map // clientKey -> *connect.Client[message, message]
	made    atomic.Int64
}

// A clientKey is what a client of connect-go is for.
type clientKey struct {
	path       string
	maxReceive int
	get        bool
}

// maxClients bounds how many are kept: limits are free to differ from call to
// call.
const maxClients = 10_000

// NewConn returns a client's connection: HTTP/2 over TLS or in cleartext, with
// HTTP/1.1 for servers that choose it by ALPN and with the option http=1.1. Its other
// options are protocol (connect, grpc-web), codec (a name of cfg.Codecs),
// compression (gzip, br, zstd), compressmin, get and reconnect.
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	named, err := cfg.Codec(rpc.Protobuf)
	if err != nil {
		return nil, err
	}
	codec := newBytesCodec(named)
	c := &conn{cfg: *cfg, codec: codec, conns: roundtrip.NewConns(cfg.DialAddr)}
	c.cfg.DialAddr = c.conns.DialAddr
	c.base = url.URL{Scheme: "http", Host: "localhost", Path: strings.TrimSuffix(cfg.Path, "/")}
	if len(cfg.Addrs) > 0 && !strings.Contains(cfg.Addrs[0], "/") { // not the path of a socket
		c.base.Host = cfg.Addrs[0]
	}
	least := httpbody.MinSize
	if text, ok := cfg.Options["compressmin"]; ok {
		if least, err = strconv.Atoi(text); err != nil || least < 0 {
			return nil, fmt.Errorf("the option compressmin is %q: it is a number of bytes", text)
		}
		if cfg.Options["compression"] == "" {
			return nil, errors.New("the option compressmin needs compression, without which nothing is compressed")
		}
	}
	c.options = []connect.ClientOption{connect.WithCodec(codec), connect.WithCompressMinBytes(least)}
	switch p := cfg.Options["protocol"]; p {
	case "", "connect":
	case "grpc-web":
		c.options = append(c.options, connect.WithGRPCWeb())
	default:
		return nil, fmt.Errorf("unknown protocol %q: it is one of connect, grpc-web", p)
	}
	if name := cfg.Options["compression"]; name != "" {
		var ok bool
		if c.compress, ok = httpbody.ParseCoding(name); !ok {
			return nil, fmt.Errorf("unknown compression %q: it is one of gzip, br, zstd", name)
		}
	}
	_, c.get = cfg.Options["get"]
	return c, c.makeTransport()
}

// makeTransport makes what carries the requests.
func (c *conn) makeTransport() error {
	protocols := new(http.Protocols)
	var alpn []string
	version := c.cfg.Options["http"]
	switch {
	case version != "" && version != "1.1" && version != "2":
		return fmt.Errorf("unknown version %q of HTTP: it is one of 1.1, 2", version)
	case version == "1.1":
		protocols.SetHTTP1(true)
		alpn = []string{web.HTTP11}
	case c.cfg.TLS == nil:
		protocols.SetUnencryptedHTTP2(true)
	default:
		protocols.SetHTTP2(true)
		alpn = []string{web.HTTP2}
		if version == "" {
			protocols.SetHTTP1(true)
			alpn = append(alpn, web.HTTP11)
		}
	}
	if c.cfg.TLS != nil {
		c.base.Scheme = "https"
	}
	pacer := new(rpc.Pacer)
	if _, perCall := c.cfg.Options["reconnect"]; perCall {
		c.transport = &roundtrip.Fresh{New: func() roundtrip.Carrier { return newTransport(&c.cfg, pacer, protocols, alpn, true) }}
	} else {
		c.transport = newTransport(&c.cfg, pacer, protocols, alpn, false)
	}
	return nil
}

// A transport is net/http's, and its connections.
type transport struct {
	*http.Transport
	conns *roundtrip.Conns
}

// newTransport makes what carries requests over one or more versions of HTTP. once
// says that there will be one request.
func newTransport(cfg *rpc.ClientConfig, pacer *rpc.Pacer, protocols *http.Protocols, alpn []string, once bool) *transport {
	t := &transport{conns: roundtrip.NewConns(cfg.DialAddr)}
	tracked := *cfg
	tracked.DialAddr = t.conns.DialAddr
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return pacer.Dial(ctx, func(ctx context.Context) (net.Conn, error) { return tracked.Dial(ctx, alpn...) })
	}
	t.Transport = &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial,
		DisableCompression:     true,
		DisableKeepAlives:      once, // HTTP/1.1 says it to the server
		MaxIdleConnsPerHost:    web.ClientMaxIdle,
		IdleConnTimeout:        web.ClientIdleTimeout,
		MaxResponseHeaderBytes: int64(web.MaxHead(cfg.Limits)),
		Protocols:              protocols,
		// By default it is 4 MiB: so much would each stream hold whose caller
		// does not read.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 512 << 10},
	}
	return t
}

// Close is [roundtrip.Carrier]'s.
func (t *transport) Close() {
	t.CloseIdleConnections() // in good order
	t.conns.Close()
	t.CloseIdleConnections()
}

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// Close ends the calls in flight, which are then Canceled, and closes all
// connections.
func (c *conn) Close() error {
	c.conns.Close() // first: from now on calls say that it is the client's doing
	c.transport.Close()
	return nil
}

// client returns connect-go's client of one method.
func (c *conn) client(call *rpc.Outgoing) *connect.Client[message, message] {
	// What is received has the call's limit; errors may be longer.
	key := clientKey{call.Path, max(call.MaxReceive(), minErrorLimit), c.get && withoutSideEffects(call)}
	if client, ok := c.clients.Load(key); ok {
		return client.(*connect.Client[message, message])
	}
	opts := append(slices.Clone(c.options),
		connect.WithReadMaxBytes(key.maxReceive),
		connect.WithAcceptCompression("gzip", nil, nil)) // connect-go's own, which is on by default
	if c.compress != httpbody.Identity {
		opts = append(opts,
			connect.WithAcceptCompression(c.compress.String(), newDecompressor(c.compress, key.maxReceive), newCompressor(c.compress)),
			connect.WithSendCompression(c.compress.String()))
	}
	if key.get {
		opts = append(opts, connect.WithIdempotency(connect.IdempotencyNoSideEffects), connect.WithHTTPGet())
	}
	at := c.base
	at.Path += call.Path
	client := connect.NewClient[message, message](c, at.String(), opts...)
	if c.made.Add(1) <= maxClients {
		c.clients.Store(key, client)
	}
	return client
}

func withoutSideEffects(call *rpc.Outgoing) bool {
	return call.Method != nil && call.Method.Idempotency == everywire.NoSideEffects
}

// Do is what connect-go calls to send a request. A call that waits for ready
// tries again while no server can be reached.
func (c *conn) Do(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	var res *http.Response
	err := x.call.Reach(r.Context(), func() (err error) {
		if c.conns.Closed() {
			return errClosing
		}
		attempt := *r
		attempt.Body = keptOpen{r.Body, r.Context(), x}
		res, err = c.transport.RoundTrip(&attempt) //nolint:bodyclose // connect-go closes it
		return err
	})
	if err != nil {
		_ = r.Body.Close() // of a pipe or a buffer
		x.fail(err)
		return nil, err
	}
	x.bound(res)
	return res, nil
}

// keptOpen is a request's body that outlives the attempts to send it that have
// reached nobody.
type keptOpen struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the request
	x   *exchange
}

// Read fails when the call's context has ended. Its end closes the body, which
// must not look to the server as if the client were done.
func (b keptOpen) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && b.ctx.Err() != nil {
		err = b.ctx.Err()
	}
	return n, err
}

func (b keptOpen) Close() error {
	select {
	case <-b.x.reached:
		return b.ReadCloser.Close()
	default:
		return nil
	}
}

func (c *conn) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	return c.cfg.Invoke(ctx, path, args, reply, opts, func(ctx context.Context, call *rpc.Outgoing) error {
		if call.OneWay {
			return status.Error(codes.Unimplemented, "the wire connect has no one-way calls")
		}
		if err := checkPath(path); err != nil {
			return err
		}
		data, err := c.codec.Append(nil, args)
		if err != nil {
			return status.Errorf(codes.Internal, "request of %s: %v", path, err)
		}
		if err := call.Sent(len(data)); err != nil {
			return err
		}
		res, err := c.roundTrip(ctx, call, data)
		if err != nil {
			return err
		}
		if err := call.CheckReceived(len(res)); err != nil {
			return err
		}
		if err := c.codec.Decode(res, reply); err != nil {
			return status.Errorf(codes.Internal, "reply of %s: %v", path, err)
		}
		call.Received(len(res))
		return nil
	})
}

func checkPath(path string) error {
	if _, _, err := everywire.SplitMethod(path); err != nil || path[0] != '/' {
		return status.Errorf(codes.Unimplemented, "malformed method name: %q", path)
	}
	return nil
}

// roundTrip makes a unary call and returns the reply.
func (c *conn) roundTrip(ctx context.Context, call *rpc.Outgoing, data []byte) ([]byte, error) {
	x := newExchange(c, call)
	call.Peer = nil
	ctx, info := connect.NewClientContext(x.context(ctx))
	req := connect.NewRequest(&message{data: data})
	c.putHeader(req.Header(), call)
	res, err := c.client(call).CallUnary(ctx, req)
	call.Peer = x.peer()
	if err == nil || connect.IsWireError(err) {
		if err := takeInto(call, info.ResponseHeader(), info.ResponseTrailer()); err != nil {
			return nil, status.Errorf(codes.Internal, "reply of %s: %v", call.Path, err)
		}
	}
	if err != nil {
		return nil, x.failure(ctx, err)
	}
	return c.codec.bytesOf(res.Msg), nil
}

func (c *conn) putHeader(h http.Header, call *rpc.Outgoing) {
	putMetadata(h, call.Metadata)
	h["User-Agent"] = []string{c.cfg.UserAgent} // if empty, net/http sends none
}

// takeInto sets a call's headers and trailers.
func takeInto(call *rpc.Outgoing, header, trailer http.Header) (err error) {
	if call.Header, err = takeHeader(header); err != nil {
		return err
	}
	call.Trailer, err = takeMetadata(trailer)
	return err
}

// failure words why a call failed: the server's status, or else what went
// wrong on the way. Before there was a connection nothing was sent.
func (x *exchange) failure(ctx context.Context, err error) error {
	if connect.IsWireError(err) {
		return answered(err).Err()
	}
	err = x.unanswered(ctx, err)
	if x.peer() == nil {
		return rpc.NotSent(err)
	}
	return rpc.After(errSent, err)
}

// errSent stands for what was sent: net/http may have made the request again
// and not have found a connection for it.
var errSent = errors.New("the call may have run")

func (x *exchange) unanswered(ctx context.Context, err error) error {
	broken := x.failed()
	var unreachable *rpc.DialError
	switch {
	case x.conn.conns.Closed():
		return errClosing
	case errors.As(broken, &unreachable):
		return unreachable
	case ctx.Err() != nil:
		return ctx.Err()
	case broken != nil:
		if s, ok := status.FromError(broken); ok {
			return s.Err()
		}
		return fmt.Errorf("the connection to %s broke; the call may have run: %w", x.conn.cfg.Target, broken)
	}
	return statusOf(err).Err()
}
