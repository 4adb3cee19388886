package msgpackrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/msgpackrpc"
)

func wantStatus(t *testing.T, err error, c codes.Code, text string) {
	t.Helper()
	if status.Code(err) != c || !strings.Contains(status.Convert(err).Message(), text) {
		t.Errorf("error is %v, want %v with %q", err, c, text)
	}
}

func TestCall(t *testing.T) {
	f := newFixture(t)
	for _, options := range []rpc.Options{nil, metaOn()} {
		conn := f.dial(t, options)
		var p peer.Peer
		out, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{Numbers: []int64{20, 21}}, grpc.Peer(&p))
		if err != nil || out.Sum != 41 {
			t.Errorf("got %v, %v", out, err)
		}
		if p.Addr == nil || p.Addr.String() != f.addr {
			t.Errorf("peer is %v", p.Addr)
		}
		_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Nope", &Numbers{})
		wantStatus(t, err, codes.Unimplemented, "unknown method Nope for service arith.Arith")
	}
}

func TestDetails(t *testing.T) {
	conn := newFixture(t).dial(t, nil)
	_, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Fail", &Numbers{})
	wantStatus(t, err, codes.NotFound, "no such number")
	details := status.Convert(err).Details()
	if len(details) != 1 || details[0].(*errdetails.ErrorInfo).GetReason() != "R" {
		t.Errorf("details are %v", details)
	}
}

func TestMetadata(t *testing.T) {
	conn := newFixture(t).dial(t, metaOn())
	ctx := metadata.AppendToOutgoingContext(t.Context(), "key", "one", "key", "two", "raw-bin", "\x00\xff")
	for _, text := range []string{"", "it failed"} {
		var header, trailer metadata.MD
		out, err := everywire.Call[Sum](ctx, conn, "arith.Arith/Meta", &Numbers{Text: text}, grpc.Header(&header), grpc.Trailer(&trailer))
		if text != "" {
			wantStatus(t, err, codes.Aborted, text)
		} else if err != nil || out.Sum != 2 {
			t.Errorf("got %v, %v", out, err)
		}
		if diff := cmp.Diff(metadata.MD{"got": {"one"}, "raw-bin": {"\x00\xff"}}, header); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(metadata.MD{"after": {"yes"}}, trailer); diff != "" {
			t.Errorf("trailer (-want +got):\n%s", diff)
		}
	}
	if _, err := everywire.Call[Sum](ctx, conn, "arith.Arith/Meta", &Numbers{}); err != nil {
		t.Errorf("without asking for headers: %v", err)
	}
}

func TestMetadataIsOff(t *testing.T) {
	conn := newFixture(t).dial(t, nil)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "key", "v")
	_, err := everywire.Call[Sum](ctx, conn, "arith.Arith/Sum", &Numbers{})
	wantStatus(t, err, codes.Unimplemented, "meta=on")
	var md metadata.MD
	_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{}, grpc.Header(&md))
	wantStatus(t, err, codes.Unimplemented, "meta=on")
}

func TestBadOption(t *testing.T) {
	if _, err := msgpackrpc.NewConn(&rpc.ClientConfig{Options: rpc.Options{"meta": "perhaps"}}); err == nil || !strings.Contains(err.Error(), "want on or off") {
		t.Errorf("error is %v", err)
	}
}

// An hourglass is a context with a deadline in an hour that passes when it is
// turned.
type hourglass struct {
	context.Context
	turn context.CancelFunc
}

func newHourglass(ctx context.Context) *hourglass {
	ctx, cancel := context.WithCancel(ctx)
	return &hourglass{ctx, cancel}
}

func (h *hourglass) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }

func (h *hourglass) Err() error {
	if h.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// The deadline goes ahead of the request, in milliseconds rounded up, and its
// end is followed by a cancellation.
func TestDeadlineOnTheWire(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	ctx := newHourglass(t.Context())
	defer ctx.turn()
	call := everywire.Start[Sum](ctx, dial(t, lis.Addr().String(), metaOn()), "arith.Arith/Sum", &Numbers{})
	conn, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := &foreign{t: t, conn: conn}
	meta := p.receive().([]any)
	ms, ok := meta[2].([]any)[1].(map[string]any)["timeout_ms"].(int64)
	if meta[1] != "rpc.meta" || !ok || ms < 3_500_000 || ms > 3_600_000 {
		t.Errorf("before the request came %v", meta)
	}
	if request := p.receive().([]any); request[2] != "arith.Arith/Sum" || request[1] != meta[2].([]any)[0] {
		t.Errorf("the request is %v", request)
	}
	ctx.turn()
	p.want([]any{int64(2), "$/cancelRequest", []any{int64(1)}})
	_, err = call.Wait(t.Context())
	wantStatus(t, err, codes.DeadlineExceeded, "")
}

// Without meta=on the deadline is the client's alone.
func TestLocalDeadline(t *testing.T) {
	f := newFixture(t)
	conn := f.dial(t, nil)
	ctx := newHourglass(t.Context())
	call := everywire.Start[Sum](ctx, conn, "arith.Arith/Wait", &Numbers{})
	<-f.waiting
	ctx.turn()
	_, err := call.Wait(t.Context())
	wantStatus(t, err, codes.DeadlineExceeded, "")
	// A call behind it on the same connection shows that nothing was sent that ends the handler.
	if _, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{}); err != nil {
		t.Error(err)
	}
	select {
	case err := <-f.ended:
		t.Errorf("the handler ended: %v", err)
	default:
	}
	conn.Close()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler ended with %v", err)
	}
}

func TestCancelReachesHandler(t *testing.T) {
	f := newFixture(t)
	conn := f.dial(t, metaOn())
	ctx, cancel := context.WithCancel(t.Context())
	call := everywire.Start[Sum](ctx, conn, "arith.Arith/Wait", &Numbers{})
	<-f.waiting
	cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler ended with %v", err)
	}
	_, err := call.Wait(t.Context())
	wantStatus(t, err, codes.Canceled, "")
	if _, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func TestNotify(t *testing.T) {
	f := newFixture(t)
	for _, options := range []rpc.Options{nil, metaOn()} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := everywire.Notify(ctx, f.dial(t, options), "arith.Arith/Tell", &Numbers{Numbers: []int64{4}}); err != nil {
			t.Error(err)
		}
		if got := <-f.told; got != 4 {
			t.Errorf("told %d", got)
		}
		cancel()
	}
}

func TestLimits(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage = 1000 })
	conn := f.dial(t, nil)
	big := &Numbers{Text: strings.Repeat("x", 2000)}
	_, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", big)
	wantStatus(t, err, codes.ResourceExhausted, "received message larger than max")
	// Far too long for the frame: still this answer, not a lost connection.
	big.Text = strings.Repeat("x", 3<<20)
	_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", big)
	wantStatus(t, err, codes.ResourceExhausted, "received a request larger than max (1000)")
	_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", big, grpc.MaxCallSendMsgSize(1000))
	wantStatus(t, err, codes.ResourceExhausted, "trying to send message larger than max")
	_, err = everywire.Call[Sum](t.Context(), f.dial(t, nil), "arith.Arith/Sum", &Numbers{}, grpc.MaxCallRecvMsgSize(2))
	wantStatus(t, err, codes.ResourceExhausted, "received message larger than max")
}

func TestShutdown(t *testing.T) {
	f := newFixture(t)
	conn := f.dial(t, nil)
	call := everywire.Start[Sum](t.Context(), conn, "arith.Arith/Wait", &Numbers{})
	<-f.waiting
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v", err)
	}
	_, err := call.Wait(t.Context())
	wantStatus(t, err, codes.Unavailable, "it may have run")
	_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{})
	wantStatus(t, err, codes.Unavailable, "")
}

// While a server drains, calls under way finish and new ones are refused.
func TestDrain(t *testing.T) {
	f := newFixture(t)
	conn := f.dial(t, metaOn())
	ctx, cancel := context.WithCancel(t.Context())
	call := everywire.Start[Sum](ctx, conn, "arith.Arith/Wait", &Numbers{})
	<-f.waiting
	idle := f.foreign(t)
	idle.send("\x94\x00\x05\xa3sum\x90")
	idle.want(ok(5, 0))
	down := make(chan error, 1)
	go func() { down <- f.srv.Shutdown(context.Background()) }()
	idle.wantEnd() // draining has begun
	idle.conn.Close()
	for refused := false; !refused; {
		// The two connections are told one after the other.
		_, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{})
		if refused = err != nil; refused {
			wantStatus(t, err, codes.Unavailable, "the server is shutting down")
		}
	}
	cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler ended with %v", err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	_, err := call.Wait(t.Context())
	wantStatus(t, err, codes.Canceled, "")
}

// A reply longer than any frame may be fails its call, and says why.
func TestReplyTooLong(t *testing.T) {
	conn := newFixture(t).dial(t, nil, func(c *rpc.ClientConfig) { c.Limits.MaxMessage, c.Limits.MaxMetadata = 1000, 1000 })
	_, err := everywire.Call[Numbers](t.Context(), conn, "arith.Arith/Long", &Numbers{})
	wantStatus(t, err, codes.ResourceExhausted, "larger than max")
	// A call may raise the limit.
	out, err := everywire.Call[Numbers](t.Context(), conn, "arith.Arith/Long", &Numbers{}, grpc.MaxCallRecvMsgSize(1<<20))
	if err != nil || len(out.Text) != 100_000 {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lis.Close()
	conn := dial(t, lis.Addr().String(), nil)
	_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{})
	wantStatus(t, err, codes.Unavailable, "cannot reach")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = everywire.Call[Sum](ctx, conn, "arith.Arith/Sum", &Numbers{}, grpc.WaitForReady(true))
	wantStatus(t, err, codes.DeadlineExceeded, "")
}

func TestNoStreams(t *testing.T) {
	_, err := newFixture(t).dial(t, nil).NewStream(t.Context(), &grpc.StreamDesc{}, "/a/b")
	wantStatus(t, err, codes.Unimplemented, "no streams")
}

// Replies as foreign servers send them.
func TestForeignReplies(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		code        codes.Code
		text        string
	}{
		{"a string", "\x94\x01\x01\xa4oops\xc0", codes.Unknown, "oops"},
		{"a bin", "\x94\x01\x01\xc4\x04oops\xc0", codes.Unknown, ""},
		{"code and message", "\x94\x01\x01\x92\x00\xa4oops\xc0", codes.Unknown, "oops"},
		{"a map of its own", "\x94\x01\x01\x81\xa7message\xa4oops\xc0", codes.Unknown, "oops"},
		{"a number", "\x94\x01\x01\x05\xc0", codes.Unknown, "the server sent the error 5"},
		{"our form, a code of its own", "\x94\x01\x01\x82\xa4code\xcd\x03\xe8\xa7message\xa4oops\xc0", codes.Code(1000), "oops"},
		{"our form, OK", "\x94\x01\x01\x82\xa4code\x00\xa7message\xa4oops\xc0", codes.Unknown, "oops"},
		{"both error and result", "\x94\x01\x01\xa4oops\x80", codes.Unknown, "oops"},
		{"a wide id", "\x94\x01\xce\x00\x00\x00\x01\xc0\x81\xa3sum\x09", codes.OK, ""},
		{"other things first", "\x93\x02\xa4news\x90\x94\x00\x01\xa3sum\x90\x94\x01\x63\xc0\xc0\x94\x01\x01\xc0\x81\xa3sum\x09", codes.OK, ""},
		{"a result of the wrong type", "\x94\x01\x01\xc0\xa1x", codes.Internal, "reply of arith.Arith/Sum"},
		{"no message", "\x93\x01\x01\xc0", codes.Unavailable, "it may have run"},
		{"the unused byte", "\xc1", codes.Unavailable, "it may have run"},
		{"the end", "", codes.Unavailable, "the peer closed it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer lis.Close()
			done := make(chan error, 1)
			go func() { done <- answerOne(lis, tt.reply) }()
			out, err := everywire.Call[Sum](t.Context(), dial(t, lis.Addr().String(), nil), "arith.Arith/Sum", &Numbers{})
			wantStatus(t, err, tt.code, tt.text)
			if err == nil && out.Sum != 9 {
				t.Errorf("sum is %d", out.Sum)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// answerOne answers one request with the given bytes.
func answerOne(lis net.Listener, reply string) error {
	conn, err := lis.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	var buf []byte
	var scan msgpack.ScanState
	for n := 0; n == 0; {
		piece := make([]byte, 100)
		k, err := conn.Read(piece)
		if err != nil {
			return err
		}
		buf = append(buf, piece[:k]...)
		if n, err = msgpack.Scan(buf, &scan, 1000); err != nil {
			return err
		}
	}
	_, err = io.WriteString(conn, reply)
	return err
}

// Methods that declare only the form of their params have no short name, and
// so not the same one.
func TestFormsWithoutNames(t *testing.T) {
	reg := everywire.NewRegistry()
	for _, name := range []string{"x.X/One", "x.X/Two"} {
		everywire.Handle(reg, name, func(_ context.Context, in *Numbers) (*Numbers, error) { return in, nil },
			everywire.WithJSONRPC(everywire.JSONRPCForm{Params: everywire.ParamsObject}))
	}
	if _, err := msgpackrpc.NewServer(&rpc.ServerConfig{Registry: reg, Limits: everywire.Limits{}.WithDefaults()}); err != nil {
		t.Error(err)
	}
}
