package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

type number struct {
	N int64 `wire:"1"`
}

// A script is the handler of a stream; it says what it saw by see.
type script func(stream grpc.ServerStream, see func(string, ...any)) error

// A play is the client of a stream.
type play func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any))

var (
	serverStreamDesc = &grpc.StreamDesc{StreamName: "Down", ServerStreams: true}
	clientStreamDesc = &grpc.StreamDesc{StreamName: "Up", ClientStreams: true}
	bidiDesc         = &grpc.StreamDesc{StreamName: "Both", ServerStreams: true, ClientStreams: true}
)

// plays are what must look the same by way of this package and by grpc-go.
var plays = []struct {
	name   string
	server script
	client play
}{
	{"a server stream", func(s grpc.ServerStream, see func(string, ...any)) error {
		var in number
		see("recv %v %d", s.RecvMsg(&in), in.N)
		for n := range in.N {
			see("send %v", s.SendMsg(&number{n}))
		}
		s.SetTrailer(metadata.Pairs("t", "1"))
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, serverStreamDesc, see)
		see("send %v", s.SendMsg(&number{3}))
		readAll(s, see)
		see("again %v", s.RecvMsg(new(number)))
	}},
	{"a client stream", func(s grpc.ServerStream, see func(string, ...any)) error {
		var sum number
		for {
			var in number
			err := s.RecvMsg(&in)
			if errors.Is(err, io.EOF) {
				break
			}
			see("recv %v %d", err, in.N)
			sum.N += in.N
		}
		return s.SendMsg(&sum)
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, clientStreamDesc, see)
		for n := range int64(4) {
			see("send %v", s.SendMsg(&number{n}))
		}
		see("close %v", s.CloseSend())
		see("close again %v", s.CloseSend())
		var out number
		see("recv %v %d", s.RecvMsg(&out), out.N)
		see("trailer %v", s.Trailer())
	}},
	{"a conversation", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("set %v", s.SetHeader(metadata.Pairs("h", "1")))
		see("set %v", grpc.SetHeader(s.Context(), metadata.Pairs("h", "2")))
		for {
			var in number
			if err := s.RecvMsg(&in); err != nil {
				see("recv %v", err)
				see("late header fails: %v", s.SetHeader(metadata.Pairs("h", "3")) != nil)
				return nil
			}
			see("send %v", s.SendMsg(&number{2 * in.N}))
		}
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		for n := range int64(3) {
			see("send %v", s.SendMsg(&number{n}))
			var out number
			see("recv %v %d", s.RecvMsg(&out), out.N)
		}
		header(s, see)
		see("close %v", s.CloseSend())
		readAll(s, see)
	}},
	{"headers before messages", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("send header %v", s.SendHeader(metadata.Pairs("h", "1", "b-bin", "\x00\xff")))
		see("again fails: %v", s.SendHeader(nil) != nil)
		see("recv %v", s.RecvMsg(new(number)))
		s.SetTrailer(metadata.Pairs("t", "1"))
		s.SetTrailer(metadata.Pairs("t", "2"))
		return status.Error(codes.Aborted, "no more")
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		header(s, see)
		see("close %v", s.CloseSend())
		readAll(s, see)
	}},
	{"headers with the end", func(s grpc.ServerStream, _ func(string, ...any)) error {
		return s.SetHeader(metadata.Pairs("h", "1"))
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		header(s, see)
		readAll(s, see)
	}},
	{"an error at once", func(grpc.ServerStream, func(string, ...any)) error {
		return status.Error(codes.PermissionDenied, "not you")
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		header(s, see)
		see("recv %v", s.RecvMsg(new(number)))
		see("send %v", s.SendMsg(&number{1}))
		see("recv %v", s.RecvMsg(new(number)))
	}},
	{"an error after messages", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("send %v", s.SendMsg(&number{1}))
		see("send %v", s.SendMsg(&number{2}))
		return context.DeadlineExceeded
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		readAll(open(ctx, conn, bidiDesc, see), see)
	}},
	{"a client stream with an early reply", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("recv %v", s.RecvMsg(new(number)))
		return s.SendMsg(&number{7})
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, clientStreamDesc, see)
		see("send %v", s.SendMsg(&number{1}))
		var out number
		see("recv %v %d", s.RecvMsg(&out), out.N)
		see("send %v", s.SendMsg(&number{1}))
	}},
	{"an error after the reply", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("send %v", s.SendMsg(&number{7}))
		return status.Error(codes.DataLoss, "after all")
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, clientStreamDesc, see)
		see("recv %v", s.RecvMsg(new(number)))
	}},
	{"no reply", func(grpc.ServerStream, func(string, ...any)) error {
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, clientStreamDesc, see)
		see("recv %v", status.Code(s.RecvMsg(new(number))))
	}},
	{"a message too large for the receiver", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("recv %v", status.Code(s.RecvMsg(new(everywire.Document))))
		return nil // the error stays
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		see("send %v", s.SendMsg(&everywire.Document{Value: strings.Repeat("x", 2000)}))
		see("recv %v", status.Code(s.RecvMsg(new(number))))
	}},
	{"a message too large for its sender", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("send %v", status.Code(s.SendMsg(&everywire.Document{Value: strings.Repeat("x", 2000)})))
		return nil // the error stays
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		see("recv %v", status.Code(s.RecvMsg(new(number))))
	}},
	{"a message too large for its client", func(s grpc.ServerStream, _ func(string, ...any)) error {
		return s.RecvMsg(new(number))
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see, grpc.MaxCallSendMsgSize(100))
		see("send %v", status.Code(s.SendMsg(&everywire.Document{Value: strings.Repeat("x", 200)})))
		see("recv %v", status.Code(s.RecvMsg(new(number))))
	}},
	{"a reply too large for the client", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("send %v", s.SendMsg(&everywire.Document{Value: strings.Repeat("x", 200)}))
		<-s.Context().Done() // the client gives up
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see, grpc.MaxCallRecvMsgSize(100))
		see("recv %v", status.Code(s.RecvMsg(new(everywire.Document))))
		see("recv %v", status.Code(s.RecvMsg(new(everywire.Document))))
	}},
	{"sending after the end of sending", func(s grpc.ServerStream, _ func(string, ...any)) error {
		<-s.Context().Done() // the client's mistake has ended the stream
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		see("send %v", s.SendMsg(&number{1}))
		see("close %v", s.CloseSend())
		see("send %v", s.SendMsg(&number{1}))
	}},
	{"a request that is no message", func(s grpc.ServerStream, _ func(string, ...any)) error {
		<-s.Context().Done()
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		see("send %v", status.Code(s.SendMsg(make(chan int))))
	}},
	{"a reply that is no message", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("send %v", status.Code(s.SendMsg(make(chan int))))
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		s := open(ctx, conn, bidiDesc, see)
		see("recv %v", status.Code(s.RecvMsg(new(number))))
	}},
	{"cancelled by the client", func(s grpc.ServerStream, see func(string, ...any)) error {
		see("recv %v", s.RecvMsg(new(number)))
		see("send %v", s.SendMsg(&number{1}))
		see("recv %v", s.RecvMsg(new(number)))
		see("context %v", s.Context().Err())
		see("send fails: %v", s.SendMsg(&number{1}) != nil)
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		ctx, cancel := context.WithCancel(ctx)
		s := open(ctx, conn, bidiDesc, see)
		see("send %v", s.SendMsg(&number{1}))
		see("recv %v", s.RecvMsg(new(number)))
		cancel()
		see("recv %v", s.RecvMsg(new(number)))
		see("send %v", s.SendMsg(&number{1}))
		see("context %v", s.Context().Err())
	}},
	{"a deadline that has passed", func(grpc.ServerStream, func(string, ...any)) error {
		return nil
	}, func(ctx context.Context, conn grpc.ClientConnInterface, see func(string, ...any)) {
		ctx, cancel := context.WithTimeout(ctx, -1)
		defer cancel()
		open(ctx, conn, bidiDesc, see)
	}},
}

func open(ctx context.Context, conn grpc.ClientConnInterface, desc *grpc.StreamDesc, see func(string, ...any), opts ...grpc.CallOption) grpc.ClientStream {
	s, err := conn.NewStream(ctx, desc, "/s.S/"+desc.StreamName, append(opts, grpc.OnFinish(func(err error) { see("finished %v", status.Code(err)) }))...)
	if err != nil {
		see("open %v", status.Code(err))
		return nil
	}
	return s
}

func header(s grpc.ClientStream, see func(string, ...any)) {
	md, err := s.Header()
	see("header %v %q %q", err, md["h"], md["b-bin"])
}

func readAll(s grpc.ClientStream, see func(string, ...any)) {
	for {
		var out number
		err := s.RecvMsg(&out)
		see("recv %v %d", err, out.N)
		if err != nil {
			see("trailer %q", s.Trailer()["t"])
			return
		}
	}
}

// A story is what both sides saw, each in its order.
type story struct {
	mu    sync.Mutex
	lines []string
}

func (s *story) see(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// events is a stats.Handler that keeps what matters of the events.
type events struct{ story }

func (*events) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*events) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*events) HandleConn(context.Context, stats.ConnStats)                       {}

func (e *events) HandleRPC(_ context.Context, ev stats.RPCStats) {
	switch ev := ev.(type) {
	case *stats.Begin:
		e.see("Begin %v %v", ev.IsClientStream, ev.IsServerStream)
	case *stats.InHeader:
		e.see("InHeader %q", ev.Header["h"])
	case *stats.OutHeader:
		e.see("OutHeader %q", ev.Header["h"])
	case *stats.InPayload:
		e.see("InPayload %d", ev.Length)
	case *stats.OutPayload:
		e.see("OutPayload %d", ev.Length)
	case *stats.InTrailer:
		e.see("InTrailer %q", ev.Trailer["t"])
	case *stats.OutTrailer:
		e.see("OutTrailer %q", ev.Trailer["t"])
	case *stats.End:
		e.see("End %v", status.Code(ev.Error))
	}
}

// stories are what was seen of one play.
type stories struct{ server, client, serverEvents, clientEvents []string }

// registryFor serves the script as each kind of stream.
func registryFor(run script, see func(string, ...any)) *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(quiet))
	desc := &grpc.ServiceDesc{ServiceName: "s.S"}
	for _, d := range []*grpc.StreamDesc{serverStreamDesc, clientStreamDesc, bidiDesc} {
		s := *d
		s.Handler = func(_ any, stream grpc.ServerStream) error { return run(stream, see) }
		desc.Streams = append(desc.Streams, s)
	}
	reg.RegisterService(desc, nil)
	return reg
}

const playLimit = 1000

func TestStreamsAreLikeGRPC(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			want := perform(t, p.server, p.client, grpcConn)
			got := perform(t, p.server, p.client, pipedConn)
			for _, who := range []struct {
				name      string
				got, want []string
			}{
				{"server", got.server, want.server},
				{"client", got.client, want.client},
				// grpc-go tells its stats how the handler returned, this package how
				// the call ended; that differs for handlers that ignore errors.
				{"server's stats", withoutEnd(got.serverEvents), withoutEnd(want.serverEvents)},
				{"client's stats", got.clientEvents, want.clientEvents},
			} {
				if diff := cmp.Diff(who.want, who.got); diff != "" {
					t.Errorf("the %s, -gRPC +ours:\n%s", who.name, diff)
				}
			}
		})
	}
}

// perform runs a play over a connection and returns what was seen when all is
// over.
func perform(t *testing.T, server script, client play, connect func(*testing.T, *everywire.Registry, stats.Handler, stats.Handler) (grpc.ClientConnInterface, func())) stories {
	t.Helper()
	var s, c story
	var se, ce events
	reg := registryFor(server, s.see)
	conn, end := connect(t, reg, &se, &ce)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	finished := make(chan string, 1) // apart from the rest: it may come before RecvMsg returns, or after
	client(ctx, conn, func(format string, args ...any) {
		if strings.HasPrefix(format, "finished") {
			finished <- fmt.Sprintf(format, args...)
			return
		}
		c.see(format, args...)
	})
	cancel() // what the play has left open
	c.see("%s", <-finished)
	end()
	return stories{s.lines, c.lines, se.lines, inOrder(ce.lines)}
}

func withoutEnd(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "End ") })
}

// inOrder puts the client's events into the order in which they are promised:
// grpc-go tells of headers and trailers when they arrive, on another goroutine.
func inOrder(lines []string) []string {
	slices.SortStableFunc(lines, func(a, b string) int { return place(a) - place(b) })
	return lines
}

func place(line string) int {
	name, _, _ := strings.Cut(line, " ")
	return slices.Index([]string{"Begin", "OutHeader", "OutPayload", "InHeader", "InPayload", "InTrailer", "End"}, name)
}

func pipedConn(t *testing.T, reg *everywire.Registry, server, client stats.Handler) (grpc.ClientConnInterface, func()) {
	c := newPipeConn(t, &ServerConfig{
		Registry: reg, Limits: everywire.Limits{MaxMessage: playLimit}.WithDefaults(), Logger: quiet, Stats: []stats.Handler{server},
	})
	c.client.Stats = []stats.Handler{client}
	return c, c.handlers.Wait
}

func grpcConn(t *testing.T, reg *everywire.Registry, server, client stats.Handler) (grpc.ClientConnInterface, func()) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(grpcJSON{}), grpc.StatsHandler(server),
		grpc.MaxRecvMsgSize(playLimit), grpc.MaxSendMsgSize(playLimit))
	reg.RegisterTo(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(lis) // ends with GracefulStop
	}()
	conn, err := grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(client), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(grpcJSON{})))
	if err != nil {
		t.Fatal(err)
	}
	return conn, func() {
		s.GracefulStop()
		<-done
		_ = conn.Close() // it has done its part
	}
}

// grpcJSON is our JSON codec for grpc-go.
type grpcJSON struct{}

var _ encoding.CodecV2 = grpcJSON{}

func (grpcJSON) Name() string { return "json" }

func (grpcJSON) Marshal(v any) (mem.BufferSlice, error) {
	b, err := json.Codec{}.Append(nil, v)
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (grpcJSON) Unmarshal(data mem.BufferSlice, v any) error {
	return json.Codec{}.Decode(data.Materialize(), v)
}
