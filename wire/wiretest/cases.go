package wiretest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A comparison is one call whose outcome must be that of gRPC.
type comparison struct {
	name     string
	in       *probepb.RunRequest
	metadata metadata.MD
	timeout  time.Duration
}

func comparisons() []comparison {
	cs := []comparison{
		{name: "zero", in: &probepb.RunRequest{}},
		{name: "all fields", in: fullRequest()},
		{name: "smallest", in: &probepb.RunRequest{Big: math.MinInt64, Ratio: -math.MaxFloat64, Numbers: []int64{math.MinInt64, -1, 0, 1}, Maybe: proto.Int32(math.MinInt32)}},
		{name: "optional zero", in: &probepb.RunRequest{Maybe: proto.Int32(0)}},
		{name: "not a number", in: &probepb.RunRequest{Ratio: math.NaN()}},
		{name: "infinity", in: &probepb.RunRequest{Ratio: math.Inf(-1)}},
		{name: "smallest fraction", in: &probepb.RunRequest{Ratio: math.SmallestNonzeroFloat64}},
		{name: "past and future", in: &probepb.RunRequest{At: timestamppb.New(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC))}},
		{name: "end of time", in: &probepb.RunRequest{At: timestamppb.New(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC))}},
		{name: "any text", in: &probepb.RunRequest{Name: "\x00\x1f\"\\/<>&\u2028\u00e9\U0001f600\uffff", Labels: map[string]string{"": "", "__proto__": "toString", "\n": "é"}}},
		{name: "all bytes", in: &probepb.RunRequest{Payload: allBytes()}},
		{name: "300 KiB", in: &probepb.RunRequest{Payload: make([]byte, 300<<10)}},
		{name: "deep", in: &probepb.RunRequest{Tree: tree(90)}},
		{name: "wide", in: &probepb.RunRequest{Numbers: make([]int64, 5_000)}},
		{name: "request metadata", in: &probepb.RunRequest{}, metadata: metadata.Pairs(
			"x-one", "1", "x-two", "a", "x-two", "b, c", "x-some-bin", "\x00\xff\n", "x-some-bin", "", "x-punct", "!#$%&'*+^`|~ \"(),/:;<=>?@[]{}")},
		{name: "reply metadata", in: &probepb.RunRequest{
			Header:  values("x-h", "1", "x-h", "2", "x-h-bin", "\x00\x80"),
			Trailer: values("x-t", "3", "x-t-bin", "\xff", "x-h", "same name in both")}},
		{name: "metadata of an error", in: &probepb.RunRequest{
			Code: 9, Message: "no", Header: values("x-h", "1"), Trailer: values("x-t", "2")}},
		{name: "headers sent early", in: &probepb.RunRequest{SendHeaderTwice: true, Header: values("x-h", "1")}},
		{name: "deadline", in: &probepb.RunRequest{}, timeout: time.Hour},
		{name: "panic", in: &probepb.RunRequest{Panic: true}},
		{name: "waits and answers", in: &probepb.RunRequest{Name: "w", Wait: durationpb.New(time.Millisecond)}},
		{name: "error with details", in: &probepb.RunRequest{Code: 3, Message: "name: is empty", Details: []*probepb.Detail{
			{Reason: "EMPTY", Domain: "example.com"}, {Reason: "é\x00", Domain: ""}}}},
		{name: "error without message", in: &probepb.RunRequest{Code: 5}},
		{name: "any message", in: &probepb.RunRequest{Code: 2, Message: "100% \n\t\"é\U0001f600\\ \x7f"}},
	}
	for c := uint32(1); c <= 20; c++ {
		cs = append(cs, comparison{name: fmt.Sprintf("code %d", c), in: &probepb.RunRequest{Code: c, Message: "m"}})
	}
	for _, c := range []uint32{99, 600, 32000, math.MaxInt32} {
		cs = append(cs, comparison{name: fmt.Sprintf("code %d", c), in: &probepb.RunRequest{Code: c, Message: "m"}})
	}
	return cs
}

func fullRequest() *probepb.RunRequest {
	return &probepb.RunRequest{
		Name: "naïve", Payload: []byte{0, 1, 254, 255}, Numbers: []int64{1, -2, 1 << 53, 1<<53 + 1}, Big: math.MaxInt64,
		Ubig: math.MaxUint64, Ratio: 0.1, Flag: true, Labels: map[string]string{"b": "2", "a": "1"}, Maybe: proto.Int32(-7),
		At:   timestamppb.New(time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)),
		Tree: &probepb.Node{Label: "root", Children: []*probepb.Node{{Label: "leaf"}, {}}},
	}
}

func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func tree(depth int) *probepb.Node {
	n := &probepb.Node{Label: "leaf"}
	for range depth {
		n = &probepb.Node{Children: []*probepb.Node{n}}
	}
	return n
}

func values(pairs ...string) map[string]*probepb.Values {
	return fromMD(metadata.Pairs(pairs...))
}

// An observation is what a caller sees of one call.
type observation struct {
	Reply   *probepb.RunReply
	Code    codes.Code
	Message string
	Details []string
	Header  metadata.MD
	Trailer metadata.MD
}

type runFunc func(ctx context.Context, opts ...grpc.CallOption) (*probepb.RunReply, error)

// observe makes a call and keeps what every wire must agree on: of the
// metadata the names that begin with x-, of deadlines whether there was one.
func observe(ctx context.Context, run runFunc) observation {
	var header, trailer metadata.MD
	reply, err := run(ctx, grpc.Header(&header), grpc.Trailer(&trailer))
	o := observed(err, header, trailer)
	if err == nil {
		o.Reply = reply
		if reply.DeadlineMs > 0 {
			reply.DeadlineMs = 1
		}
		keepOurs(reply.GetMetadata())
	}
	return o
}

func observed(err error, header, trailer metadata.MD) observation {
	s := status.Convert(err)
	o := observation{Code: s.Code(), Message: s.Message(), Header: ours(header), Trailer: ours(trailer)}
	for _, d := range s.Proto().GetDetails() {
		o.Details = append(o.Details, fmt.Sprintf("%s %x", d.GetTypeUrl(), d.GetValue()))
	}
	return o
}

func keepOurs(md map[string]*probepb.Values) {
	for k := range md {
		if !strings.HasPrefix(k, "x-") {
			delete(md, k)
		}
	}
}

// difference tells how two observations differ, "" if they do not. Replies
// are compared by proto.Equal: go-cmp takes seconds for a megabyte.
func difference(want, got observation) string {
	if !proto.Equal(want.Reply, got.Reply) {
		return fmt.Sprintf("-%.1000v\n+%.1000v", want.Reply, got.Reply)
	}
	want.Reply, got.Reply = nil, nil
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

func ours(md metadata.MD) metadata.MD {
	out := metadata.MD{}
	for k, vs := range md {
		if strings.HasPrefix(k, "x-") {
			out[k] = vs
		}
	}
	return out
}

// compareAll makes every call through every service and caller, and beside it
// through bare grpc-go.
func compareAll(t *testing.T, s *suite) {
	reference := oracle(t)
	for _, service := range services {
		p := s.start(t, service.register, options{})
		for _, caller := range callers {
			t.Run(service.name+" "+caller.name, func(t *testing.T) {
				for _, c := range comparisons() {
					t.Run(c.name, func(t *testing.T) {
						ctx := within(t)
						if c.timeout > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, c.timeout)
							defer cancel()
						}
						ctx = metadata.NewOutgoingContext(ctx, c.metadata)
						want := observe(ctx, func(ctx context.Context, opts ...grpc.CallOption) (*probepb.RunReply, error) {
							return callers[0].run(ctx, reference, c.in, opts...)
						})
						got := observe(ctx, func(ctx context.Context, opts ...grpc.CallOption) (*probepb.RunReply, error) {
							return caller.run(ctx, p.conn, c.in, opts...)
						})
						s.expectDifferences(c.name, &want)
						if diff := difference(want, got); diff != "" {
							t.Errorf("gRPC (-) and %v (+) differ:\n%s", s.shape, diff)
						}
					})
				}
				t.Run("a method with a route", func(t *testing.T) {
					in := &probepb.GetRequest{Name: "a/b c%2F+é", Numbers: []int64{3, -4}, Flag: true, Big: 1<<53 + 1}
					want, err := callers[0].get(within(t), reference, in)
					if err != nil {
						t.Fatal(err)
					}
					got, err := caller.get(within(t), p.conn, in)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range []*probepb.RunReply{want, got} {
						r.Metadata, r.DeadlineMs = nil, 0
					}
					s.expectTLS(want)
					if !proto.Equal(want, got) {
						t.Errorf("gRPC gave %v, %v gave %v", want, s.shape, got)
					}
				})
			})
		}
	}
}
