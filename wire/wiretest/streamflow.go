package wiretest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// What flow control must hold back: messages of a stream whose other end does
// not read. They are 3 MB together, far more than all buffers on the way.
const (
	floodMessages = 400
	floodPayload  = 8 << 10
	floodHeld     = floodMessages / 2 // fewer than this many get away
)

// callsBetween makes calls on the connection, which must not notice what a
// stream does.
func callsBetween(t *testing.T, p *pair) {
	t.Helper()
	for range 100 {
		if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{Payload: make([]byte, 100)}); err != nil {
			t.Fatalf("a call beside a stream that is held back: %v", err)
		}
	}
}

// slowClient: a client that does not read holds back its handler, and nobody
// else.
func slowClient(t *testing.T, s *suite) {
	flood(t, s.start(t, (*probe).generated, options{}))
}

func flood(t *testing.T, p *pair) {
	f := mustOpen(within(t), t, p.conn, downloadMethod)
	request := &probepb.RunRequest{Payload: make([]byte, floodPayload)}
	for n := range int64(floodMessages) {
		request.Numbers = append(request.Numbers, n)
	}
	if err := f.send(request); err != nil {
		t.Fatal(err)
	}
	if _, err := f.recv(); err != nil {
		t.Fatal(err)
	}
	callsBetween(t, p)
	if n := p.sent.Load(); n > floodHeld {
		t.Errorf("the handler sent %d messages to a client that does not read", n)
	}
	for want := int64(1); want < floodMessages; want++ {
		if out, err := f.recv(); err != nil || out.GetNumbers()[0] != want {
			t.Fatalf("got %v, %v, want message %d", out.GetNumbers(), err, want)
		}
	}
	if _, err := f.recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

// slowHandler: a handler that does not read holds back its client, and nobody
// else.
func slowHandler(t *testing.T, s *suite) {
	release := make(chan struct{})
	p := s.start(t, (*probe).generated, options{registry: []everywire.RegistryOption{everywire.ChainStream(
		func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			<-release
			return h(srv, stream)
		})}})
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	f := mustOpen(within(t), t, p.conn, uploadMethod)
	var sent atomic.Int64
	done := make(chan error, 1)
	go func() {
		for n := range int64(floodMessages) {
			if err := f.send(&probepb.RunRequest{Numbers: []int64{n}, Payload: make([]byte, floodPayload)}); err != nil {
				done <- err
				return
			}
			sent.Add(1)
		}
		done <- f.CloseSend()
	}()
	callsBetween(t, p)
	if n := sent.Load(); n > floodHeld {
		t.Errorf("the client sent %d messages to a handler that does not read", n)
	}
	release <- struct{}{}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	out, err := f.recv()
	if err != nil || len(out.GetNumbers()) != floodMessages {
		t.Fatalf("got %d numbers, %v", len(out.GetNumbers()), err)
	}
	for n, got := range out.GetNumbers() {
		if got != int64(n) {
			t.Fatalf("message %d arrived as number %d", got, n)
		}
	}
}

// bothWays: sending and receiving at once, neither waiting for the other.
func bothWays(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	f := mustOpen(within(t), t, p.conn, chatMethod)
	talk(t, f, "both ways", 500, 1000)
}

// talk sends n messages, of payloads up to size, and receives their replies at
// the same time.
func talk(t *testing.T, f *flow, name string, n, size int) {
	done := make(chan error, 1)
	go func() {
		for i := range n {
			if err := f.send(&probepb.RunRequest{Name: fmt.Sprint(name, i), Payload: make([]byte, i*37%size)}); err != nil {
				done <- err
				return
			}
		}
		done <- f.CloseSend()
	}()
	for i := range n {
		out, err := f.recv()
		if err != nil || out.GetName() != fmt.Sprint(name, i) || len(out.GetPayload()) != i*37%size {
			t.Errorf("%s: reply %d is %q, %v", name, i, out.GetName(), err)
			break
		}
	}
	if err := <-done; err != nil {
		t.Errorf("%s: sending: %v", name, err)
	}
	if err := f.end(); !errors.Is(err, io.EOF) {
		t.Errorf("%s: the end is %v", name, err)
	}
}

// manyStreams at once, with unary calls between; some are cancelled.
func manyStreams(t *testing.T, s *suite) {
	p := s.start(t, (*probe).generated, options{})
	var wg sync.WaitGroup
	ctx := within(t)
	for g := range 20 {
		wg.Go(func() {
			f, err := openFlow(ctx, p.conn, chatMethod, g%2 == 0)
			if err != nil {
				t.Error(err)
				return
			}
			talk(t, f, fmt.Sprint("stream ", g, " "), 50, 5000)
		})
		wg.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			f, err := openFlow(ctx, p.conn, downloadMethod, false)
			if err == nil {
				err = f.send(&probepb.RunRequest{Numbers: make([]int64, 1000), Payload: make([]byte, 1000)})
			}
			if err == nil {
				_, err = f.recv()
			}
			if err != nil {
				t.Error(err)
			}
			cancel() // with messages on the way
			if f.ClientStream != nil {
				_ = f.end() // it was cancelled
			}
		})
		wg.Go(func() {
			for i := range 20 {
				name := fmt.Sprintf("%d/%d", g, i)
				out, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{Name: name, Payload: make([]byte, 2000)})
				if err != nil || out.GetName() != name {
					t.Errorf("the call %s beside streams: %q, %v", name, out.GetName(), err)
				}
			}
		})
	}
	wg.Wait()
}

// streamsOverTLS, where reads and writes cannot be interrupted as on a socket.
func streamsOverTLS(t *testing.T, s *suite) {
	ca := newAuthority(t)
	p := s.start(t, (*probe).generated, options{
		tls:   true,
		serve: []wire.ServeOption{wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{ca.issue(t, "server")}})},
		dial:  []wire.DialOption{wire.WithTLSConfig(&tls.Config{RootCAs: ca.pool, ServerName: "server"})},
	})
	flood(t, p)
	ctx, cancel := context.WithCancel(within(t))
	cancelled := mustOpen(ctx, t, p.conn, chatMethod)
	cancelled.exchange(t, &probepb.RunRequest{})
	talk(t, mustOpen(within(t), t, p.conn, chatMethod), "TLS", 100, 100_000)
	cancel()
	wantCode(t, "a cancelled stream", cancelled.end(), codes.Canceled)
	talk(t, mustOpen(within(t), t, p.conn, chatMethod), "TLS again", 10, 1000)
}

// drainStreams: while the server shuts down a stream goes on to its end, and
// no new one begins.
func drainStreams(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	ctx := within(t)
	f := mustOpen(ctx, t, p.conn, chatMethod)
	f.exchange(t, &probepb.RunRequest{Name: "before"})
	done := make(chan error, 1)
	go func() { done <- p.server.Shutdown(ctx) }()
	for {
		_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{})
		if err != nil {
			wantCode(t, "a call during the shutdown", err, codes.Unavailable)
			break
		}
	}
	late, err := openFlow(ctx, p.conn, chatMethod, false)
	if err == nil {
		err = late.end()
	}
	wantCode(t, "a stream that begins during the shutdown", err, codes.Unavailable)
	if out := f.exchange(t, &probepb.RunRequest{Name: "during"}); out.GetName() != "during" {
		t.Errorf("got %v", out)
	}
	if err := f.CloseSend(); err != nil {
		t.Error(err)
	}
	if err := f.end(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream that was open ended with %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// streamServerDies: a drain that runs out of time cuts streams off.
func streamServerDies(t *testing.T, s *suite) {
	record, ended := ends()
	p := s.start(t, (*probe).plain, options{registry: []everywire.RegistryOption{record}})
	f := mustOpen(within(t), t, p.conn, chatMethod)
	f.exchange(t, &probepb.RunRequest{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.server.Shutdown(ctx); err == nil {
		t.Error("shutdown with an endless stream says that all went well")
	}
	wantCode(t, "the stream that was cut off", f.end(), codes.Unavailable)
	if awaitEnd(t, ended) == nil {
		t.Error("the handler ended well")
	}
}

// closeUnderStream: Close ends streams, and reports it though nobody reads.
func closeUnderStream(t *testing.T, s *suite) {
	record, ended := ends()
	p := s.start(t, (*probe).plain, options{registry: []everywire.RegistryOption{record}})
	finished := make(chan error, 1)
	f := mustOpen(within(t), t, p.conn, chatMethod, grpc.OnFinish(func(err error) { finished <- err }))
	f.exchange(t, &probepb.RunRequest{})
	if err := p.conn.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-finished:
		wantCode(t, "what OnFinish got of a stream whose connection was closed", err, codes.Canceled)
	case <-time.After(patience):
		t.Error("OnFinish was not called")
	}
	wantCode(t, "a stream whose connection was closed", f.end(), codes.Canceled)
	if awaitEnd(t, ended) == nil {
		t.Error("the handler ended well")
	}
	_, err := openFlow(within(t), p.conn, chatMethod, false)
	wantCode(t, "a stream on a closed connection", err, codes.Canceled)
}

// streamWithoutServer: it fails at once, or waits if told to.
func streamWithoutServer(t *testing.T, s *suite) {
	target, _ := unserved(t, s)
	conn := s.dial(t, s.shape.At(target.Addrs...))
	_, err := openFlow(within(t), conn, chatMethod, false)
	wantCode(t, "a stream without a server", err, codes.Unavailable)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = openFlow(short, conn, chatMethod, false, grpc.WaitForReady(true))
	wantCode(t, "a stream that waited in vain", err, codes.DeadlineExceeded)
}
