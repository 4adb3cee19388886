package foreign

import (
	"net"
	"net/rpc"
	"net/rpc/jsonrpc"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// net/rpc's params are an array of one, and its methods are Service.Method.

// TestNetRPCClient: the methods have short names of the form that net/rpc's users
// write.
func TestNetRPCClient(t *testing.T) {
	wholeAndCut(t, func(t *testing.T, via func(string) string) {
		s := newService()
		everywire.Handle(s.reg, "peer.Dotted/Difference", subtract, form("Peer.Difference", everywire.ParamsObject, "", ""))
		client := jsonrpc.NewClient(connect(t, via(s.serve(t, "jsonrpc+tcp://127.0.0.1:0?version=1.0"))))
		defer func() {
			if err := client.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}()
		var diff struct {
			Value int64 `json:"value"`
		}
		if err := client.Call("Peer.Difference", map[string]int64{"minuend": 1<<63 - 1, "subtrahend": 1}, &diff); err != nil || diff.Value != 1<<63-2 {
			t.Errorf("%v, %v", diff, err)
		}
		for _, want := range []string{"", noteText, strings.Repeat("é", 512<<10)} {
			var got string
			if err := client.Call("same", want, &got); err != nil || got != want {
				t.Errorf("same: a text of %d bytes: %v", len(want), err)
			}
		}
		// Errors are texts: net/rpc takes no others.
		if err := client.Call("Peer.Difference", 1, &diff); err == nil || !strings.Contains(err.Error(), "object") {
			t.Errorf("wrong params: %v", err)
		}
		if err := client.Call("nope", 1, &diff); err == nil || err.Error() != `unknown method "nope"` {
			t.Errorf("an unknown method: %v", err)
		}
		checkClientInFlight(t, func(result any) error { return client.Call("meet", 100, result) }, 100)
	})
}

// A Peer is a service as net/rpc wants it.
type Peer struct{ m *goMethods }

// PeerArgs are the arguments of Difference.
type PeerArgs struct {
	Minuend    int64 `json:"minuend"`
	Subtrahend int64 `json:"subtrahend"`
}

// PeerReply is the reply of Difference.
type PeerReply struct {
	Value int64 `json:"value"`
}

func (p *Peer) Difference(args *PeerArgs, reply *PeerReply) error {
	reply.Value = args.Minuend - args.Subtrahend
	return nil
}

func (p *Peer) Same(args string, reply *string) error { *reply = args; return nil }

func (p *Peer) Fail(args string, _ *PeerReply) error { return rpc.ServerError(args) }

func (p *Peer) Meet(args int64, reply *int64) error { *reply = p.m.meet(args); return nil }

func TestNetRPCServer(t *testing.T) {
	wholeAndCut(t, func(t *testing.T, via func(string) string) {
		server := rpc.NewServer()
		if err := server.Register(&Peer{new(goMethods)}); err != nil {
			t.Fatal(err)
		}
		addr := listen(t, func(conn net.Conn) { server.ServeCodec(jsonrpc.NewServerCodec(conn)) })
		s := &service{reg: everywire.NewRegistry()}
		everywire.Handle(s.reg, "peer.Peer/Difference", subtract, form("Peer.Difference", everywire.ParamsObject, "", ""))
		everywire.Handle(s.reg, "peer.Peer/Same", same, form("Peer.Same", everywire.ParamsScalar, "text", "text"))
		everywire.Handle(s.reg, "peer.Peer/Fail", same, form("Peer.Fail", everywire.ParamsScalar, "text", "text"))
		everywire.Handle(s.reg, "peer.Peer/Meet", (&service{}).meet, form("Peer.Meet", everywire.ParamsScalar, "value", "value"))
		everywire.Handle(s.reg, "peer.Peer/Nope", same, form("Peer.Nope", everywire.ParamsScalar, "text", "text"))
		conn := s.dial(t, "jsonrpc+tcp://%s?version=1.0", via(addr))
		ctx := testContext(t)
		diff, err := everywire.Call[number](ctx, conn, "peer.Peer/Difference", &pair{1<<63 - 1, 1})
		if err != nil || diff.Value != 1<<63-2 {
			t.Errorf("%v, %v", diff, err)
		}
		for _, want := range []string{"", noteText, strings.Repeat("é", 512<<10)} {
			got, err := everywire.Call[text](ctx, conn, "peer.Peer/Same", &text{want})
			if err != nil || got.Text != want {
				t.Errorf("same: a text of %d bytes: %v", len(want), err)
			}
		}
		_, err = everywire.Call[text](ctx, conn, "peer.Peer/Fail", &text{"its own: ü"})
		if got := status.Convert(err); got.Code() != codes.Unknown || got.Message() != "its own: ü" {
			t.Errorf("fail: %v", err)
		}
		_, err = everywire.Call[text](ctx, conn, "peer.Peer/Nope", &text{"x"})
		if got := status.Convert(err); got.Code() != codes.Unknown || !strings.Contains(got.Message(), "can't find method Peer.Nope") {
			t.Errorf("an unknown method: %v", err)
		}
		checkInFlight(t, ctx, conn, 100)
	})
}
