package grpcwire

import (
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// A server that shuts down says NOT_SERVING first, then GOAWAY twice: the first with
// the largest stream there can be, and the second, when the client has answered the
// ping between them, with the last that it took (RFC 9113, section 6.8). A call that
// came in between is answered, as is the one before.
func TestDrainRaw(t *testing.T) {
	reg, entered, leave := gate()
	addr, srv := start(t, reg)
	checker := connect(t, clientConfig(nil, addr))
	watch, err := healthpb.NewHealthClient(checker).Watch(testContext(t), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := watch.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v", m, err)
	}
	c := rawConn(t, addr)
	before := c.call("x.Gate/Pass", framed(0, nil), true)
	<-entered
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(testContext(t)) }()

	first := c.goAway()
	if first.ErrCode != http2.ErrCodeNo || first.LastStreamID != 1<<31-1 {
		t.Errorf("the first GOAWAY: %v, stream %d", first.ErrCode, first.LastStreamID)
	}
	if m, err := watch.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the watch of health: %v, %v", m, err)
	}
	late := c.call("x.Gate/Pass", framed(0, nil), true) // sent before it had heard
	<-entered
	if p, ok := c.until(isPing).(*http2.PingFrame); ok {
		c.must(c.WritePing(true, p.Data))
	} else {
		t.Fatal("the connection ended without a ping")
	}
	second := c.goAway()
	if second.ErrCode != http2.ErrCodeNo || second.LastStreamID != late {
		t.Errorf("the second GOAWAY: %v, stream %d, want %d", second.ErrCode, second.LastStreamID, late)
	}
	close(leave)
	answered := map[uint32]bool{}
	for len(answered) < 2 {
		f, ok := c.until(func(f http2.Frame) bool { h, ok := f.(*http2.MetaHeadersFrame); return ok && h.StreamEnded() }).(*http2.MetaHeadersFrame)
		if !ok {
			t.Fatalf("the connection ended; answered are %v of %d and %d", answered, before, late)
		}
		answered[f.StreamID] = true
	}
	if c.until(func(http2.Frame) bool { return false }) != nil {
		t.Error("the connection is still open")
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// Who watches the health sees NOT_SERVING before the end of the watch.
func TestHealthBeforeTheEnd(t *testing.T) {
	addr, srv := start(t, testRegistry())
	watch, err := healthpb.NewHealthClient(connect(t, clientConfig(rpc.Options{"codec": "json"}, addr))).Watch(testContext(t), &healthpb.HealthCheckRequest{Service: "echo.Echo"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := watch.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v", m, err)
	}
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if m, err := watch.Recv(); err != nil || m.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got %v, %v", m, err)
	}
	_, err = watch.Recv()
	wantCode(t, err, codes.Canceled)
}
