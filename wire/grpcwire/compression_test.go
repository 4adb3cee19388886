package grpcwire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/stats"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

var compressions = []string{"gzip", "zstd"}

// Messages that are stored are whole to decoders that owe us nothing.
func TestStore(t *testing.T) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for n := range httpbody.MinSize {
		text := bytes.Repeat([]byte{byte(n), 0xfd}, n)[:n]
		z, err := gzip.NewReader(bytes.NewReader(store(httpbody.Gzip, nil, text)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("gzip of %d bytes: %d, %v", n, len(got), err)
		}
		if got, err := d.DecodeAll(store(httpbody.Zstd, nil, text), nil); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("zstd of %d bytes: %d, %v", n, len(got), err)
		}
	}
}

// sizes keeps what a stats.Handler hears of the sizes of messages.
type sizes struct {
	mu      sync.Mutex
	in, out [][2]int // before and after compression
}

func (*sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*sizes) HandleConn(context.Context, stats.ConnStats)                       {}
func (s *sizes) HandleRPC(_ context.Context, event stats.RPCStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch event := event.(type) {
	case *stats.InPayload:
		s.in = append(s.in, [2]int{event.Length, event.CompressedLength})
	case *stats.OutPayload:
		s.out = append(s.out, [2]int{event.Length, event.CompressedLength})
	}
}

// A client that compresses gets compressed replies, on calls and on streams; what is
// small is stored, and what is empty is sent as it is.
func TestCompressionBothWays(t *testing.T) {
	addr, _ := start(t, testRegistry())
	large := strings.Repeat("all the same ", 1000)
	for _, name := range compressions {
		t.Run(name, func(t *testing.T) {
			var seen sizes
			cfg := clientConfig(rpc.Options{"compression": name}, addr)
			cfg.Stats = []stats.Handler{&seen}
			client := probepb.NewProbeClient(connect(t, cfg))
			for _, text := range []string{large, "small", ""} {
				out, err := client.Run(testContext(t), &probepb.RunRequest{Name: text})
				if err != nil || out.GetName() != text {
					t.Fatalf("%d bytes: %v", len(text), err)
				}
			}
			stream, err := client.Chat(testContext(t))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := stream.Send(&probepb.RunRequest{Name: large}); err != nil {
					t.Fatal(err)
				}
				if out, err := stream.Recv(); err != nil || out.GetName() != large {
					t.Fatal(err)
				}
			}
			if err := stream.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			seen.mu.Lock()
			defer seen.mu.Unlock()
			for what, all := range map[string][][2]int{"sent": seen.out, "received": seen.in} {
				if len(all) != 5 {
					t.Fatalf("%s %d messages", what, len(all))
				}
				for i, n := range all {
					switch {
					case n[0] > len(large) && n[1] > 1000:
						t.Errorf("%s message %d: %d bytes, compressed to %d", what, i, n[0], n[1])
					case n[0] < 100 && n[0] > 0 && (n[1] < n[0]+9 || n[1] > n[0]+24):
						t.Errorf("%s message %d: %d bytes, stored as %d", what, i, n[0], n[1])
					}
				}
			}
		})
	}
}

// A client that does not compress gets replies as they are, although grpc-go says for
// it what it could read.
func TestNoCompressionUnasked(t *testing.T) {
	addr, _ := start(t, testRegistry())
	var seen sizes
	cfg := clientConfig(nil, addr)
	cfg.Stats = []stats.Handler{&seen}
	text := strings.Repeat("a", 10*kib)
	if _, err := probepb.NewProbeClient(connect(t, cfg)).Run(testContext(t), &probepb.RunRequest{Name: text}); err != nil {
		t.Fatal(err)
	}
	if n := seen.in[0]; n[0] != n[1] {
		t.Errorf("a reply of %d bytes came in %d", n[0], n[1])
	}
}

// Compressed messages that would become too large, and those that are none.
func TestCompressedRequestsRaw(t *testing.T) {
	addr, _ := start(t, testRegistry(), limitServer(everywire.Limits{MaxMessage: 64 * kib}))
	zeros := make([]byte, 8<<20)
	for name, test := range map[string]struct {
		encoding string
		flag     byte
		data     []byte
		want     string // the number of a status
	}{
		"gzip":                   {"gzip", 1, httpbody.Gzip.Append(nil, []byte{0x0a, 1, 7}), "0"},
		"zstd":                   {"zstd", 1, httpbody.Zstd.Append(nil, []byte{0x0a, 1, 7}), "0"},
		"announced but not used": {"zstd", 0, []byte{0x0a, 1, 7}, "0"},
		"gzip bomb":              {"gzip", 1, httpbody.Gzip.Append(nil, zeros), "8"},
		"zstd bomb":              {"zstd", 1, httpbody.Zstd.Append(nil, zeros), "8"},
		"over the limit before":  {"gzip", 1, make([]byte, 64*kib+1), "8"},
		// RFC 8878, section 3.1.1.1: one segment of 2 GiB, which is its window too.
		"zstd with a huge window": {"zstd", 1, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x80, 0x21, 0, 0, 1, 2, 3, 4}, "13"},
		"gzip cut short":          {"gzip", 1, httpbody.Gzip.Append(nil, zeros[:2000])[:20], "13"},
		"zstd cut short":          {"zstd", 1, httpbody.Zstd.Append(nil, bytes.Repeat([]byte("text"), 999))[:20], "13"},
		"not gzip":                {"gzip", 1, []byte("text"), "13"},
		"not zstd":                {"zstd", 1, []byte("text"), "13"},
		"not announced":           {"", 1, []byte("text"), "13"},
		"of identity":             {"identity", 1, []byte("text"), "13"},
		"unknown":                 {"br", 1, []byte("text"), "12"},
		"unknown flag":            {"gzip", 2, []byte("text"), "13"},
	} {
		t.Run(name, func(t *testing.T) {
			c := rawConn(t, addr)
			var headers []string
			if test.encoding != "" {
				headers = []string{"grpc-encoding", test.encoding}
			}
			message := framed(test.flag, test.data)
			message = message[:min(len(message), 60*kib)] // HTTP/2's first window has place for that
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			id := c.call(sumMethod, nil, false, headers...)
			for len(message) > 16*kib { // HTTP/2's largest frame
				c.must(c.WriteData(id, false, message[:16*kib]))
				message = message[16*kib:]
			}
			c.must(c.WriteData(id, true, message))
			code, text := c.status(id)
			runtime.ReadMemStats(&after)
			if code != test.want {
				t.Errorf("got %s %q, want %s", code, text, test.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
				t.Errorf("%d MiB of memory", n>>20)
			}
		})
	}
}

// A server that answers with a bomb harms no client.
func TestCompressedReplyOverTheLimit(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "x.X/Big", func(context.Context, *everywire.Document) (*everywire.Document, error) {
		return &everywire.Document{Value: strings.Repeat("a", 1<<20)}, nil
	})
	addr, _ := start(t, reg)
	for _, name := range compressions {
		cfg := clientConfig(rpc.Options{"compression": name}, addr)
		cfg.Limits.MaxMessage = 64 * kib
		_, err := everywire.Call[everywire.Document](testContext(t), connect(t, cfg), "x.X/Big", &everywire.Document{})
		wantCode(t, err, codes.ResourceExhausted)
	}
}

// Whoever has registered a name keeps it.
func TestCompressorsOfOthersStay(t *testing.T) {
	for _, c := range []httpbody.Coding{httpbody.Gzip, httpbody.Zstd} {
		was := encoding.GetCompressor(c.String())
		if was == nil {
			t.Fatalf("there is no %s", c)
		}
		if register(c) || encoding.GetCompressor(c.String()) != was {
			t.Errorf("%s was replaced", c)
		}
	}
	// This test's program has grpc-go's gzip, as other tests of the package import it.
	if _, ours := encoding.GetCompressor("gzip").(compressor); ours {
		t.Error("gzip is ours")
	}
}

// Our own gzip, which programs have that do not import grpc-go's.
func TestOwnCompressors(t *testing.T) {
	for _, coding := range []httpbody.Coding{httpbody.Gzip, httpbody.Zstd} {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				c := compressor{coding}
				for n := 0; n < 200*kib; n = 2*n + 1 + i {
					text := bytes.Repeat([]byte{byte(i)}, n)
					var sent bytes.Buffer
					w, err := c.Compress(&sent)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = w.Write(text[:n/3])
					_, _ = w.Write(text[n/3:])
					if err := w.Close(); err != nil {
						t.Error(err)
					}
					r, err := c.Decompress(&sent)
					if err != nil {
						t.Error(err)
						return
					}
					got, err := io.ReadAll(r)
					if err != nil || !bytes.Equal(got, text) {
						t.Errorf("%s: %d bytes became %d, %v", coding, n, len(got), err)
					}
					_ = r.(io.Closer).Close()
				}
			})
		}
		wg.Wait()
	}
}
