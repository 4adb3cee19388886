package calllog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/observe/calllog"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type message struct {
	Text string `wire:"1"`
}

// A buffer that servers and the test share.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// records are the lines so far.
func (b *buffer) records(t *testing.T) []map[string]any {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []map[string]any
	for line := range strings.Lines(b.buf.String()) {
		record := map[string]any{}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// Every wire's calls are logged at both ends, at the level of their codes.
func TestEveryWire(t *testing.T) {
	for _, target := range []string{
		"rest://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0", "grpc://127.0.0.1:0", "connect://127.0.0.1:0",
	} {
		t.Run(target, func(t *testing.T) {
			out := new(buffer)
			log := calllog.New(slog.New(slog.NewJSONHandler(out, nil)))
			ctx, cancel := context.WithCancel(t.Context())
			server, err := wire.Serve(ctx, registry(), []string{target}, wire.WithStats(log.Handler), wire.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := wire.Dial(server.Targets()[0].String(), wire.WithStats(log.Handler))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"hello", "", "!"} {
				_, _ = everywire.Call[message](ctx, conn, "test.Test/Echo", &message{text}) // the log tells
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
			cancel()
			if err := server.Wait(); err != nil { // so all of them have been logged
				t.Error(err)
			}
			wireName, _, _ := strings.Cut(strings.Split(target, ":")[0], "+")
			counts := map[string]int{}
			for _, r := range out.records(t) {
				if r["wire"] != wireName || r["rpc.method"] != "test.Test/Echo" || r["duration"] == nil || r["network.peer.address"] == nil && r["msg"] == "served" {
					t.Errorf("record %v", r)
				}
				counts[r["level"].(string)+" "+r["msg"].(string)+" "+r["rpc.response.status_code"].(string)]++
			}
			for _, want := range []string{"INFO served OK", "INFO called OK", "INFO served NOT_FOUND", "INFO called NOT_FOUND", "ERROR served INTERNAL", "ERROR called INTERNAL"} {
				if counts[want] != 1 {
					t.Errorf("%d records %s, want 1: %v", counts[want], want, counts)
				}
			}
		})
	}
}

func registry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)))
	everywire.Handle(reg, "test.Test/Echo", func(_ context.Context, in *message) (*message, error) {
		switch in.Text {
		case "":
			return nil, status.Error(codes.NotFound, "nothing to say")
		case "!":
			panic("!")
		}
		return in, nil
	})
	return reg
}

func TestLevel(t *testing.T) {
	for code, want := range map[codes.Code]slog.Level{
		codes.OK: slog.LevelInfo, codes.NotFound: slog.LevelInfo, codes.Canceled: slog.LevelInfo, codes.Unavailable: slog.LevelWarn,
		codes.DeadlineExceeded: slog.LevelWarn, codes.Internal: slog.LevelError, codes.Unknown: slog.LevelError, 99: slog.LevelInfo,
	} {
		if got := calllog.Level(code); got != want {
			t.Errorf("%v: %v, want %v", code, got, want)
		}
	}
}
