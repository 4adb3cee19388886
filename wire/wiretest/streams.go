package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// streams: what a comparison of replies does not show.
func streams(t *testing.T, s *suite) {
	if !s.carriesStreams() {
		return // compareStreams has seen that they are refused
	}
	for _, g := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"clients", streamClients},
		{"headers before messages", headersBeforeMessages},
		{"half-close", halfClose},
		{"cancel", cancelStreams},
		{"deadline", streamDeadline},
		{"early end", earlyEnd},
		{"slow client", slowClient},
		{"slow handler", slowHandler},
		{"limits", streamLimits},
		{"interceptors and stats", streamInterceptors},
		{"mistakes of handlers", handlerMistakes},
		{"both ways at once", bothWays},
		{"many at once", manyStreams},
		{"over TLS", streamsOverTLS},
		{"drain", drainStreams},
		{"server dies", streamServerDies},
		{"close", closeUnderStream},
		{"no server", streamWithoutServer},
	} {
		t.Run(g.name, func(t *testing.T) { g.run(t, s) })
	}
}

// streamClients: generated clients, and calls without generated code.
func streamClients(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	ctx := within(t)
	client := probepb.NewProbeClient(p.conn)
	down, err := client.Download(ctx, &probepb.RunRequest{Numbers: []int64{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	for want := int64(1); want <= 2; want++ {
		if out, err := down.Recv(); err != nil || out.GetNumbers()[0] != want {
			t.Fatalf("got %v, %v, want %d", out, err, want)
		}
	}
	if _, err := down.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	up, err := client.Upload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if err := up.Send(&probepb.RunRequest{Numbers: []int64{n}}); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := up.CloseAndRecv(); err != nil || !slices.Equal(out.GetNumbers(), []int64{0, 1, 2}) {
		t.Errorf("got %v, %v", out, err)
	}

	plainDown, err := everywire.CallServerStream[RunReply](ctx, p.conn, downloadMethod, &RunRequest{Numbers: []int64{5}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := plainDown.Recv(); err != nil || out.Numbers[0] != 5 {
		t.Errorf("got %v, %v", out, err)
	}
	if _, err := plainDown.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	plainUp, err := everywire.CallClientStream[RunRequest, RunReply](ctx, p.conn, uploadMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := plainUp.Send(&RunRequest{Numbers: []int64{6}}); err != nil {
		t.Error(err)
	}
	if out, err := plainUp.CloseAndRecv(); err != nil || !slices.Equal(out.Numbers, []int64{6}) {
		t.Errorf("got %v, %v", out, err)
	}
	chat, err := everywire.CallBidi[RunRequest, RunReply](ctx, p.conn, chatMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := chat.Send(&RunRequest{Name: "plain", Last: true}); err != nil {
		t.Error(err)
	}
	if out, err := chat.Recv(); err != nil || out.Name != "plain" {
		t.Errorf("got %v, %v", out, err)
	}
	if _, err := chat.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

// headersBeforeMessages: a client has the headers when the handler has sent
// them, whatever comes after.
func headersBeforeMessages(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	w := p.expect(t.Name())
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	f := mustOpen(ctx, t, p.conn, chatMethod)
	if err := f.send(&probepb.RunRequest{Name: t.Name(), SendHeaderTwice: true, Wait: durationpb.New(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	md, err := f.Header()
	if err != nil || !slices.Equal(md["x-sent"], []string{"once"}) {
		t.Errorf("got %v, %v", md, err)
	}
	await(t, "the handler's wait", w.started)
	cancel()
	await(t, "the end of the handler's context", w.ended)
}

// halfClose: when the client has closed its side the server may go on sending.
func halfClose(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	f := mustOpen(within(t), t, p.conn, chatMethod)
	const n = 20
	for range n {
		if err := f.send(&probepb.RunRequest{Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := f.recv(); err != nil {
			t.Fatalf("reply %d: %v", i, err)
		}
	}
	if _, err := f.recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

// ends is an interceptor that tells how the handlers of streams ended.
func ends() (everywire.RegistryOption, <-chan error) {
	ended := make(chan error, 100)
	return everywire.ChainStream(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		err := h(srv, stream)
		ended <- err
		return err
	}), ended
}

func awaitEnd(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(patience):
		t.Fatal("the handler goes on")
		return nil
	}
}

// cancelStreams: cancelling reaches the handler, whatever it is at: receiving,
// sending, or waiting.
func cancelStreams(t *testing.T, s *suite) {
	record, ended := ends()
	p := s.start(t, (*probe).generated, options{registry: []everywire.RegistryOption{record}})
	for i := range 5 {
		name := fmt.Sprint("cancelled ", i)
		w := p.expect(name)
		for what, request := range map[string]*probepb.RunRequest{
			"receiving": {},
			"sending":   {Numbers: make([]int64, 10_000), Payload: make([]byte, 10_000)},
			"waiting":   {Name: name, Wait: durationpb.New(time.Hour)},
		} {
			method := chatMethod
			if what == "sending" {
				method = downloadMethod
			}
			ctx, cancel := context.WithCancel(within(t))
			f := mustOpen(ctx, t, p.conn, method)
			if err := f.send(request); err != nil {
				t.Fatal(err)
			}
			if what == "waiting" {
				await(t, "the handler's wait", w.started)
			} else if _, err := f.recv(); err != nil {
				t.Fatal(err)
			}
			cancel()
			wantCode(t, "a cancelled stream", f.end(), codes.Canceled)
			if err := f.send(&probepb.RunRequest{}); method == chatMethod && !errors.Is(err, io.EOF) {
				t.Errorf("sending after that: %v", err)
			}
			if awaitEnd(t, ended) == nil {
				t.Errorf("the handler that was %s ended well", what)
			}
		}
	}
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

func streamDeadline(t *testing.T, s *suite) {
	record, ended := ends()
	p := s.start(t, (*probe).plain, options{registry: []everywire.RegistryOption{record}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	f, err := openFlow(ctx, p.conn, chatMethod, false)
	if err == nil { // else the machine is so slow that it has passed
		err = f.end()
		if awaitEnd(t, ended) == nil {
			t.Error("the handler ended well")
		}
	}
	wantCode(t, "a stream that takes too long", err, codes.DeadlineExceeded)
}

// earlyEnd: a handler may end the stream while its client sends, and the client
// learns of it by sending.
func earlyEnd(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	for _, request := range []*probepb.RunRequest{{Last: true}, {Code: 9}} {
		f := mustOpen(within(t), t, p.conn, chatMethod)
		var err error
		for err == nil {
			err = f.send(request)
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("sending to a handler that has ended: %v", err)
		}
		if request.GetCode() == 0 {
			if _, err := f.recv(); err != nil {
				t.Errorf("the reply before the end: %v", err)
			}
		}
		if _, err := f.recv(); request.GetCode() == 0 && !errors.Is(err, io.EOF) {
			t.Errorf("the end is %v", err)
		} else if request.GetCode() != 0 {
			wantCode(t, "the end", err, codes.FailedPrecondition)
		}
	}
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// streamLimits: each message has the limit of a message.
func streamLimits(t *testing.T, s *suite) {
	small := wire.WithLimits(everywire.Limits{MaxMessage: 10_000})
	large := &probepb.RunRequest{Payload: make([]byte, 20_000)}
	fails := func(t *testing.T, p *pair, opts ...grpc.CallOption) {
		t.Helper()
		f := mustOpen(within(t), t, p.conn, chatMethod, opts...)
		f.exchange(t, &probepb.RunRequest{Payload: make([]byte, 20)})
		err := f.send(large)
		if err == nil || errors.Is(err, io.EOF) {
			err = f.end()
		}
		wantCode(t, "a message over the limit", err, codes.ResourceExhausted)
		if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
			t.Errorf("the next call: %v", err)
		}
	}
	t.Run("of the client", func(t *testing.T) {
		fails(t, s.start(t, (*probe).plain, options{dial: []wire.DialOption{small}}))
	})
	t.Run("of the server", func(t *testing.T) {
		fails(t, s.start(t, (*probe).plain, options{serve: []wire.ServeOption{small}}))
	})
	p := s.start(t, (*probe).plain, options{})
	t.Run("of what the call sends", func(t *testing.T) { fails(t, p, grpc.MaxCallSendMsgSize(10_000)) })
	t.Run("of what the call receives", func(t *testing.T) { fails(t, p, grpc.MaxCallRecvMsgSize(10_000)) })
	t.Run("of the handler", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{serve: []wire.ServeOption{wire.WithLimits(everywire.Limits{MaxMessage: 30_000})}})
		// Beside what it had to send back the reply has the method's name and more.
		f := mustOpen(within(t), t, p.conn, downloadMethod)
		if err := f.send(&probepb.RunRequest{Payload: make([]byte, 20_000), Numbers: []int64{1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.recv(); err != nil {
			t.Errorf("a message within the limit: %v", err)
		}
	})
	t.Run("large messages within them", func(t *testing.T) {
		f := mustOpen(within(t), t, p.conn, chatMethod)
		for n := range 2 {
			if out := f.exchange(t, &probepb.RunRequest{Payload: make([]byte, n<<20)}); len(out.GetPayload()) != n<<20 {
				t.Errorf("of %d MiB %d bytes came back", n, len(out.GetPayload()))
			}
		}
	})
}

func streamInterceptors(t *testing.T, s *suite) {
	var mu sync.Mutex
	var log []string
	add := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, s)
	}
	client, server := &handlerLog{}, &handlerLog{}
	p := s.start(t, (*probe).plain, options{
		registry: []everywire.RegistryOption{everywire.ChainStream(
			func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
				add(fmt.Sprintf("server %s %v %v", info.FullMethod, info.IsClientStream, info.IsServerStream))
				return h(srv, stream)
			})},
		dial: []wire.DialOption{
			wire.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, m string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				add("client " + m)
				return next(ctx, desc, cc, m, opts...)
			}),
			wire.WithStatsHandler(client),
		},
		serve: []wire.ServeOption{wire.WithStatsHandler(server)},
	})
	for _, code := range []codes.Code{codes.OK, codes.NotFound} {
		log = nil
		f := mustOpen(within(t), t, p.conn, chatMethod)
		f.exchange(t, &probepb.RunRequest{Name: "1"})
		f.exchange(t, &probepb.RunRequest{Name: "2"})
		if code == codes.OK {
			if err := f.CloseSend(); err != nil {
				t.Error(err)
			}
		} else if err := f.send(&probepb.RunRequest{Code: uint32(code)}); err != nil {
			t.Error(err)
		}
		if err := f.end(); !errors.Is(err, io.EOF) {
			wantCode(t, "the stream", err, code)
		}
		path := "/" + chatMethod
		if want := []string{"client " + path, "server " + path + " true true"}; !slices.Equal(log, want) {
			t.Errorf("the interceptors ran %q, want %q", log, want)
		}
		in, out := "InPayload length>0=true", "OutPayload length>0=true"
		want := []string{"Tag " + path, "Begin", "InHeader", in, in, out, out, "OutHeader", "End " + code.String()}
		clientWant, serverWant := slices.Concat(want, []string{"InTrailer"}), slices.Concat(want, []string{"OutTrailer"})
		if code != codes.OK { // the third request
			clientWant, serverWant = append(clientWant, out), append(serverWant, in)
		}
		for who, x := range map[string]struct {
			log  *handlerLog
			want []string
		}{"client": {client, clientWant}, "server": {server, serverWant}} {
			slices.Sort(x.want)
			if got := x.log.take(t, "End"); !slices.Equal(got, x.want) {
				t.Errorf("code %v: the %s's stats are %q, want %q", code, who, got, x.want)
			}
		}
	}
}

// handlerMistakes: a stream whose handler fails badly fails alone.
func handlerMistakes(t *testing.T, s *suite) {
	mistake := make(chan string, 1)
	p := s.start(t, (*probe).generated, options{registry: []everywire.RegistryOption{everywire.ChainStream(misbehave(mistake))}})
	for _, what := range []string{"panic", "panic after a message", "nil", "exit"} {
		if what == "exit" && s.is("grpc") {
			continue // its client waits for its deadline
		}
		mistake <- what
		f := mustOpen(within(t), t, p.conn, chatMethod)
		if err := f.send(&probepb.RunRequest{}); err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", what, err)
		}
		wantCode(t, "a handler's "+what, f.end(), codes.Internal)
	}
	mistake <- ""
	mustOpen(within(t), t, p.conn, chatMethod).exchange(t, &probepb.RunRequest{})
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Errorf("the call after those: %v", err)
	}
}

// misbehave is an interceptor that fails in the way that it is told.
func misbehave(mistake <-chan string) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		switch <-mistake {
		case "panic":
			panic("told to")
		case "panic after a message":
			if err := stream.SendMsg(&probepb.RunReply{}); err != nil {
				return err
			}
			panic("told to")
		case "nil":
			_ = stream.SendMsg(nil) // the error stays, though this ignores it
			return nil
		case "exit":
			runtime.Goexit()
		}
		return h(srv, stream)
	}
}
