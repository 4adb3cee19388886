package connectwire

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/stats"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// brokenStats panics when a call ends.
type brokenStats struct{ stats.Handler }

func (brokenStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (brokenStats) HandleRPC(_ context.Context, ev stats.RPCStats) {
	if _, ended := ev.(*stats.End); ended {
		panic("no statistics today")
	}
}

// A panic outside of the handler is the HTTP server's to recover: it must come on
// the goroutine that has the request, or it ends the program.
func TestPanicGoesToTheServer(t *testing.T) {
	h, err := NewHandler(&rpc.ServerConfig{
		Registry: registry(), Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: slog.New(slog.DiscardHandler),
		Stats: []stats.Handler{brokenStats{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct{ path, contentType, body string }{
		{"/test.Notes/Echo", "application/json", `{"text":"a"}`},
		{"/test.Notes/Repeat", "application/connect+json", "\x00\x00\x00\x00\x0a" + `{"size":1}`},
	} {
		func() {
			defer func() {
				if p := recover(); p != "no statistics today" {
					t.Errorf("%s: the server recovers %v", call.path, p)
				}
			}()
			do(t, h, "POST", call.path, strings.NewReader(call.body), "Content-Type", call.contentType)
		}()
	}
}
