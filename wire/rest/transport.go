package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/everywire/everywire/wire/internal/roundtrip"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// A transport carries the requests of a client, whose bodies are
// [roundtrip.Body]s.
type transport = roundtrip.Carrier

// newTransport makes what carries requests over HTTP/1.1, or over HTTP/2 with the
// option http=2.
func newTransport(cfg *rpc.ClientConfig) (transport, error) {
	_, perCall := cfg.Options["reconnect"]
	pacer := new(rpc.Pacer)
	switch version := cfg.Options["http"]; {
	case version == "2" && perCall:
		return &roundtrip.Fresh{New: func() roundtrip.Carrier { return newHTTP2(cfg, pacer) }}, nil
	case version == "2":
		return newHTTP2(cfg, pacer), nil
	case version != "" && version != "1.1":
		return nil, fmt.Errorf("there is no HTTP/%s among 1.1 and 2", version)
	}
	dial := func(ctx context.Context) (net.Conn, error) { return cfg.Dial(ctx, web.HTTP11) }
	t := &roundtrip.Transport{
		Dial:        func(ctx context.Context) (net.Conn, error) { return pacer.Dial(ctx, dial) },
		MaxIdle:     web.ClientMaxIdle,
		IdleTimeout: web.ClientIdleTimeout,
		MaxHead:     web.MaxHead(cfg.Limits),
	}
	if perCall {
		t.MaxIdle = 0
	}
	return t, nil
}

// An http2Transport is net/http's over HTTP/2 alone.
type http2Transport struct {
	*http.Transport
	conns *roundtrip.Conns
}

func newHTTP2(cfg *rpc.ClientConfig, pacer *rpc.Pacer) *http2Transport {
	t := &http2Transport{conns: roundtrip.NewConns(cfg.DialAddr)}
	tracked := *cfg
	tracked.DialAddr = t.conns.DialAddr
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return pacer.Dial(ctx, func(ctx context.Context) (net.Conn, error) { return tracked.Dial(ctx, web.HTTP2) })
	}
	t.Transport = &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial,
		DisableCompression:     true,
		IdleConnTimeout:        web.ClientIdleTimeout,
		MaxResponseHeaderBytes: int64(web.MaxHead(cfg.Limits)),
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP2(cfg.TLS != nil)
	t.Protocols.SetUnencryptedHTTP2(cfg.TLS == nil)
	return t
}

// errSent stands for a connection that a request was sent on.
var errSent = errors.New("the request was sent")

// RoundTrip is [http.RoundTripper]'s. net/http may send a request again, and
// then find no connection: the first time may count.
func (t *http2Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	roundtrip.Detach(r)
	if !roundtrip.MayRepeat(r) {
		return t.Transport.RoundTrip(r)
	}
	var sent atomic.Bool
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	res, err := t.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil && sent.Load() {
		err = rpc.After(errSent, err)
	}
	return res, err
}

// Close is [transport]'s.
func (t *http2Transport) Close() {
	t.CloseIdleConnections() // in good order
	t.conns.Close()
	t.CloseIdleConnections()
}

// handshakeTimeout is how long a server may say nothing while a connection of
// HTTP/3 begins. Where nobody listens, mostly nothing says so.
const handshakeTimeout = 5 * time.Second

// An http3Transport is quic-go's.
type http3Transport struct {
	*http3.Transport
	conn *atomic.Pointer[quic.Conn] // the last that was opened
}

// newHTTP3 makes what carries requests over HTTP/3 (RFC 9114) to the first
// address that answers.
func newHTTP3(cfg *rpc.ClientConfig) (transport, error) {
	if cfg.TLS == nil {
		return nil, errors.New("HTTP/3 is always over TLS")
	}
	pacer := new(rpc.Pacer)
	if _, perCall := cfg.Options["reconnect"]; perCall {
		return &roundtrip.Fresh{New: func() roundtrip.Carrier { return makeHTTP3(cfg, pacer) }}, nil
	}
	return makeHTTP3(cfg, pacer), nil
}

func makeHTTP3(cfg *rpc.ClientConfig, pacer *rpc.Pacer) http3Transport {
	t := http3Transport{conn: new(atomic.Pointer[quic.Conn]), Transport: &http3.Transport{
		TLSClientConfig:        cfg.TLS,
		MaxResponseHeaderBytes: web.MaxHead(cfg.Limits),
		DisableCompression:     true,
		QUICConfig:             &quic.Config{HandshakeIdleTimeout: handshakeTimeout, MaxIdleTimeout: web.ClientIdleTimeout},
		Logger:                 cfg.Logger,
	}}
	t.Dial = func(ctx context.Context, _ string, secure *tls.Config, config *quic.Config) (*quic.Conn, error) {
		if err := pacer.Begin(); err != nil {
			return nil, err
		}
		var errs []error
		for _, addr := range cfg.Addrs {
			conn, err := quic.DialAddr(ctx, addr, cfg.TLSFor(addr, secure.NextProtos...), config)
			if err == nil {
				t.conn.Store(conn)
				pacer.End(nil)
				return conn, nil
			}
			errs = append(errs, err)
		}
		err := &rpc.DialError{Target: cfg.Target, Err: errors.Join(errs...)}
		if ctx.Err() == nil {
			pacer.End(err)
		}
		return nil, err
	}
	return t
}

// RoundTrip is [http.RoundTripper]'s. It tells a GotConn hook of the connection
// when the response is there.
func (t http3Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	roundtrip.Detach(r)
	res, err := t.Transport.RoundTrip(r)
	trace := httptrace.ContextClientTrace(r.Context())
	if conn := t.conn.Load(); err == nil && trace != nil && trace.GotConn != nil && conn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: quicPeer{conn: conn}})
	}
	return res, err
}

// Close is [transport]'s.
func (t http3Transport) Close() { _ = t.Transport.Close() } // all connections are closed, whatever it says

// A quicPeer says who the peer of a connection is, as a net.Conn does; it does
// nothing else.
type quicPeer struct {
	net.Conn
	conn *quic.Conn
}

func (p quicPeer) RemoteAddr() net.Addr                 { return p.conn.RemoteAddr() }
func (p quicPeer) LocalAddr() net.Addr                  { return p.conn.LocalAddr() }
func (p quicPeer) ConnectionState() tls.ConnectionState { return p.conn.ConnectionState().TLS }
