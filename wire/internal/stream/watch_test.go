package stream_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire/wire/internal/stream"
)

// The watch sleeps when nothing happens, whatever is still open or waited for.
func TestWatchSleeps(t *testing.T) {
	type state struct {
		*ends
		release chan struct{}
	}
	for name, reach := range map[string]func(t *testing.T, s state){
		"after a call": func(t *testing.T, s state) {
			if err := s.call(t.Context(), "a", "a"); err != nil {
				t.Error(err)
			}
		},
		"a slow handler and its caller": func(t *testing.T, s state) {
			start(t.Context(), s.client, &lineCall{text: "wait"})
		},
		"callers of whom one leads": func(t *testing.T, s state) {
			for range 3 {
				start(t.Context(), s.client, &lineCall{text: "wait"})
			}
		},
		"a caller that does not end": func(_ *testing.T, s state) {
			start(context.Background(), s.client, &lineCall{text: "wait"})
		},
		"a handler that calls back": func(t *testing.T, s state) {
			start(t.Context(), s.client, &lineCall{text: "back"})
		},
		"an open stream": func(t *testing.T, s state) {
			flow, _, err := openLine(t.Context(), s.client)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(flow.Cancel)
		},
		"a connection that the client has closed": func(t *testing.T, s state) {
			if err := s.call(t.Context(), "a", "a"); err != nil {
				t.Error(err)
			}
			s.client.Close()
		},
		"a connection that the server has closed": func(t *testing.T, s state) {
			if err := s.call(t.Context(), "a", "a"); err != nil {
				t.Error(err)
			}
			if err := s.server.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"no room for a task": func(t *testing.T, s state) {
			for range 6 {
				start(t.Context(), s.client, &lineCall{text: "wait"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := state{release: make(chan struct{})}
				wait := func(_ context.Context, text string) string {
					<-s.release
					return text
				}
				far := &lineServer{
					handle: func(ctx context.Context, text string) string {
						switch text {
						case "wait":
							return wait(ctx, text)
						case "back":
							_, _ = connOf(ctx).Do(ctx, &lineCall{text: "wait"}) // it ends with the test
						}
						return text
					},
					flow: func(ctx context.Context, flow *lineStream) string {
						_, _ = flow.recv(ctx) // it ends with the test
						return ""
					},
				}
				s.ends = join(t, pipePair, &lineServer{handle: wait}, far, edits{server: func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 5 }})
				t.Cleanup(func() { close(s.release) })
				reach(t, s)
				time.Sleep(20 * tick)
				synctest.Wait()
				if !s.client.WatchSleeps() {
					t.Error("the client's watch looks")
				}
				if !s.server.WatchSleeps() {
					t.Error("the server's watch looks")
				}
			})
		})
	}
}

// It wakes up for what begins while it sleeps.
func TestWatchWakesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: func(_ context.Context, text string) string {
			if text == "slow" {
				time.Sleep(time.Minute)
			}
			return text
		}}
		srv, conn, ended := onPipe(far)
		r := bufio.NewReader(conn)
		for range 3 {
			time.Sleep(time.Second)
			if !srv.WatchSleeps() {
				t.Error("the watch looks at an idle connection")
			}
			begin := time.Now()
			if _, err := io.WriteString(conn, "1 call slow\n2 call fast\n"); err != nil {
				t.Fatal(err)
			}
			wantLine(t, r, "2 reply fast")
			if d := time.Since(begin); d > 2*tick {
				t.Errorf("the fast reply took %v", d)
			}
			wantLine(t, r, "1 reply slow")
		}
		conn.Close()
		<-ended
	})
}

// A client that makes a connection for each call keeps none, nor anything that
// looks at them.
func TestConnectionPerCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: echo, flow: func(context.Context, *lineStream) string { return "done" }}
		e := join(t, pipePair, &lineServer{}, far, edits{client: func(cfg *stream.ClientConfig) { cfg.PerCall = true }})
		const calls = 10
		for range calls {
			if err := e.call(t.Context(), "a", "a"); err != nil {
				t.Fatal(err)
			}
			flow, call, err := openLine(t.Context(), e.client)
			if err != nil {
				t.Fatal(err)
			}
			if n := e.client.Conns(); n != 1 {
				t.Errorf("there are %d connections in a call", n)
			}
			if err := flow.Reply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := call.check("done"); err != nil {
				t.Error(err)
			}
			if n := e.client.Conns(); n != 0 {
				t.Errorf("there are %d connections after a call", n)
			}
		}
		if n := e.dials.Load(); n != 2*calls {
			t.Errorf("there were %d connections for %d calls", n, 2*calls)
		}
		time.Sleep(few)
		if !e.client.WatchSleeps() {
			t.Error("the watch looks at connections that are closed")
		}
	})
}

// A call that begins when the client was idle for long does not run into the
// connection that the server has closed meanwhile.
func TestServerClosesIdleConnections(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		e := join(t, pair, &lineServer{}, &lineServer{handle: echo}, edits{server: func(cfg *stream.ServerConfig) { cfg.Idle = few }})
		for i := range 5 {
			if err := e.call(t.Context(), "a", "a"); err != nil {
				t.Error(err)
			}
			<-e.conn.Context().Done()
			if n := int(e.dials.Load()); n != i+1 {
				t.Errorf("there were %d connections", n)
			}
		}
	})
}
