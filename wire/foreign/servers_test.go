package foreign

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
)

// checkServer calls the methods that a foreign JSON-RPC server has by our client.
func checkServer(t *testing.T, conn grpc.ClientConnInterface) {
	t.Helper()
	ctx := testContext(t)
	sum, err := everywire.Call[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}})
	if err != nil || sum.Sum != 41 {
		t.Errorf("sum: %v, %v", sum, err)
	}
	const largest = 1<<53 - 1 // what JavaScript can hold
	sum, err = everywire.Call[arith.SumReply](ctx, conn, arith.Sum, &arith.SumRequest{Numbers: []int64{largest - 1, 1}})
	if err != nil || sum.Sum != largest {
		t.Errorf("sum: %v, %v", sum, err)
	}
	diff, err := everywire.Call[number](ctx, conn, "peer.Peer/Subtract", &pair{42, 23})
	if err != nil || diff.Value != 19 {
		t.Errorf("subtract: %v, %v", diff, err)
	}
	for _, want := range []string{"", noteText, strings.Repeat("é", 512<<10)} {
		got, err := everywire.Call[text](ctx, conn, "peer.Peer/Same", &text{want})
		if err != nil || got.Text != want {
			t.Errorf("same: a text of %d bytes: %v", len(want), err)
		}
	}
	_, err = everywire.Call[empty](ctx, conn, "peer.Peer/Fail", &failure{77, "its own: ü"})
	if s := status.Convert(err); s.Code() != codes.Unknown || s.Message() != `its own: ü (code 77, data {"why":"because"})` {
		t.Errorf("fail: %v", err)
	}
	// The server has no such method.
	_, err = everywire.Call[empty](ctx, conn, "peer.Peer/Began", &empty{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("an unknown method: %v", err)
	}
	// A deadline is a member that the server does not know.
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if got, err := everywire.Call[text](soon, conn, "peer.Peer/Same", &text{"x"}); err != nil || got.Text != "x" {
		t.Errorf("with a deadline: %v", err)
	}
	checkNotes(t, ctx, conn)
	checkInFlight(t, ctx, conn, 100)
}

// checkNotes sends notifications and asks the server for what it got.
func checkNotes(t *testing.T, ctx context.Context, conn grpc.ClientConnInterface) {
	t.Helper()
	for _, note := range []string{"first", noteText} {
		if err := everywire.Notify(ctx, conn, "peer.Peer/Note", &text{note}); err != nil {
			t.Errorf("note: %v", err)
		}
	}
	got, err := everywire.Call[texts](ctx, conn, "peer.Peer/Noted", &empty{})
	if err != nil || !slices.Equal(got.Texts, []string{"first", noteText}) {
		t.Errorf("noted %q, %v", got, err)
	}
}

// checkInFlight makes n calls of which none is answered before all are there.
func checkInFlight(t *testing.T, ctx context.Context, conn grpc.ClientConnInterface, n int) {
	t.Helper()
	var futures []*everywire.Future[number]
	for range n {
		futures = append(futures, everywire.Start[number](ctx, conn, "peer.Peer/Meet", &number{int64(n)}))
	}
	seen := map[int64]bool{}
	for _, f := range futures {
		got, err := f.Wait(ctx)
		if err != nil {
			t.Fatalf("meet: %v", err)
		}
		seen[got.Value] = true
	}
	if len(seen) != n {
		t.Errorf("%d calls in flight got %d answers", n, len(seen))
	}
}

// checkCancel gives a call up that the server would answer never, and waits until the
// server has seen that.
func checkCancel(t *testing.T, conn grpc.ClientConnInterface) {
	t.Helper()
	ctx := testContext(t)
	giveUp, cancel := context.WithCancel(ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := everywire.Call[empty](giveUp, conn, "peer.Peer/Block", &empty{}); status.Code(err) != codes.Canceled {
		t.Fatalf("block: %v", err)
	}
	for {
		got, err := everywire.Call[number](ctx, conn, "peer.Peer/Cancelled", &empty{})
		if err != nil {
			t.Fatalf("cancelled: %v", err)
		}
		if got.Value == 1 {
			return
		}
	}
}

func TestJaysonServer(t *testing.T) {
	cert, key := certificate(t)
	for transport, target := range map[string]string{
		"tcp": "jsonrpc+tcp://%s", "tls": "jsonrpc+tcp+tls://%s?ca=" + cert,
		"http": "jsonrpc+http://%s", "https": "jsonrpc+http+tls://%s?ca=" + cert,
	} {
		t.Run(transport, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				args := map[string]any{"transport": transport, "version": 2}
				if strings.Contains(target, "tls") {
					args["cert"], args["key"] = cert, key
				}
				checkServer(t, newService().dial(t, target, via(startNode(t, "jayson-server.js", args))))
			})
		})
	}
}

func TestJaysonServerUnix(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	args := map[string]any{"transport": "tcp", "socket": socket, "version": 2}
	checkServer(t, newService().dial(t, "jsonrpc+unix://%s", startNode(t, "jayson-server.js", args)))
}

// TestJaysonServerV1: jayson's errors are objects in version 1.0 too.
func TestJaysonServerV1(t *testing.T) {
	for _, transport := range []string{"tcp", "http"} {
		t.Run(transport, func(t *testing.T) {
			addr := startNode(t, "jayson-server.js", map[string]any{"transport": transport, "version": 1})
			checkServer(t, newService().dial(t, "jsonrpc+%s://%s?version=1.0", transport, addr))
		})
	}
}

func TestJSONRPC20Server(t *testing.T) {
	for _, transport := range []string{"tcp", "http"} {
		t.Run(transport, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				addr := via(startNode(t, "json-rpc-2.0-server.js", map[string]any{"transport": transport}))
				checkServer(t, newService().dial(t, "jsonrpc+%s://%s", transport, addr))
			})
		})
	}
}

func TestVSCodeServer(t *testing.T) {
	wholeAndCut(t, func(t *testing.T, via func(string) string) {
		conn := newService().dial(t, "jsonrpc+tcp://%s?framing=header", via(startNode(t, "vscode-server.js", nil)))
		checkServer(t, conn)
		checkCancel(t, conn)
	})
}
