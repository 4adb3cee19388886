package stream_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/stream"
)

// Who reads a connection, and when.

// few is a time within which the watch has seen everything.
const few = 10 * time.Millisecond

// While a write blocks somebody reads: two ends that send each other more than
// the connection holds do not deadlock.
func TestBothEndsWrite(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		large := strings.Repeat("x", 400_000)
		far := &lineServer{handle: func(ctx context.Context, text string) string {
			back := &lineCall{text: text}
			if _, err := connOf(ctx).Do(ctx, back); err != nil {
				return err.Error()
			}
			return text
		}}
		e := join(t, pair, &lineServer{handle: echo}, far, edits{
			func(cfg *stream.ClientConfig) { cfg.MaxFrame = 8 << 20 },
			func(cfg *stream.ServerConfig) { cfg.MaxFrame = 8 << 20 },
		})
		var wg sync.WaitGroup
		for g := range 6 {
			wg.Go(func() {
				text := strconv.Itoa(g) + large
				if err := e.call(t.Context(), text, text); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// A few milliseconds after the last call a standby reads: it sees that the peer
// closes the connection.
func TestStandbySeesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var theirs net.Conn
		pair := func() (client, server net.Conn, err error) {
			client, server, err = pipePair()
			theirs = server
			return client, server, err
		}
		e := join(t, pair, &lineServer{}, &lineServer{handle: echo}, edits{})
		for range 2 {
			if err := e.call(t.Context(), "a", "a"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(few)
			begin := time.Now()
			theirs.Close()
			<-e.conn.Context().Done()
			if d := time.Since(begin); d > few {
				t.Errorf("the close was seen after %v", d)
			}
		}
		if n := e.dials.Load(); n != 2 {
			t.Errorf("there were %d connections", n)
		}
	})
}

// A call from the server is answered while the client waits for nothing.
func TestStandbyTakesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: echo}
		e := join(t, pipePair, &lineServer{handle: func(_ context.Context, s string) string { return "back " + s }}, far, edits{})
		if err := e.call(t.Context(), "a", "a"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		call := &lineCall{text: "b"}
		if _, err := far.open[0].conn.Do(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		if err := call.check("back b"); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d > few {
			t.Errorf("it took %v", d)
		}
	})
}

// A standby leaves the reading to the callers as soon as there are some.
func TestCallerGetsLeadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := join(t, pipePair, &lineServer{}, &lineServer{handle: echo}, edits{})
		for range 3 {
			if err := e.call(t.Context(), "a", "a"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if e.conn.IsRead() {
				t.Error("somebody reads though a caller could")
			}
			time.Sleep(few)
			if !e.conn.IsRead() {
				t.Error("nobody reads")
			}
		}
	})
}

// A leader whose context ends comes back soon, be it early, when the watch
// looks, or later, when its context has a hook. The half frame that it has read
// is completed by the next leader, and its interruption disturbs nobody.
func TestLeaderIsInterrupted(t *testing.T) {
	for _, after := range []time.Duration{0, time.Microsecond, tick, 3 * tick, time.Hour} {
		t.Run(after.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, conn := overPipe(t)
				r := bufio.NewReader(conn)
				ctx, cancel := context.WithCancel(t.Context())
				leader := start(ctx, client, &lineCall{text: "leads"})
				wantLine(t, r, "1 call leads")
				synctest.Wait()
				next := &lineCall{text: "waits"}
				waiter := start(t.Context(), client, next)
				wantLine(t, r, "2 call waits")
				if _, err := io.WriteString(conn, "2 reply ha"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(min(after, 29*time.Second)) // half a frame has a timeout
				begin := time.Now()
				cancel()
				wantLine(t, r, "1 cancel -")
				if err := <-leader; !errors.Is(err, context.Canceled) {
					t.Errorf("the leader got %v", err)
				}
				if d := time.Since(begin); d > few {
					t.Errorf("the leader came back after %v", d)
				}
				time.Sleep(few)
				if _, err := io.WriteString(conn, "lf\n1 reply late\n"); err != nil {
					t.Fatal(err)
				}
				if err := <-waiter; err != nil {
					t.Fatal(err)
				}
				if err := next.check("half"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

const tick = time.Millisecond

// The leader runs no user code: a call of the peer's that comes while a caller
// reads, at either end, runs elsewhere, and holds the reply of nobody.
func TestLeaderRunsNoUserCode(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		release, running := make(chan struct{}), make(chan struct{}, 2)
		block := func() string {
			running <- struct{}{}
			<-release
			return "released"
		}
		near := &lineServer{handle: func(_ context.Context, text string) string {
			if text == "block" {
				return block()
			}
			<-running // the server's own blocked handler
			return text
		}}
		var client *stream.Client
		blocked := &lineCall{text: "block"}
		var nested <-chan error
		far := &lineServer{handle: func(ctx context.Context, text string) string {
			switch text {
			case "block":
				return block()
			case "quick":
				return text
			}
			// This end waits for a call of its own, and so does the client; each
			// gets a request that blocks.
			back := make(chan error, 1)
			go func() {
				_, err := connOf(ctx).Do(context.WithoutCancel(ctx), &lineCall{text: "block"})
				back <- err
			}()
			<-running
			nested = back
			go func() { nestedDone <- <-start(context.Background(), client, blocked) }()
			call := &lineCall{text: "now"}
			if _, err := connOf(ctx).Do(ctx, call); err != nil {
				return err.Error()
			}
			return text
		}}
		e := join(t, pair, near, far, edits{})
		client = e.client
		if err := e.call(t.Context(), "go", "go"); err != nil {
			t.Error(err)
		}
		if err := e.call(t.Context(), "quick", "quick"); err != nil {
			t.Error(err)
		}
		close(release)
		if err := <-nestedDone; err != nil {
			t.Error(err)
		}
		if err := <-nested; err != nil {
			t.Error(err)
		}
	})
}

var nestedDone = make(chan error, 1)

// A connection that was idle for long is closed by either end, but not while
// there is a call.
func TestIdleTimeout(t *testing.T) {
	const idle = time.Minute
	for name, edit := range map[string]edits{
		"client": {client: func(cfg *stream.ClientConfig) { cfg.Idle = idle }},
		"server": {server: func(cfg *stream.ServerConfig) { cfg.Idle = idle }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := &lineServer{handle: func(_ context.Context, text string) string {
					if text == "slow" {
						time.Sleep(10*idle + idle/2)
					}
					return text
				}}
				e := join(t, pipePair, &lineServer{}, far, edit)
				for _, text := range []string{"a", "b", "slow", "c"} {
					if err := e.call(t.Context(), text, text); err != nil {
						t.Fatal(err)
					}
					time.Sleep(idle * 3 / 4)
				}
				if n := e.dials.Load(); n != 1 {
					t.Errorf("there were %d connections", n)
				}
				begin := time.Now()
				<-e.conn.Context().Done()
				if d := time.Since(begin); d < idle/4-few || d > idle/4+few {
					t.Errorf("closed after %v more", d)
				}
				if err := e.call(t.Context(), "a", "a"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A server that stops within a frame is given up, also by a client that waits.
func TestServerStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := overPipe(t)
		done := start(t.Context(), client, &lineCall{text: "x"})
		wantLine(t, bufio.NewReader(conn), "1 call x")
		begin := time.Now()
		if _, err := io.WriteString(conn, "1 rep"); err != nil {
			t.Fatal(err)
		}
		wantStatus(t, <-done, codes.Unavailable, "the peer stopped in the middle of a frame")
		if d := time.Since(begin); d != 30*time.Second {
			t.Errorf("given up after %v", d)
		}
	})
}

// A client that has run a call of the server's still gives large replies to
// those that wait for them.
func TestLargeReplyAfterPeersCall(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		const size = 20_000
		far := &lineServer{handle: func(ctx context.Context, text string) string {
			back := &lineCall{text: text}
			if _, err := connOf(ctx).Do(ctx, back); err != nil {
				return err.Error()
			}
			return strings.Repeat(strings.TrimSpace(back.reply[len(back.reply)-2:]), size)
		}}
		e := join(t, pair, &lineServer{handle: echo}, far, edits{})
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 50 {
					text := strconv.Itoa((g + i) % 10)
					if err := e.call(t.Context(), text, strings.Repeat(text, size)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}
