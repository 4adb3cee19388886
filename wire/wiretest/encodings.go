package wiretest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// RunEncoding runs a shorter suite, on the messages of one codec: every kind of
// value, streams, errors, limits, and messages that are none. The shape names the
// codec, as in "grpc?codec=cbor&compression=zstd".
func RunEncoding(t *testing.T, shape string, codec everywire.Codec) {
	runEncoding(t, shape, codec, false)
}

// RunEncodingShared is RunEncoding with servers that serve every wire on one port.
func RunEncodingShared(t *testing.T, shape string, codec everywire.Codec) {
	runEncoding(t, shape, codec, true)
}

func runEncoding(t *testing.T, shape string, codec everywire.Codec, shared bool) {
	target, err := wire.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	s := &encodingSuite{suite: suite{shape: target, shared: shared}, codec: codec, carries: carriageOf(codec.Name())}
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // after the pair's own
	spoiled := &spoiler{Codec: codec}
	p := s.start(t, s.register, options{
		serve: s.serveOptions(codec),
		dial:  s.dialOptions(codec),
	})
	t.Run("values", func(t *testing.T) { s.values(t, p) })
	t.Run("bytes and text", func(t *testing.T) { s.bytesAndText(t, p) })
	t.Run("streams", func(t *testing.T) { s.streams(t, p) })
	t.Run("limits", func(t *testing.T) { s.limits(t, p) })
	t.Run("spoiled requests", func(t *testing.T) { s.spoiledRequests(t, p, spoiled) })
	t.Run("no form", func(t *testing.T) { s.noForm(t, p) })
	t.Run("spoiled replies", func(t *testing.T) { s.spoiledReplies(t) })
}

type encodingSuite struct {
	suite
	codec   everywire.Codec
	carries carriage
}

// The options leave out what a codec of everyone's is there by already: to bring
// another in its place is what the option bytes is refused with.
func (s *encodingSuite) serveOptions(codec everywire.Codec) []wire.ServeOption {
	o := []wire.ServeOption{wire.WithLimits(everywire.Limits{MaxMessage: encodingLimit})}
	if _, ok := codec.(json.Codec); !ok {
		o = append(o, wire.WithCodecs(codec))
	}
	return o
}

func (s *encodingSuite) dialOptions(codec everywire.Codec) []wire.DialOption {
	if _, ok := codec.(json.Codec); ok {
		return nil
	}
	return []wire.DialOption{wire.WithCodecs(codec)}
}

// encodingLimit is that of the server's messages.
const encodingLimit = 256 << 10

// A Blob is bytes, and what a reply should be.
type Blob struct {
	Data []byte `wire:"1"`
}

// A Line is text.
type Line struct {
	Text string `wire:"1"`
}

// Kinds has a field of each kind that every codec with named fields has, and
// nothing in it tells a handler what to do.
type Kinds struct {
	Flag    bool              `wire:"1"`
	Small   int32             `wire:"2"`
	Big     int64             `wire:"3"`
	Count   uint32            `wire:"4"`
	Ubig    uint64            `wire:"5"`
	Part    float32           `wire:"6"`
	Ratio   float64           `wire:"7"`
	Text    string            `wire:"8"`
	Data    []byte            `wire:"9"`
	At      time.Time         `wire:"10"`
	Wait    time.Duration     `wire:"11"`
	Numbers []int64           `wire:"12"`
	Labels  map[string]string `wire:"13"`
	Inner   *Detail           `wire:"14"`
	All     []*Detail         `wire:"15"`
	Maybe   *int32            `wire:"16"`
}

func fullKinds() *Kinds {
	return &Kinds{
		Flag: true, Small: -5, Big: 1<<62 + 1, Count: 7, Ubig: 1<<63 + 1, Part: 0.5, Ratio: -0.1, Text: "naïve", Data: allBytes(),
		At: time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC), Wait: -1500 * time.Millisecond, Numbers: []int64{1, -1 << 40},
		Labels: map[string]string{"a": "1", "b": ""}, Inner: &Detail{Reason: "r"}, All: []*Detail{{Domain: "d"}, {}}, Maybe: new(int32),
	}
}

const (
	blobMethod  = "everywire.encodings.Echo/Blob"
	lineMethod  = "everywire.encodings.Echo/Line"
	kindsMethod = "everywire.encodings.Echo/Kinds"
	mixedMethod = "everywire.encodings.Echo/Mixed"
	blobsMethod = "everywire.encodings.Echo/Blobs"
	growMethod  = "everywire.encodings.Echo/Grow"
)

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func echo[T any](_ context.Context, in *T) (*T, error) { return in, nil }

// register registers the probe on plain structs, and methods that send back what
// they get.
func (s *encodingSuite) register(p *probe, opts ...everywire.RegistryOption) *everywire.Registry {
	reg := p.plain(opts...)
	everywire.Handle(reg, blobMethod, echo[Blob])
	everywire.Handle(reg, lineMethod, echo[Line])
	everywire.Handle(reg, kindsMethod, echo[Kinds])
	everywire.Handle(reg, growMethod, func(_ context.Context, in *Blob) (*Blob, error) {
		return &Blob{make([]byte, 1000*len(in.Data))}, nil
	})
	everywire.Handle(reg, mixedMethod, func(context.Context, *Blob) (*probepb.GetRequest, error) {
		panic("a method whose reply has no form ran")
	})
	everywire.HandleBidi(reg, blobsMethod, func(stream grpc.BidiStreamingServer[Blob, Blob]) error {
		for {
			in, err := stream.Recv()
			if err != nil {
				return ignoreEOF(err)
			}
			if err := stream.Send(in); err != nil {
				return err
			}
		}
	})
	return reg
}

// inShort are the comparisons that the shorter suite makes.
var inShort = []string{
	"zero", "all fields", "smallest", "optional zero", "not a number", "infinity", "smallest fraction", "past and future", "end of time",
	"any text", "all bytes", "deep", "wide", "reply metadata", "metadata of an error", "panic", "error with details", "code 16",
}

// values makes calls with every kind of value, and beside them by bare grpc-go.
func (s *encodingSuite) values(t *testing.T, p *pair) {
	if s.carries == onlyBytes {
		return
	}
	reference := oracle(t)
	by := callers[1:2]
	if s.carries == everything {
		by = callers[:2]
	}
	for _, c := range comparisons() {
		if !slices.Contains(inShort, c.name) {
			continue
		}
		want := observe(within(t), func(ctx context.Context, opts ...grpc.CallOption) (*probepb.RunReply, error) {
			return callers[0].run(ctx, reference, c.in, opts...)
		})
		s.expectDifferences(c.name, &want)
		for _, caller := range by {
			got := observe(within(t), func(ctx context.Context, opts ...grpc.CallOption) (*probepb.RunReply, error) {
				return caller.run(ctx, p.conn, c.in, opts...)
			})
			if diff := difference(want, got); diff != "" {
				t.Errorf("%s, %s: gRPC (-) and %v (+) differ:\n%s", c.name, caller.name, s.shape, diff)
			}
		}
	}
}

// bytesAndText: what every codec has a form for comes back as it was, also where
// it is long enough to be compressed.
func (s *encodingSuite) bytesAndText(t *testing.T, p *pair) {
	for _, data := range [][]byte{nil, {0}, allBytes(), make([]byte, 40<<10)} {
		out, err := everywire.Call[Blob](within(t), p.conn, blobMethod, &Blob{data})
		if err != nil || string(out.Data) != string(data) {
			t.Errorf("%d bytes: %v", len(data), err)
		}
	}
	for _, text := range []string{"", "é\x00", strings.Repeat("long ", 5000)} {
		out, err := everywire.Call[Line](within(t), p.conn, lineMethod, &Line{text})
		if err != nil || out.Text != text {
			t.Errorf("text of %d bytes: %v", len(text), err)
		}
	}
	_, err := everywire.Call[Line](within(t), p.conn, lineMethod, &Line{"\xff"})
	wantCode(t, "text that cannot be sent", err, codes.Internal)
}

// streams has a conversation of each kind, and one of bytes.
func (s *encodingSuite) streams(t *testing.T, p *pair) {
	stream, err := p.conn.NewStream(within(t), streamDescs[chatMethod], "/"+blobsMethod)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 5000} {
		out := new(Blob)
		if err := stream.SendMsg(&Blob{make([]byte, n)}); err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(out); err != nil || len(out.Data) != n {
			t.Fatalf("%d bytes came back as %d: %v", n, len(out.Data), err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	if err := ignoreEOF(stream.RecvMsg(new(Blob))); err != nil {
		t.Error(err)
	}
	if s.carries == onlyBytes && !s.is("rest") {
		return
	}
	reference := oracle(t)
	for _, c := range conversations() {
		if c.name != "of one" && c.name != "error after messages" && c.name != "error at the last" && c.name != "error" {
			continue
		}
		wantReplies, want := hold(within(t), reference, c, false)
		gotReplies, got := hold(within(t), p.conn, c, true)
		if len(wantReplies) != len(gotReplies) {
			t.Errorf("%s: gRPC gave %d replies, %v gave %d", c.name, len(wantReplies), s.shape, len(gotReplies))
		}
		for i := range min(len(wantReplies), len(gotReplies)) {
			if diff := difference(observation{Reply: wantReplies[i]}, observation{Reply: gotReplies[i]}); diff != "" {
				t.Errorf("%s, reply %d: gRPC (-) and %v (+) differ:\n%s", c.name, i, s.shape, diff)
			}
		}
		s.expectDifferences(c.name, &want)
		if diff := difference(want, got); diff != "" {
			t.Errorf("%s: gRPC (-) and %v (+) differ:\n%s", c.name, s.shape, diff)
		}
	}
}

// limits: zeros are over the limit as they are, and if they are compressed when
// they are not any more.
func (s *encodingSuite) limits(t *testing.T, p *pair) {
	_, err := everywire.Call[Blob](within(t), p.conn, blobMethod, &Blob{make([]byte, encodingLimit+1)})
	wantCode(t, "a request over the server's limit", err, codes.ResourceExhausted)
	_, err = everywire.Call[Blob](within(t), p.conn, growMethod, &Blob{make([]byte, encodingLimit/1000+1)})
	if !s.measuresCompressed() {
		wantCode(t, "a reply over the server's limit", err, codes.ResourceExhausted)
	} else if err != nil {
		t.Errorf("a reply that is within the server's limit when it is compressed: %v", err)
	}
	small := s.dial(t, s.shape.At(p.server.Targets()[0].Addrs...), append(s.dialOptions(s.codec), wire.WithLimits(everywire.Limits{MaxMessage: 10_000}))...)
	_, err = everywire.Call[Blob](within(t), small, growMethod, &Blob{make([]byte, 20)})
	wantCode(t, "a reply over the client's limit", err, codes.ResourceExhausted)
	_, err = everywire.Call[Blob](within(t), small, blobMethod, &Blob{make([]byte, 20_000)})
	wantCode(t, "a request over the client's limit", err, codes.ResourceExhausted)
	if _, err := everywire.Call[Blob](within(t), small, blobMethod, &Blob{make([]byte, 1000)}); err != nil {
		t.Errorf("the call after those: %v", err)
	}
}
