package everywire

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// scripted is both ends' stream: it gives the requests that it holds and keeps
// the replies.
type scripted struct {
	fakeStream
	in  []int64
	out []int64
}

func (s *scripted) RecvMsg(m any) error {
	if len(s.in) == 0 {
		return io.EOF
	}
	m.(*req).N, s.in = s.in[0], s.in[1:]
	return nil
}

func (s *scripted) SendMsg(m any) error {
	s.out = append(s.out, m.(*rep).N)
	return nil
}

func TestHandleStreams(t *testing.T) {
	reg := NewRegistry()
	HandleServerStream(reg, "s.S/Count", func(in *req, stream grpc.ServerStreamingServer[rep]) error {
		for n := range in.N {
			if err := stream.Send(&rep{n}); err != nil {
				return err
			}
		}
		return nil
	})
	HandleClientStream(reg, "s.S/Sum", func(stream grpc.ClientStreamingServer[req, rep]) error {
		var sum int64
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return stream.SendAndClose(&rep{sum})
			}
			if err != nil {
				return err
			}
			sum += in.N
		}
	}, WithIdempotency(Idempotent))
	HandleBidi(reg, "s.S/Double", func(stream grpc.BidiStreamingServer[req, rep]) error {
		for {
			in, err := stream.Recv()
			if err != nil {
				return err
			}
			if err := stream.Send(&rep{2 * in.N}); err != nil {
				return err
			}
		}
	})
	for _, tc := range []struct {
		name    string
		kind    StreamKind
		in, out []int64
		end     error
	}{
		{"Count", ServerStream, []int64{3}, []int64{0, 1, 2}, nil},
		{"Sum", ClientStream, []int64{1, 2, 3}, []int64{6}, nil},
		{"Sum", ClientStream, nil, []int64{0}, nil},
		{"Double", BidiStream, []int64{1, 2}, []int64{2, 4}, io.EOF},
	} {
		m, ok := reg.Lookup("/s.S/" + tc.name)
		if !ok || m.Kind != tc.kind || m.Input == nil || m.Output == nil {
			t.Fatalf("%s: the method is %+v", tc.name, m)
		}
		s := &scripted{fakeStream: fakeStream{t.Context()}, in: tc.in}
		if err := m.Stream(s); !errors.Is(err, tc.end) || !slices.Equal(s.out, tc.out) {
			t.Errorf("%s: got %v, %v, want %v, %v", tc.name, s.out, err, tc.out, tc.end)
		}
	}
	if m, _ := reg.Lookup("/s.S/Sum"); m.Idempotency != Idempotent {
		t.Error("the option was not applied")
	}
	m, _ := reg.Lookup("/s.S/Sum")
	if _, err := m.Unary(t.Context(), decodeInto(1)); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream called as a unary method: %v", err)
	}
}

func TestHandleStreamPanicsOnMistakes(t *testing.T) {
	type untagged struct{ N int64 }
	for want, register := range map[string]func(*Registry){
		"not of the form": func(r *Registry) {
			HandleBidi(r, "nothing", func(grpc.BidiStreamingServer[req, rep]) error { return nil })
		},
		"s.S/M: input": func(r *Registry) {
			HandleClientStream(r, "s.S/M", func(grpc.ClientStreamingServer[untagged, rep]) error { return nil })
		},
		"s.S/M: output": func(r *Registry) {
			HandleServerStream(r, "s.S/M", func(*req, grpc.ServerStreamingServer[untagged]) error { return nil })
		},
	} {
		func() {
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, want) {
					t.Errorf("got %q, want %q", p, want)
				}
			}()
			register(NewRegistry())
		}()
	}
}

// clientScript is a connection whose streams send the requests that they are
// given back as replies.
type clientScript struct {
	grpc.ClientConnInterface
	desc  *grpc.StreamDesc
	path  string
	sent  []int64
	fails error
}

func (c *clientScript) NewStream(_ context.Context, desc *grpc.StreamDesc, path string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	c.desc, c.path, c.sent = desc, path, nil
	return clientScriptStream{c: c}, c.fails
}

type clientScriptStream struct {
	grpc.ClientStream
	c *clientScript
}

func (s clientScriptStream) SendMsg(m any) error {
	s.c.sent = append(s.c.sent, m.(*req).N)
	return nil
}
func (clientScriptStream) CloseSend() error { return nil }

func (s clientScriptStream) RecvMsg(m any) error {
	if len(s.c.sent) == 0 {
		return io.EOF
	}
	m.(*rep).N, s.c.sent = s.c.sent[0], s.c.sent[1:]
	return nil
}

func TestCallStreams(t *testing.T) {
	c := &clientScript{}
	down, err := CallServerStream[rep](t.Context(), c, "s.S/Down", &req{7})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := down.Recv(); err != nil || out.N != 7 {
		t.Errorf("got %v, %v", out, err)
	}
	if c.path != "/s.S/Down" || c.desc.StreamName != "Down" || c.desc.ClientStreams || !c.desc.ServerStreams {
		t.Errorf("opened %s with %+v", c.path, c.desc)
	}
	up, err := CallClientStream[req, rep](t.Context(), c, "/s.S/Up")
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Send(&req{8}); err != nil {
		t.Error(err)
	}
	if out, err := up.CloseAndRecv(); err != nil || out.N != 8 {
		t.Errorf("got %v, %v", out, err)
	}
	if c.path != "/s.S/Up" || !c.desc.ClientStreams || c.desc.ServerStreams {
		t.Errorf("opened %s with %+v", c.path, c.desc)
	}
	if _, err := CallBidi[req, rep](t.Context(), c, "s.S/Both"); err != nil || !c.desc.ClientStreams || !c.desc.ServerStreams {
		t.Errorf("opened with %+v: %v", c.desc, err)
	}

	if _, err := CallBidi[req, rep](t.Context(), c, "nothing"); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a malformed name: %v", err)
	}
	c.fails = status.Error(codes.Unavailable, "nobody there")
	if s, err := CallServerStream[rep](t.Context(), c, "s.S/Down", &req{7}); s != nil || !errors.Is(err, c.fails) {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := CallClientStream[req, rep](t.Context(), c, "s.S/Up"); s != nil || !errors.Is(err, c.fails) {
		t.Errorf("got %v, %v", s, err)
	}
	if s, err := CallBidi[req, rep](t.Context(), c, "s.S/Both"); s != nil || !errors.Is(err, c.fails) {
		t.Errorf("got %v, %v", s, err)
	}
}
