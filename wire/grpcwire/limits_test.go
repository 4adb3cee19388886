package grpcwire

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // a peer may compress
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

const kib = 1 << 10

func limitServer(l everywire.Limits) func(*rpc.ServerConfig) {
	return func(c *rpc.ServerConfig) { c.Limits = l.WithDefaults() }
}

func TestMessageLimits(t *testing.T) {
	small := everywire.Limits{MaxMessage: 64 * kib}
	big := everywire.Limits{MaxMessage: 256 * kib}
	for name, test := range map[string]struct {
		server, client everywire.Limits
		text           string
		opts           []grpc.CallOption
		want           codes.Code
	}{
		"under the limit":               {small, small, strings.Repeat("a", 60*kib), nil, codes.OK},
		"client sends too much":         {big, small, strings.Repeat("a", 100*kib), nil, codes.ResourceExhausted},
		"server receives too much":      {small, big, strings.Repeat("a", 100*kib), nil, codes.ResourceExhausted},
		"after decompression":           {small, big, strings.Repeat("a", 100*kib), []grpc.CallOption{grpc.UseCompressor("gzip")}, codes.ResourceExhausted},
		"compressed, under the limit":   {small, small, strings.Repeat("a", 60*kib), []grpc.CallOption{grpc.UseCompressor("gzip")}, codes.OK},
		"the call's own limit counts":   {big, small, strings.Repeat("a", 100*kib), []grpc.CallOption{grpc.MaxCallSendMsgSize(200 * kib), grpc.MaxCallRecvMsgSize(200 * kib)}, codes.OK},
		"the call's limit is too small": {big, big, strings.Repeat("a", 100*kib), []grpc.CallOption{grpc.MaxCallRecvMsgSize(kib)}, codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			addr, _ := start(t, testRegistry(), limitServer(test.server))
			eachCodec(t, addr, func(t *testing.T, codec string, _ rpc.Conn) {
				cfg := clientConfig(rpc.Options{"codec": codec}, addr)
				cfg.Limits = test.client.WithDefaults()
				conn := connect(t, cfg)
				out, err := probepb.NewProbeClient(conn).Run(testContext(t), &probepb.RunRequest{Name: test.text}, test.opts...)
				wantCode(t, err, test.want)
				if err == nil && out.GetName() != test.text {
					t.Error("the text came back changed")
				}
			})
		})
	}
}

func TestServerSendsTooMuch(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "x.X/Big", func(context.Context, *everywire.Document) (*everywire.Document, error) {
		return &everywire.Document{Value: strings.Repeat("a", 100*kib)}, nil
	})
	addr, _ := start(t, reg, limitServer(everywire.Limits{MaxMessage: 64 * kib}))
	_, err := everywire.Call[everywire.Document](testContext(t), connect(t, clientConfig(nil, addr)), "x.X/Big", &everywire.Document{})
	wantCode(t, err, codes.ResourceExhausted)
}

func TestMetadataLimit(t *testing.T) {
	limits := everywire.Limits{MaxMetadata: 4 * kib}
	addr, _ := start(t, testRegistry(), limitServer(limits))
	cfg := clientConfig(nil, addr)
	cfg.Limits = limits.WithDefaults()
	conn := connect(t, cfg)
	call := func(conn rpc.Conn, n int) error {
		ctx := metadata.AppendToOutgoingContext(testContext(t), "k-bin", strings.Repeat("\xff", n-5))
		_, err := everywire.Call[sumReply](ctx, conn, sumMethod, &sumRequest{})
		return err
	}
	if err := call(conn, 4*kib); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	}
	wantCode(t, call(conn, 4*kib+1), codes.ResourceExhausted)

	// A client with a larger limit is stopped by what the server announces.
	err := call(connect(t, clientConfig(nil, addr)), 60*kib)
	if err == nil || status.Code(err) == codes.Unknown {
		t.Errorf("got %v", err)
	}
}

// Calls beyond MaxInFlight wait at the client until one ends.
func TestMaxInFlight(t *testing.T) {
	var running, most atomic.Int64
	entered, leave := make(chan struct{}), make(chan struct{})
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "x.X/Count", func(context.Context, *everywire.Document) (*everywire.Document, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		entered <- struct{}{}
		<-leave
		return &everywire.Document{}, nil
	})
	addr, _ := start(t, reg, limitServer(everywire.Limits{MaxInFlight: 2}))
	conn := connect(t, clientConfig(nil, addr))
	var calls []*everywire.Future[everywire.Document]
	for range 6 {
		calls = append(calls, everywire.Start[everywire.Document](testContext(t), conn, "x.X/Count", &everywire.Document{}))
	}
	for range calls {
		<-entered
		leave <- struct{}{}
	}
	for _, c := range calls {
		if _, err := c.Wait(testContext(t)); err != nil {
			t.Error(err)
		}
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d calls ran at once, want 2 at most", n)
	}
}
