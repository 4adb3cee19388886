package foreign

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

// calls is the service with what gRPC's peers are tried with beside: metadata,
// streams, and a message with every kind of field.
func calls() *service {
	s := newService()
	everywire.Handle(s.reg, "peer.Peer/Tell", tell)
	everywire.Handle(s.reg, "peer.Peer/Wide", func(_ context.Context, in *schematest.Wide) (*schematest.Wide, error) { return in, nil })
	everywire.HandleServerStream(s.reg, "peer.Peer/Count", func(in *number, stream grpc.ServerStreamingServer[number]) error {
		for n := range in.Value {
			if err := stream.Send(&number{n + 1}); err != nil {
				return err
			}
		}
		return nil
	})
	everywire.HandleClientStream(s.reg, "peer.Peer/Add", func(stream grpc.ClientStreamingServer[number, number]) error {
		var sum number
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return stream.SendAndClose(&sum)
			}
			if err != nil {
				return err
			}
			sum.Value += in.Value
		}
	})
	everywire.HandleBidi(s.reg, "peer.Peer/Double", func(stream grpc.BidiStreamingServer[number, number]) error {
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := stream.Send(&number{2 * in.Value}); err != nil {
				return err
			}
		}
	})
	return s
}

// tell says what it heard as metadata, in the reply, a header and a trailer.
func tell(ctx context.Context, _ *empty) (*text, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if err := grpc.SetHeader(ctx, metadata.Pairs("heard", md.Get("who")[0])); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs("bytes-bin", md.Get("raw-bin")[0])); err != nil {
		return nil, err
	}
	return &text{"hello " + md.Get("who")[0]}, nil
}

// wide has something in every field, and one entry in each map: more may have
// any order.
func wide() *schematest.Wide {
	long, ulong, half, word, data := int64(-1)<<63, uint64(1)<<63, -0.5, "é", []byte{}
	at, span, addr := time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC), -1500*time.Millisecond, netip.MustParseAddr("::1")
	part := schematest.Part{PageSize: -1, Named: "n", Labels: map[string]string{"k": ""}, Whole: &schematest.Wide{Last: "inner"}}
	doc := schema.Document{Value: map[string]any{"a": []any{true, nil, 1.5, "x"}}}
	return &schematest.Wide{
		Flag: true, FlagP: new(bool), Flags: []bool{true, false}, FlagMap: map[bool]int8{true: -1},
		Tiny: -128, Short: -1 << 15, Word: -1 << 31, Long: -1 << 63, Number: 1<<63 - 1, LongP: &long,
		Words: []int32{-1, 0, 1}, Longs: []int64{-1, 1 << 40}, Numbers: []int{5}, LongMap: map[int64]int32{-5: 6}, ShortMap: map[int16]int64{7: 8},
		UTiny: 255, UShort: 1<<16 - 1, UWord: 1<<32 - 1, ULong: 1<<64 - 1, UNumber: 9, ULongP: &ulong,
		UWords: []uint32{0, 1<<32 - 1}, ULongs: []uint64{1 << 63}, ULongMap: map[uint64]bool{1 << 63: true}, UShortMap: map[uint16]uint8{1: 2},
		Single: 1.5, Real: half, RealP: &half, Singles: []float32{0.25}, Reals: []float64{1e300}, RealMap: map[string]float64{"r": 2.5}, SingleMap: map[uint32]float32{3: 0.5},
		Text: noteText, TextP: &word, Texts: []string{"", "b"}, TextMap: map[string]string{"é": "ü"},
		Addr: addr, AddrP: &addr, Addrs: []netip.Addr{addr}, AddrMap: map[netip.Addr]string{addr: "home"},
		Data: []byte{0, 255}, DataP: &data, Blobs: [][]byte{{}, {1}}, BlobMap: map[string][]byte{"b": {2}},
		Instant: at, InstantP: &at, Instants: []time.Time{at}, TimeMap: map[string]time.Time{"t": at},
		Span: span, SpanP: &span, Spans: []time.Duration{0, span}, SpanMap: map[int32]time.Duration{-1: span},
		Part: part, PartP: &part, Parts: []schematest.Part{part, {}}, PartPs: []*schematest.Part{&part}, PartMap: map[string]schematest.Part{"p": part}, PartPMap: map[int64]*schematest.Part{1: &part},
		Any: "any", Doc: doc, DocP: &doc, Anys: []any{nil, false}, Docs: []schema.Document{doc}, AnyMap: map[string]any{"x": 1.5}, DocPMap: map[bool]*schema.Document{true: &doc},
		Self: &schematest.Wide{Last: "self"}, Selves: []*schematest.Wide{{}}, Nothings: make([]schematest.Nothing, 2), Last: "last",
	}
}

// protoFiles writes the .proto files of a service into a folder.
func protoFiles(t *testing.T, s *service) (dir string, names []string) {
	t.Helper()
	files, err := describe.Proto(s.reg.Methods(), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Text, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Path)
	}
	return dir, names
}

// TestGRPCClients: clients of other languages, made from our .proto files, call
// plain structs.
func TestGRPCClients(t *testing.T) {
	s := calls()
	port := portOf(t, s.serve(t, "grpc://127.0.0.1:0"))
	dir, names := protoFiles(t, s)
	// @grpc/proto-loader mangles keys of 64 bits.
	short := wide()
	short.LongMap, short.ULongMap, short.PartPMap = nil, nil, nil
	args := func(w *schematest.Wide) map[string]any {
		raw, err := protobuf.Codec{}.Append(nil, w)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"port": port, "protos": dir, "modules": dir, "wide": base64.StdEncoding.EncodeToString(raw)}
	}
	results := map[string]map[string]json.RawMessage{}
	t.Run("node", func(t *testing.T) { results["node"] = runNode(t, "grpc-client.js", args(short)) })
	t.Run("python", func(t *testing.T) { results["python"] = runPython(t, "grpc-client.py", args(wide()), dir, names) })
	for peer, got := range results {
		t.Run(peer+" results", func(t *testing.T) {
			want := map[string]string{
				"sum": `41`, "large sum": `"9223372036854775807"`, "kv": `true`,
				"not found": `["NOT_FOUND","key \"none\" does not exist"]`,
				"fail":      `["NOT_FOUND","no such thing: ü","` + statusDetails + `"]`,
				"metadata":  `["hello ` + peer + `","` + peer + `","00ff"]`,
				"deadline":  `"DEADLINE_EXCEEDED"`, "cancel": `true`,
				"server stream": `[1,2,3,4,5]`, "client stream": `55`, "both streams": `[2,4,6]`,
				"same bytes": `true`,
			}
			if peer == "python" {
				want["echo"], want["wide back"] = `{"a":[1,"x",null,{"b":true}]}`, `true`
			}
			check(t, got, want)
		})
	}
	s.wantEnded(t, 2*len(results)) // by deadline and by cancellation, each
}

// statusDetails is the google.rpc.Status of fail, in base64.
const statusDetails = "CAUSEW5vIHN1Y2ggdGhpbmc6IMO8GjYKKXR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnByb3RvYnVmLlZhbHVlEgkaB2JlY2F1c2U="

// wantEnded waits until as many calls of block have ended at the server.
func (s *service) wantEnded(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case err := <-s.ended:
			if err == nil {
				t.Error("a call ended that nobody had ended")
			}
		case <-time.After(patience):
			t.Fatal("a call goes on at the server")
		}
	}
}

// runPython runs a script with the modules that protoc makes of .proto files.
func runPython(t *testing.T, script string, args map[string]any, dir string, names []string) map[string]json.RawMessage {
	t.Helper()
	const install = "on Debian, apt-get install protobuf-compiler libprotobuf-dev python3-grpcio python3-protobuf"
	protoc := needs.Program(t, "protoc", install)
	// Debian's own, which has Debian's packages.
	const python = "/usr/bin/python3"
	if err := exec.CommandContext(t.Context(), python, "-c", "import grpc, google.protobuf").Run(); err != nil {
		needs.Missing(t, "Python's grpc is not installed: "+install)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, protoc, append([]string{"-I", dir, "--python_out", dir}, names...)...)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("protoc: %v: %s", err, out)
	}
	argument, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(ctx, python, filepath.Join("testdata", "python", script), string(argument))
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s: %v\n%s", script, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var spaced map[string]any
	if err := json.Unmarshal(out, &spaced); err != nil {
		t.Fatalf("%s printed %q: %v", script, out, err)
	}
	results := map[string]json.RawMessage{} // written as Node writes them
	for name, value := range spaced {
		if results[name], err = json.Marshal(value); err != nil {
			t.Fatal(err)
		}
	}
	return results
}
