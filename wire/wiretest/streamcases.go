package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A flow is a stream as a client sees it, with generated messages whatever its
// messages are.
type flow struct {
	grpc.ClientStream
	plain bool // its messages are plain structs
}

var streamDescs = map[string]*grpc.StreamDesc{
	downloadMethod: {StreamName: "Download", ServerStreams: true},
	uploadMethod:   {StreamName: "Upload", ClientStreams: true},
	chatMethod:     {StreamName: "Chat", ClientStreams: true, ServerStreams: true},
}

func openFlow(ctx context.Context, conn grpc.ClientConnInterface, method string, plain bool, opts ...grpc.CallOption) (*flow, error) {
	s, err := conn.NewStream(ctx, streamDescs[method], "/"+method, opts...)
	return &flow{s, plain}, err
}

// mustOpen opens a flow of generated messages.
func mustOpen(ctx context.Context, t *testing.T, conn grpc.ClientConnInterface, method string, opts ...grpc.CallOption) *flow {
	t.Helper()
	f, err := openFlow(ctx, conn, method, false, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *flow) send(in *probepb.RunRequest) error {
	if f.plain {
		return f.SendMsg(mustConvert(new(RunRequest), in))
	}
	return f.SendMsg(in)
}

func (f *flow) recv() (*probepb.RunReply, error) {
	out := new(probepb.RunReply)
	if !f.plain {
		return out, f.RecvMsg(out)
	}
	plain := new(RunReply)
	if err := f.RecvMsg(plain); err != nil {
		return nil, err
	}
	return mustConvert(out, plain), nil
}

// exchange sends a request and waits for its reply.
func (f *flow) exchange(t *testing.T, in *probepb.RunRequest) *probepb.RunReply {
	t.Helper()
	if err := f.send(in); err != nil {
		t.Fatalf("send: %v", err)
	}
	out, err := f.recv()
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	return out
}

// end receives until the stream ends, and returns how. io.EOF is a good end.
func (f *flow) end() error {
	for {
		if _, err := f.recv(); err != nil {
			return err
		}
	}
}

// A conversation is one streaming call whose course must be that of gRPC. In a
// Chat each request waits for the reply of the one before.
type conversation struct {
	name     string
	method   string
	requests []*probepb.RunRequest
	metadata metadata.MD
	timeout  time.Duration
}

func conversations() []conversation {
	x := values("x-h", "1", "x-h", "2", "x-h-bin", "\x00\x80")
	y := values("x-t", "3", "x-t-bin", "\xff", "x-h", "same name in both")
	numbered := func(n int) (rs []*probepb.RunRequest) {
		for i := range n {
			rs = append(rs, &probepb.RunRequest{Name: strconv.Itoa(i), Numbers: []int64{int64(i)}})
		}
		return rs
	}
	one := func(r *probepb.RunRequest) []*probepb.RunRequest { return []*probepb.RunRequest{r} }
	after := func(n int, r *probepb.RunRequest) []*probepb.RunRequest { return append(numbered(n), r) }
	sent := metadata.Pairs("x-one", "1", "x-two", "a", "x-two", "b, c", "x-some-bin", "\x00\xff\n")
	details := []*probepb.Detail{{Reason: "EMPTY", Domain: "example.com"}}

	cs := []conversation{
		{name: "of nothing", method: downloadMethod, requests: one(&probepb.RunRequest{})},
		{name: "of one", method: downloadMethod, requests: one(&probepb.RunRequest{Numbers: []int64{1 << 60}, Payload: allBytes()})},
		{name: "of many", method: downloadMethod, requests: one(&probepb.RunRequest{Numbers: make([]int64, 300)})},
		{name: "of large ones", method: downloadMethod, requests: one(&probepb.RunRequest{Numbers: make([]int64, 3), Payload: make([]byte, 100_000)})},
		{name: "metadata", method: downloadMethod, requests: one(&probepb.RunRequest{Numbers: []int64{1}, Header: x, Trailer: y})},
		{name: "metadata, no message", method: downloadMethod, requests: one(&probepb.RunRequest{Header: x, Trailer: y})},
		{name: "metadata of an error", method: downloadMethod, requests: one(&probepb.RunRequest{Code: 9, Message: "no", Header: x, Trailer: y})},
		{name: "error after messages", method: downloadMethod, requests: one(&probepb.RunRequest{
			Numbers: []int64{1, 2}, Code: 3, Message: "m", Details: details, Header: x, Trailer: y})},

		{name: "of nothing", method: uploadMethod},
		{name: "of one", method: uploadMethod, requests: numbered(1)},
		{name: "of many", method: uploadMethod, requests: numbered(300)},
		{name: "metadata", method: uploadMethod, requests: after(2, &probepb.RunRequest{Header: x, Trailer: y}), metadata: sent},
		{name: "error at the first", method: uploadMethod, requests: one(&probepb.RunRequest{Code: 7, Message: "m", Details: details})},
		{name: "error at the last", method: uploadMethod, requests: after(3, &probepb.RunRequest{Code: 5, Header: x, Trailer: y})},
		{name: "early reply", method: uploadMethod, requests: after(3, &probepb.RunRequest{Numbers: []int64{9}, Last: true})},

		{name: "of nothing", method: chatMethod},
		{name: "of one", method: chatMethod, requests: one(fullRequest())},
		{name: "of many", method: chatMethod, requests: numbered(50)},
		{name: "of large ones", method: chatMethod, requests: []*probepb.RunRequest{{Payload: make([]byte, 1<<18)}, {}, {Payload: make([]byte, 1<<17)}}},
		{name: "request metadata", method: chatMethod, requests: numbered(2), metadata: sent},
		{name: "metadata", method: chatMethod, requests: one(&probepb.RunRequest{Header: x, Trailer: y})},
		{name: "headers sent early", method: chatMethod, requests: one(&probepb.RunRequest{SendHeaderTwice: true, Header: x})},
		{name: "headers too late", method: chatMethod, requests: after(1, &probepb.RunRequest{SendHeaderTwice: true})},
		{name: "trailers of two", method: chatMethod, requests: []*probepb.RunRequest{{Trailer: x}, {Trailer: y}}},
		{name: "deadline", method: chatMethod, requests: numbered(1), timeout: time.Hour},
		{name: "error", method: chatMethod, requests: after(3, &probepb.RunRequest{Code: 10, Message: "é\n", Details: details, Trailer: y})},
		{name: "ended by the server", method: chatMethod, requests: after(1, &probepb.RunRequest{Last: true, Trailer: y})},
	}
	for _, code := range []uint32{1, 2, 4, 8, 13, 14, 16, 99} {
		cs = append(cs, conversation{name: fmt.Sprintf("code %d", code), method: chatMethod, requests: one(&probepb.RunRequest{Code: code, Message: "m"})})
	}
	return cs
}

// hold has a conversation and keeps what every wire must agree on: what was
// received and how it ended.
func hold(ctx context.Context, conn grpc.ClientConnInterface, c conversation, plain bool) (replies []*probepb.RunReply, end observation) {
	var header, trailer metadata.MD
	var err error
	defer func() { end = observed(err, header, trailer) }()
	f, err := openFlow(ctx, conn, c.method, plain, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		return nil, end
	}
	recv := func() bool {
		var out *probepb.RunReply
		if out, err = f.recv(); err != nil {
			return false
		}
		if out.DeadlineMs > 0 {
			out.DeadlineMs = 1
		}
		keepOurs(out.GetMetadata())
		replies = append(replies, out)
		return true
	}
	over := false
	for _, r := range c.requests {
		if f.send(proto.CloneOf(r)) != nil {
			break // the stream has ended; why is to be received
		}
		if over = c.method == chatMethod && !recv(); over {
			break
		}
	}
	if !over {
		_ = f.CloseSend() // it does not fail
		for recv() && c.method != uploadMethod {
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return replies, end
}

// compareStreams has every conversation by every service and both kinds of
// messages, and beside it by bare grpc-go.
func compareStreams(t *testing.T, s *suite) {
	if !s.carriesStreams() {
		noStreams(t, s)
		return
	}
	reference := oracle(t)
	for _, service := range services {
		p := s.start(t, service.register, options{})
		for _, plain := range []bool{false, true} {
			messages := map[bool]string{false: "generated messages", true: "plain structs"}[plain]
			t.Run(service.name+" "+messages, func(t *testing.T) {
				for _, c := range conversations() {
					t.Run(streamDescs[c.method].StreamName+" "+c.name, func(t *testing.T) {
						ctx := within(t)
						if c.timeout > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, c.timeout)
							defer cancel()
						}
						ctx = metadata.NewOutgoingContext(ctx, c.metadata)
						wantReplies, want := hold(ctx, reference, c, false)
						gotReplies, got := hold(ctx, p.conn, c, plain)
						if len(wantReplies) != len(gotReplies) {
							t.Errorf("gRPC gave %d replies, %v gave %d", len(wantReplies), s.shape, len(gotReplies))
						}
						for i := range min(len(wantReplies), len(gotReplies)) {
							if !proto.Equal(wantReplies[i], gotReplies[i]) {
								t.Errorf("reply %d: gRPC gave %.1000v, %v gave %.1000v", i, wantReplies[i], s.shape, gotReplies[i])
							}
						}
						s.expectDifferences(c.name, &want)
						if diff := difference(want, got); diff != "" {
							t.Errorf("gRPC (-) and %v (+) differ:\n%s", s.shape, diff)
						}
					})
				}
			})
		}
	}
}

// noStreams: a wire that carries none says so at once, to clients and, when a
// stream is called like a unary method, to those too.
func noStreams(t *testing.T, s *suite) {
	for _, service := range services {
		t.Run(service.name, func(t *testing.T) {
			p := s.start(t, service.register, options{})
			for method := range streamDescs {
				_, err := openFlow(within(t), p.conn, method, false)
				wantCode(t, "a stream", err, codes.Unimplemented)
			}
			err := p.conn.Invoke(within(t), "/"+chatMethod, &probepb.RunRequest{Wait: durationpb.New(time.Hour)}, new(probepb.RunReply))
			wantCode(t, "a stream called as a unary method", err, codes.Unimplemented)
			if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
				t.Errorf("the call after those: %v", err)
			}
		})
	}
}
