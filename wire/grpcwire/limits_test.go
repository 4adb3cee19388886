package grpcwire

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
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

// The limits on streams and headers are announced in the server's first frame,
// SETTINGS (RFC 9113, sections 3.4 and 6.5), which every client obeys.
func TestAnnouncedLimits(t *testing.T) {
	addr, _ := start(t, testRegistry(), limitServer(everywire.Limits{MaxInFlight: 7, MaxMetadata: 3 * kib}))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 9) // length (3), type, flags, stream (4)
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	if head[3] != 4 {
		t.Fatalf("the first frame has type %d, not SETTINGS", head[3])
	}
	payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, payload); err != nil {
		t.Fatal(err)
	}
	got := map[uint16]uint32{}
	for ; len(payload) >= 6; payload = payload[6:] {
		got[binary.BigEndian.Uint16(payload)] = binary.BigEndian.Uint32(payload[2:])
	}
	if n := got[3]; n != 7 {
		t.Errorf("SETTINGS_MAX_CONCURRENT_STREAMS is %d", n)
	}
	if n := got[6]; n != 20*kib {
		t.Errorf("SETTINGS_MAX_HEADER_LIST_SIZE is %d", n)
	}
}
