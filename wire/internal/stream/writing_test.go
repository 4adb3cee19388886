package stream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/stream"
)

// Writes that the peer does not take, over whole connections. See writer_test.go
// for the writer alone.

// alone makes a client with the one connection, and gives the server's end.
func alone(t *testing.T, pair func() (net.Conn, net.Conn, error)) (*stream.Client, net.Conn) {
	t.Helper()
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	dialled := false
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(context.Context) (net.Conn, error) {
			if dialled {
				return nil, errors.New("there is one connection only")
			}
			dialled = true
			return ours, nil
		},
		Open:     openLineClient,
		MaxFrame: 1 << 20,
	})
	t.Cleanup(func() {
		theirs.Close() // first: TLS's close writes
		client.Close()
	})
	return client, theirs
}

// A caller whose context ends while it writes returns, and the frame that it
// has begun is finished.
func TestFrameOfCancelledWriterIsFinished(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		client, conn := alone(t, pair)
		text := strings.Repeat("x", 8<<20) // more than sockets take
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := start(ctx, client, &lineCall{text: text})
		r := bufio.NewReader(conn)
		if head, err := r.Peek(8); err != nil || string(head) != "1 call x" {
			t.Fatalf("read %q, %v", head, err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		next := &lineCall{text: "next"}
		done = start(t.Context(), client, next)
		wantLine(t, r, "1 call "+text)
		wantLine(t, r, "1 cancel -")
		wantLine(t, r, "2 call next")
		if _, err := io.WriteString(conn, "1 reply late\n2 reply ok\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := next.check("ok"); err != nil {
			t.Error(err)
		}
	})
}

// A peer that does not read holds callers back: what they may queue is bounded.
// When it reads again all goes through.
func TestBackPressureReachesCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := alone(t, pipePair)
		const callers, size = 40, 100_000
		var calls []*lineCall
		var done []<-chan error
		for range callers {
			call := &lineCall{text: strings.Repeat("x", size)}
			calls, done = append(calls, call), append(done, start(t.Context(), client, call))
		}
		time.Sleep(time.Second)
		if n := client.Conn().Queued(); n < 1<<20 || n > 1<<20+2*size {
			t.Errorf("%d bytes are queued", n)
		}
		r := bufio.NewReader(conn)
		for range callers {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			id, _, text, err := split([]byte(line))
			if err != nil || len(text) != size {
				t.Fatalf("a request of %d bytes, %v", len(text), err)
			}
			if _, err := fmt.Fprintf(conn, "%d reply ok\n", id); err != nil {
				t.Fatal(err)
			}
		}
		for i := range done {
			if err := <-done[i]; err != nil {
				t.Error(err)
			} else if err := calls[i].check("ok"); err != nil {
				t.Error(err)
			}
		}
	})
}

// The same with notifications, which nobody waits for an answer to.
func TestBackPressureReachesSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := alone(t, pipePair)
		const size = 10_000
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 1000 {
			go client.Send(ctx, func(dst []byte) ([]byte, error) { return fmt.Appendf(dst, "0 tell %0*d\n", size, 0), nil })
		}
		synctest.Wait()
		if n := client.Conn().Queued(); n > 1<<20+2*size {
			t.Errorf("%d bytes are queued", n)
		}
		<-ctx.Done()
		conn.Close()
	})
}

// A peer that reads now and then, if slowly, is not given up; one that stops is.
func TestSlowReaderIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := alone(t, pipePair)
		done := start(t.Context(), client, &lineCall{text: strings.Repeat("x", 900_000)})
		b := make([]byte, 300_000)
		for range 2 {
			time.Sleep(20 * time.Second)
			if _, err := io.ReadFull(conn, b); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		wantStatus(t, <-done, codes.Unavailable, "did not read for 30s")
		if d := time.Since(begin); d < 25*time.Second || d > 31*time.Second {
			t.Errorf("given up after %v", d)
		}
	})
}

// A reader of its own that writes replies comes back to reading when the peer
// does not take them: the peer may be writing itself.
func TestReaderIsNotHeldByItsWrites(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		ours, theirs, err := pair()
		if err != nil {
			t.Fatal(err)
		}
		reply := strings.Repeat("r", 100_000)
		far := &lineServer{handle: func(context.Context, string) string { return reply }}
		// Twice the longest frame is what the replies that wait may hold.
		srv := stream.NewServer(stream.ServerConfig{Open: far.session, MaxFrame: 20 << 20, MaxInFlight: 1000})
		ended := make(chan struct{})
		go func() {
			srv.ServeConn(theirs)
			close(ended)
		}()
		// All requests are written before one reply is read; neither the sockets
		// nor the queue hold the replies.
		const calls = 300
		request := strings.Repeat("q", 1000)
		for i := range calls {
			if _, err := fmt.Fprintf(ours, "%d call %s\n", i, request); err != nil {
				t.Fatal(err)
			}
		}
		r := bufio.NewReader(ours)
		seen := map[string]bool{}
		for range calls {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			id, rest, _ := strings.Cut(line, " ")
			if seen[id] || rest != "reply "+reply+"\n" {
				t.Fatalf("read %.40q", line)
			}
			seen[id] = true
		}
		ours.Close()
		<-ended
	})
}
