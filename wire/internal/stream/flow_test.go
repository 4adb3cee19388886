package stream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/stream"
)

// Streams: credit, order, and how they end.

// pump sends n messages of the given size, numbered.
func pump(ctx context.Context, s *lineStream, n, size int) error {
	for i := range n {
		if err := s.send(ctx, fmt.Sprintf("%0*d", size, i)); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// drainOf receives until the end and checks that the messages are numbered.
func drainOf(ctx context.Context, s *lineStream) (n int, err error) {
	for ; ; n++ {
		text, err := s.recv(ctx)
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if i, err := strconv.Atoi(text); err != nil || i != n {
			return n, fmt.Errorf("message %d is %.20q", n, text)
		}
	}
}

// A stream that only sends does not deadlock, in either direction, nor does one
// on which both ends send everything before they receive, if credit and the
// window allow it. The order is kept.
func TestStreams(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		const n, size = 400, 1000
		ctx := t.Context()
		far := &lineServer{handle: echo, flow: func(ctx context.Context, s *lineStream) string {
			how, err := s.recv(ctx)
			if err != nil {
				return err.Error()
			}
			got := 0
			switch how {
			case "receive":
				got, err = drainOf(ctx, s)
			case "send":
				err = pump(ctx, s, n, size)
			case "both":
				sent := make(chan error, 1)
				go func() { sent <- pump(ctx, s, n, size) }()
				got, err = drainOf(ctx, s)
				err = errors.Join(err, <-sent)
			}
			return fmt.Sprint(got, err)
		}}
		e := join(t, pair, &lineServer{}, far, edits{})
		for _, tt := range []struct {
			how           string
			sends, gets   int
			wantedByReply string
		}{
			{"receive", n, 0, "400 <nil>"},
			{"send", 0, n, "0 <nil>"},
			{"both", n, n, "400 <nil>"},
		} {
			s, call, err := openLine(ctx, e.client)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.send(ctx, tt.how); err != nil {
				t.Fatal(err)
			}
			sent := make(chan error, 1)
			go func() { sent <- errors.Join(pump(ctx, s, tt.sends, size), s.closeSend(ctx)) }()
			got := 0
			if tt.gets > 0 {
				if got, err = drainOf(ctx, s); err != nil {
					t.Error(err)
				}
			}
			if err := <-sent; err != nil && !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			if err := s.Reply(ctx); err != nil {
				t.Error(err)
			}
			if err := call.check(tt.wantedByReply); err != nil {
				t.Error(err)
			}
			if got != tt.gets {
				t.Errorf("%d messages of %d came", got, tt.gets)
			}
		}
	})
}

// onStream opens a stream to a peer that the test plays.
func onStream(t *testing.T) (*stream.Client, *lineStream, *lineCall, net.Conn, *bufio.Reader) {
	t.Helper()
	client, conn := alone(t, pipePair)
	r := bufio.NewReader(conn)
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		wantLine(t, r, "1 open ")
	}()
	s, call, err := openLine(t.Context(), client)
	<-opened
	if err != nil {
		t.Fatal(err)
	}
	return client, s, call, conn, r
}

// A sender blocks when its credit is used up, and a grant lets it go on. A
// message longer than the window can be sent.
func TestCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, call, conn, r := onStream(t)
		var sent atomic.Int32
		go func() {
			for _, n := range []int{stream.Window - 1, 3 * stream.Window, 1, 1} {
				if err := s.send(t.Context(), strings.Repeat("x", n)); err != nil {
					t.Error(err)
				}
				sent.Add(1)
			}
		}()
		want := func(n int) {
			t.Helper()
			wantLine(t, r, "1 msg "+strings.Repeat("x", n))
			time.Sleep(time.Second)
		}
		want(stream.Window - 1)
		want(3 * stream.Window) // one byte of credit was left
		synctest.Wait()
		if sent.Load() != 2 {
			t.Fatalf("%d messages were sent without credit", sent.Load())
		}
		grant := func(n int) {
			t.Helper()
			if _, err := fmt.Fprintf(conn, "1 credit %d\n", n); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		grant(3*stream.Window - 1) // which makes the credit 0
		if sent.Load() != 2 {
			t.Fatalf("%d messages were sent without credit", sent.Load())
		}
		grant(1)
		want(1)
		if sent.Load() != 3 {
			t.Fatalf("%d messages were sent", sent.Load())
		}
		grant(1)
		want(1)
		if _, err := io.WriteString(conn, "1 reply end\n"); err != nil {
			t.Fatal(err)
		}
		if err := s.Reply(t.Context()); err != nil {
			t.Error(err)
		}
		if err := call.check("end"); err != nil {
			t.Error(err)
		}
	})
}

// A sender that waits for credit is told when its context or the call ends.
func TestSenderWithoutCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, _, conn, r := onStream(t)
		go func() {
			wantLine(t, r, "1 msg "+strings.Repeat("x", stream.Window))
		}()
		if err := s.send(t.Context(), strings.Repeat("x", stream.Window)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.send(ctx, "y"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		sent := make(chan error, 1)
		go func() { sent <- s.send(t.Context(), "z") }()
		time.Sleep(time.Second)
		if _, err := io.WriteString(conn, "1 reply early\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-sent; !errors.Is(err, io.EOF) {
			t.Errorf("error is %v", err)
		}
		if err := s.Reply(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A receiver grants what it has received, when that is half the window.
func TestReceiverGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s, _, conn, r := onStream(t)
		const size = stream.Window / 8
		item := "1 item " + strings.Repeat("x", size) + "\n"
		granted := make(chan string, 100)
		go func() {
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					close(granted)
					return
				}
				granted <- line
			}
		}()
		for i := range 32 {
			if _, err := io.WriteString(conn, item); err != nil {
				t.Fatal(err)
			}
			if text, err := s.recv(t.Context()); err != nil || len(text) != size {
				t.Fatalf("got %d bytes, %v", len(text), err)
			}
			synctest.Wait()
			if i%4 == 3 {
				if got := <-granted; got != fmt.Sprintf("1 grant %d\n", stream.Window/2) {
					t.Errorf("after message %d came %q", i, got)
				}
			}
			if len(granted) > 0 {
				t.Errorf("after message %d came %q", i, <-granted)
			}
		}
		s.Cancel()
		if got := <-granted; got != "1 cancel -\n" {
			t.Errorf("then came %q", got)
		}
		conn.Close()
		<-granted
	})
}

// A peer that sends beyond its credit fails that stream, and no other call.
func TestOverrunFailsOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s, _, conn, r := onStream(t)
		go io.Copy(io.Discard, r)
		other := &lineCall{text: "other"}
		done := start(t.Context(), client, other)
		synctest.Wait()
		item := "1 item " + strings.Repeat("x", stream.Window/2) + "\n"
		// The window, and one message more.
		if _, err := io.WriteString(conn, item+"1 item x\n"+item+item); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_, err := s.recv(t.Context())
		wantStatus(t, err, codes.ResourceExhausted, "more than the stream's window of 65536 bytes")
		wantStatus(t, s.send(t.Context(), "x"), codes.ResourceExhausted, "window")
		s.Cancel()
		if _, err := io.WriteString(conn, "2 reply fine\n1 item late\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := other.check("fine"); err != nil {
			t.Error(err)
		}
	})
}

// A connection that breaks ends its streams, for those that send, receive or
// wait for the reply.
func TestConnectionBreaksInStream(t *testing.T) {
	for name, use := range map[string]func(ctx context.Context, s *lineStream) error{
		"recv": func(ctx context.Context, s *lineStream) error { _, err := s.recv(ctx); return err },
		"send": func(ctx context.Context, s *lineStream) error {
			if err := pump(ctx, s, 1<<20, 1000); !errors.Is(err, io.EOF) {
				return err
			}
			return s.Reply(ctx) // which says why
		},
		"reply": func(ctx context.Context, s *lineStream) error {
			return s.Reply(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, s, _, conn, r := onStream(t)
				go io.Copy(io.Discard, r)
				done := make(chan error, 1)
				go func() { done <- use(t.Context(), s) }()
				time.Sleep(time.Second)
				conn.Close()
				wantStatus(t, <-done, codes.Unavailable, "after the request was written; it may have run")
				s.Cancel()
			})
		})
	}
}

// Cancel tells the peer and ends its handler; what comes later is dropped.
func TestCancelStream(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		ended := make(chan error, 1)
		far := &lineServer{handle: echo, flow: func(ctx context.Context, s *lineStream) string {
			ended <- pump(ctx, s, 1<<20, 1000)
			return "ended"
		}}
		e := join(t, pair, &lineServer{}, far, edits{})
		for range 3 {
			s, _, err := openLine(t.Context(), e.client)
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				if _, err := s.recv(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.Cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the handler's error is %v", err)
			}
			if _, err := s.recv(t.Context()); err == nil {
				t.Error("something came after Cancel")
			}
			if err := e.call(t.Context(), "a", "a"); err != nil {
				t.Error(err)
			}
		}
	})
}

// A slow handler in between changes nothing in the order of messages.
func TestStreamKeepsOrderWithSlowHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{
			handle: func(_ context.Context, text string) string {
				time.Sleep(5 * tick)
				return text
			},
			flow: func(ctx context.Context, s *lineStream) string {
				n, err := drainOf(ctx, s)
				return fmt.Sprint(n, err)
			},
		}
		e := join(t, pipePair, &lineServer{}, far, edits{})
		s, call, err := openLine(t.Context(), e.client)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 300 {
			if err := s.send(t.Context(), fmt.Sprintf("%0500d", i)); err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 {
				go func() {
					if err := e.call(t.Context(), "slow", "slow"); err != nil {
						t.Error(err)
					}
				}()
			}
		}
		if err := s.closeSend(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Reply(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := call.check("300 <nil>"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
	})
}
