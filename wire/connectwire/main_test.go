package connectwire

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// note is a message without generated code.
type note struct {
	Text string `wire:"1"`
	Size int64  `wire:"2"`
}

func registry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler)))
	everywire.Handle(reg, "test.Notes/Echo", func(ctx context.Context, in *note) (*note, error) {
		if md, _ := metadata.FromIncomingContext(ctx); len(md["x-in-bin"]) > 0 {
			_ = grpc.SetHeader(ctx, metadata.Pairs("x-out-bin", md["x-in-bin"][0], "grpc-status", "9", "content-encoding", "gzip"))
			_ = grpc.SetTrailer(ctx, metadata.Pairs("x-end", "1"))
		}
		return in, nil
	})
	everywire.Handle(reg, "test.Notes/Read", func(_ context.Context, in *note) (*note, error) { return in, nil },
		everywire.WithIdempotency(everywire.NoSideEffects))
	everywire.Handle(reg, "test.Notes/Fail", func(_ context.Context, in *note) (*note, error) {
		return nil, status.Error(codes.Code(in.Size), in.Text)
	})
	everywire.HandleServerStream(reg, "test.Notes/Repeat", func(in *note, stream grpc.ServerStreamingServer[note]) error {
		for range in.Size {
			if err := stream.Send(&note{Text: in.Text}); err != nil {
				return err
			}
		}
		return nil
	})
	everywire.HandleBidi(reg, "test.Notes/Talk", func(stream grpc.BidiStreamingServer[note, note]) error {
		_, err := stream.Recv()
		return err
	})
	return reg
}

// limit is that of messages in these tests.
const limit = 100_000

// testCodecs are those of every server and connection.
var testCodecs = func() *rpc.Codecs {
	set, err := rpc.NewCodecs(json.Codec{}, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{})
	if err != nil {
		panic(err)
	}
	return set
}()

func newTestHandler(t testing.TB, options rpc.Options) http.Handler {
	t.Helper()
	h, err := NewHandler(&rpc.ServerConfig{
		Registry: registry(), Codecs: testCodecs, Limits: everywire.Limits{MaxMessage: limit}.WithDefaults(), Options: options,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// do gives the handler a request with the headers "name", "value", ….
func do(t testing.TB, h http.Handler, verb, target string, body io.Reader, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(verb, target, body)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func bodyOf(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
