package grpcwire

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func withOptions(options rpc.Options) func(*rpc.ServerConfig) {
	return func(c *rpc.ServerConfig) { c.Options = options }
}

// A client that says nothing is asked, and one that does not answer is closed.
func TestServerKeepAlive(t *testing.T) {
	t.Parallel() // it takes seconds
	addr, _ := start(t, testRegistry(), withOptions(rpc.Options{"keepalive": "1s", "keepalivetimeout": "1s"}))
	c := rawConn(t, addr)
	if c.until(isPing) == nil {
		t.Fatal("the connection ended before a ping")
	}
	// until would answer the next one; this time nobody does.
	for {
		if _, err := c.ReadFrame(); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("the connection is still open")
		} else if err != nil {
			break
		}
	}
}

// Pings that come too often end the connection (A8: ENHANCE_YOUR_CALM); data between
// them makes no difference to those that come within the least time.
func TestServerEnforcesKeepAlive(t *testing.T) {
	addr, _ := start(t, testRegistry(), withOptions(rpc.Options{"keepalivemin": "10m"}))
	c := rawConn(t, addr)
	for range 4 { // the first, two that are forgiven, and one
		c.must(c.WritePing(false, [8]byte{1}))
	}
	f := c.goAway()
	if f.ErrCode != http2.ErrCodeEnhanceYourCalm || string(f.DebugData()) != "too_many_pings" {
		t.Errorf("got %v %q", f.ErrCode, f.DebugData())
	}
}

// By default a client may ask as often as gRPC allows it, also without a call.
func TestDefaultEnforcement(t *testing.T) {
	addr, _ := start(t, testRegistry())
	c := rawConn(t, addr)
	for range 3 { // as many as are forgiven in 10 s
		c.must(c.WritePing(false, [8]byte{1}))
		if c.until(func(f http2.Frame) bool { p, ok := f.(*http2.PingFrame); return ok && p.IsAck() }) == nil {
			t.Fatal("the connection ended")
		}
	}
	id := c.call(sumMethod, framed(0, nil), true)
	if code, msg := c.status(id); code != "0" {
		t.Errorf("got %s %q", code, msg)
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	addr, _ := start(t, testRegistry(), withOptions(rpc.Options{"idle": "50ms"}))
	c := rawConn(t, addr)
	id := c.call(sumMethod, framed(0, nil), true)
	if code, msg := c.status(id); code != "0" {
		t.Fatalf("got %s %q", code, msg)
	}
	if f := c.goAway(); f.ErrCode != http2.ErrCodeNo {
		t.Errorf("got %v", f.ErrCode)
	}
}

// dials counts the connections that a client makes.
func dials(cfg *rpc.ClientConfig) *atomic.Int32 {
	var n atomic.Int32
	dial := cfg.DialAddr
	cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, addr)
	}
	return &n
}

// A client whose connection is too old makes another one, and no call notices.
func TestMaxAge(t *testing.T) {
	t.Parallel() // it takes seconds
	addr, _ := start(t, testRegistry(), withOptions(rpc.Options{"maxage": "1s", "maxagegrace": "1s"}))
	cfg := clientConfig(nil, addr)
	made := dials(cfg)
	conn := connect(t, cfg)
	for ctx := testContext(t); made.Load() < 2; {
		if _, err := everywire.Call[sumReply](ctx, conn, sumMethod, &sumRequest{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A call that is longer than the grace is cut off.
func TestMaxAgeGrace(t *testing.T) {
	t.Parallel() // it takes seconds
	reg, entered, _ := gate()
	addr, _ := start(t, reg, withOptions(rpc.Options{"maxage": "1s", "maxagegrace": "1s"}))
	conn := connect(t, clientConfig(nil, addr))
	call := everywire.Start[everywire.Document](testContext(t), conn, "x.Gate/Pass", &everywire.Document{})
	<-entered
	_, err := call.Wait(testContext(t))
	wantCode(t, err, codes.Unavailable)
}

func TestClientIdle(t *testing.T) {
	addr, _ := start(t, testRegistry())
	cfg := clientConfig(rpc.Options{"idle": "20ms"}, addr)
	closed := make(chan struct{}, 1)
	dial := cfg.DialAddr
	cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
		conn, err := dial(ctx, addr)
		return tellsClose{conn, closed}, err
	}
	conn := connect(t, cfg)
	for range 2 { // and it connects again
		if _, err := everywire.Call[sumReply](testContext(t), conn, sumMethod, &sumRequest{}); err != nil {
			t.Fatal(err)
		}
		<-closed
	}
}

type tellsClose struct {
	net.Conn
	closed chan struct{}
}

func (c tellsClose) Close() error {
	select {
	case c.closed <- struct{}{}:
	default:
	}
	return c.Conn.Close()
}
