package foreign

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire"
)

// A remark is the message of the service test.Notes, which has no generated code
// on either side.
type remark struct {
	_    struct{} `wire:"name=test.Remark"`
	Text string   `wire:"1"`
	Size int64    `wire:"2" json:",string"` // else JavaScript would lose digits
}

// notes is a service with a method of every kind.
func notes() *service {
	s := &service{reg: everywire.NewRegistry()}
	everywire.Handle(s.reg, "test.Notes/Echo", func(ctx context.Context, in *remark) (*remark, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		for _, v := range md["x-in"] {
			if err := grpc.SetHeader(ctx, metadata.Pairs("x-out", v)); err != nil {
				return nil, err
			}
		}
		return in, grpc.SetTrailer(ctx, metadata.Pairs("x-end", "1"))
	})
	everywire.Handle(s.reg, "test.Notes/Read", func(_ context.Context, in *remark) (*remark, error) { return in, nil },
		everywire.WithIdempotency(everywire.NoSideEffects))
	everywire.Handle(s.reg, "test.Notes/Fail", func(_ context.Context, in *remark) (*remark, error) {
		st, err := status.New(codes.Code(in.Size), in.Text).WithDetails(structpb.NewStringValue("because"))
		if err != nil {
			return nil, err
		}
		return nil, st.Err()
	})
	everywire.Handle(s.reg, "test.Notes/Wait", func(ctx context.Context, _ *remark) (*remark, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	everywire.HandleServerStream(s.reg, "test.Notes/Repeat", func(in *remark, stream grpc.ServerStreamingServer[remark]) error {
		if in.Size < 0 {
			if err := stream.Send(in); err != nil {
				return err
			}
			return status.Error(codes.OutOfRange, "less than nothing")
		}
		for range in.Size {
			if err := stream.Send(in); err != nil {
				return err
			}
		}
		return nil
	})
	everywire.HandleBidi(s.reg, "test.Notes/Talk", func(stream grpc.BidiStreamingServer[remark, remark]) error {
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := stream.Send(in); err != nil {
				return err
			}
		}
	})
	return s
}

// descriptors describes the service to clients whose messages come from
// descriptors, in base64.
func (s *service) descriptors(t *testing.T) string {
	t.Helper()
	set, err := schema.Files(describe.Services(s.reg.Methods(), false)...)
	if err != nil {
		t.Fatal(err)
	}
	all := new(descriptorpb.FileDescriptorSet)
	set.Files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		all.File = append(all.File, protodesc.ToFileDescriptorProto(f))
		return true
	})
	data, err := proto.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// TestConnectClients: the clients of web pages and of Node, on our server alone
// and on the port of all wires.
func TestConnectClients(t *testing.T) {
	s := notes()
	descriptors := s.descriptors(t)
	ports := map[string]int{"connect": portOf(t, s.serve(t, "connect://127.0.0.1:0")), "any": portOf(t, s.serve(t, "any://127.0.0.1:0"))}
	for _, c := range []struct {
		target, transport string
		json, get         bool
	}{
		{"connect", "web connect", false, true}, {"connect", "web grpc-web", true, false},
		{"connect", "node connect", true, false}, {"connect", "node grpc-web", false, false},
		{"any", "web connect", true, false}, {"any", "web grpc-web", false, false},
	} {
		name := c.target + " " + c.transport
		if c.json {
			name += " json"
		}
		if c.get {
			name += " get"
		}
		t.Run(name, func(t *testing.T) {
			want := map[string]string{
				"echo": `["ü","9007199254740993"]`, "metadata": `["in","1"]`, "read": `"r"`, "repeat": `["a","a","a"]`,
				"fail":      `["NotFound","no such ü",["google.protobuf.Value"]]`,
				"failLater": `["OutOfRange","less than nothing",[]]`, "beforeFailure": `"b"`, "late": `"DeadlineExceeded"`,
			}
			if c.transport == "node connect" || c.transport == "node grpc-web" {
				want["talk"] = `["1","2"]`
			}
			check(t, runNode(t, "connect-client.js", map[string]any{
				"transport": c.transport, "json": c.json, "get": c.get, "port": ports[c.target], "descriptors": descriptors,
			}), want)
		})
	}
}

// TestConnectServer: our client at connect-node's server.
func TestConnectServer(t *testing.T) {
	s := notes()
	descriptors := s.descriptors(t)
	for _, version := range []string{"1.1", "2"} {
		addr := startNode(t, "connect-server.js", map[string]any{"version": version, "descriptors": descriptors})
		for _, options := range []string{"", "&codec=json", "&compression=gzip&compressmin=0", "&protocol=grpc-web"} {
			t.Run(version+options, func(t *testing.T) {
				conn := s.dial(t, "connect://%s?http=%s%s", addr, version, options)
				callNotes(t, conn, version == "2")
			})
		}
	}
}

func callNotes(t *testing.T, conn *wire.Conn, bidi bool) {
	ctx := metadata.AppendToOutgoingContext(testContext(t), "x-in", "in")
	var header, trailer metadata.MD
	out, err := everywire.Call[remark](ctx, conn, "test.Notes/Echo", &remark{Text: "ü", Size: 1 << 60}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil || out.Text != "ü" || out.Size != 1<<60 {
		t.Errorf("got %v, %v", out, err)
	}
	if !slices.Equal(header["x-out"], []string{"in"}) || !slices.Equal(trailer["x-end"], []string{"1"}) {
		t.Errorf("headers %v, trailers %v", header, trailer)
	}
	_, err = everywire.Call[remark](ctx, conn, "test.Notes/Fail", &remark{Text: "no such ü"})
	if s := status.Convert(err); s.Code() != codes.NotFound || s.Message() != "no such ü" {
		t.Errorf("got %v", err)
	}
	_, err = everywire.Call[remark](ctx, conn, "test.Notes/Nothing", &remark{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that there is not: %v", err)
	}
	stream, err := everywire.CallServerStream[remark](ctx, conn, "test.Notes/Repeat", &remark{Text: "a", Size: 3})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out, err := stream.Recv(); err != nil || out.Text != "a" {
			t.Errorf("got %v, %v", out, err)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	if !bidi {
		return
	}
	talk, err := everywire.CallBidi[remark, remark](ctx, conn, "test.Notes/Talk")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"1", "2"} {
		if err := talk.Send(&remark{Text: text}); err != nil {
			t.Fatal(err)
		}
		if out, err := talk.Recv(); err != nil || out.Text != text {
			t.Errorf("got %v, %v", out, err)
		}
	}
	if err := talk.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := talk.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}
