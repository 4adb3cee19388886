package stream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire/wire/internal/stream"
)

// Tasks on the reading goroutine, and what happens when they stay there.

// A handler that takes long holds neither the requests behind it nor the
// replies before it for more than a tick or two.
func TestSlowHandlerHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: func(_ context.Context, text string) string {
			if text == "slow" {
				time.Sleep(time.Second)
			}
			return text
		}}
		_, conn, ended := onPipe(far)
		r := bufio.NewReader(conn)
		begin := time.Now()
		if _, err := io.WriteString(conn, "1 call before\n2 call slow\n3 call after\n4 ca"); err != nil {
			t.Fatal(err)
		}
		wantLine(t, r, "1 reply before")
		wantLine(t, r, "3 reply after")
		if d := time.Since(begin); d > 2*tick {
			t.Errorf("the others were held for %v", d)
		}
		if _, err := io.WriteString(conn, "ll cut\n"); err != nil {
			t.Fatal(err)
		}
		wantLine(t, r, "4 reply cut")
		wantLine(t, r, "2 reply slow")
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the slow reply came after %v", d)
		}
		conn.Close()
		<-ended
	})
}

// A handler may call its peer over the connection that its own call came on,
// and that handler may do the same, to any depth.
func TestHandlersCallBack(t *testing.T) {
	everyConn(t, func(t *testing.T, pair func() (net.Conn, net.Conn, error)) {
		descend := func(ctx context.Context, text string) string {
			depth, err := strconv.Atoi(text)
			if err != nil || depth == 0 {
				return text
			}
			call := &lineCall{text: strconv.Itoa(depth - 1)}
			if _, err := connOf(ctx).Do(ctx, call); err != nil {
				return err.Error()
			}
			_, _, reply, _ := split([]byte(call.reply))
			return text + " " + reply
		}
		e := join(t, pair, &lineServer{handle: descend}, &lineServer{handle: descend}, edits{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 20 {
					if err := e.call(t.Context(), "6", "6 5 4 3 2 1 0"); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// A lone handler that calls back finds its reply though nothing else may run.
func TestCallsBackWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: func(ctx context.Context, text string) string {
			call := &lineCall{text: text}
			if _, err := connOf(ctx).Do(ctx, call); err != nil {
				return err.Error()
			}
			return "got " + strings.TrimSpace(call.reply)
		}}
		_, conn, ended := onPipe(far, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 1 })
		r := bufio.NewReader(conn)
		// The second request is behind the first one: its goroutine waits for room.
		if _, err := io.WriteString(conn, "7 call a\n8 call b\n"); err != nil {
			t.Fatal(err)
		}
		wantLine(t, r, "1 call a")
		if _, err := io.WriteString(conn, "1 reply x\n"); err != nil {
			t.Fatal(err)
		}
		// It was refused or runs now, according to who read it.
		for range 2 {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			switch line {
			case "7 reply got 1 reply x\n", "8 reply refused\n":
			default:
				t.Errorf("read %q", line)
			}
		}
		conn.Close()
		<-ended
	})
}

// The same if a reader of the connection's own has read that second request: it
// waits for room, and leaves the reading to the handler that waits.
func TestCallsBackWhileReaderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: func(ctx context.Context, text string) string {
			time.Sleep(few) // meanwhile another one reads
			call := &lineCall{text: text}
			if _, err := connOf(ctx).Do(ctx, call); err != nil {
				return err.Error()
			}
			return "got " + strings.TrimSpace(call.reply)
		}}
		_, conn, ended := onPipe(far, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 1 })
		r := bufio.NewReader(conn)
		send := func(s string) {
			if _, err := io.WriteString(conn, s); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		send("7 call a\n")
		wantLine(t, r, "1 call a")
		send("8 call b\n")
		send("1 reply x\n")
		wantLine(t, r, "7 reply got 1 reply x")
		wantLine(t, r, "2 call b")
		send("2 reply y\n")
		wantLine(t, r, "8 reply got 2 reply y")
		conn.Close()
		<-ended
	})
}

// A task that panics or ends its goroutine is answered wherever it runs, and
// leaves nothing behind.
func TestTasksThatDoNotReturn(t *testing.T) {
	leaves := map[string]func(){"panic": func() { panic("in a task") }, "goexit": runtime.Goexit}
	for name, leave := range leaves {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := &lineServer{handle: func(ctx context.Context, text string) string {
					how, _, _ := strings.Cut(text, " ")
					switch how {
					case "back":
						if _, err := connOf(ctx).Do(ctx, &lineCall{text: "x"}); err != nil {
							t.Error(err)
						}
						leave()
					case "late":
						time.Sleep(time.Second)
						leave()
					case "slow":
						time.Sleep(time.Second)
					case "leave":
						leave()
					}
					return text
				}}
				e := join(t, pipePair, &lineServer{handle: echo}, far, edits{server: func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 2 }})
				steps := []string{"leave", "stay", "late", "stay", "back", "stay", "slow", "slow", "slow", "slow", "leave apart", "late apart", "back apart", "stay"}
				for _, text := range steps {
					want := text
					if how, _, _ := strings.Cut(text, " "); how != "stay" && how != "slow" {
						want = "aborted"
					}
					if err := e.call(t.Context(), text, want); err != nil {
						t.Error(err)
					}
				}
				if n := e.dials.Load(); n != 1 {
					t.Errorf("there were %d connections", n)
				}
			})
		})
	}
}

// A handler that never returns counts as in flight, holds nobody else, and
// holds Shutdown only as long as its context lasts.
func TestHandlerNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		far := &lineServer{handle: func(_ context.Context, text string) string {
			if text == "never" {
				<-release
			}
			return text
		}}
		srv, conn, ended := onPipe(far, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 2 })
		r := bufio.NewReader(conn)
		if _, err := io.WriteString(conn, "1 call never\n2 call a\n3 call b\n"); err != nil {
			t.Fatal(err)
		}
		wantLine(t, r, "2 reply a")
		wantLine(t, r, "3 reply b")
		if _, tasks, _ := far.open[0].conn.InFlight(); tasks != 1 {
			t.Errorf("%d tasks run", tasks)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		if err := srv.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("Shutdown returned after %v", d)
		}
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("then came %q, %v", rest, err)
		}
		close(release)
		<-ended
	})
}

// A held connection gives what it has read when the test says so.
type held struct {
	net.Conn
	reads   int
	release chan struct{}
}

func (h *held) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	if h.reads++; h.reads > 1 {
		<-h.release
	}
	return n, err
}

// A connection that Shutdown cuts off while a handler reads it, and has just
// got bytes, ends all the same.
func TestShutdownCutsOffHandlerThatReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: func(ctx context.Context, text string) string {
			_, err := connOf(ctx).Do(ctx, &lineCall{text: text})
			return fmt.Sprint(err)
		}}
		release := make(chan struct{})
		ours, theirs := net.Pipe()
		srv := stream.NewServer(stream.ServerConfig{Open: far.session, MaxFrame: 1000, MaxInFlight: 1})
		ended := make(chan struct{})
		go func() {
			srv.ServeConn(&held{Conn: theirs, release: release})
			close(ended)
		}()
		if _, err := io.WriteString(ours, "1 call back\n"); err != nil {
			t.Fatal(err)
		}
		wantLine(t, bufio.NewReader(ours), "1 call back")
		if _, err := io.WriteString(ours, "2 ca"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown returned %v", err)
		}
		close(release)
		<-ended
		ours.Close()
	})
}

// Notifications are told in the order in which they came.
func TestNotificationsKeepOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		far := &lineServer{handle: echo, told: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, text)
		}}
		e := join(t, pipePair, &lineServer{}, far, edits{})
		const many = 3000
		for i := range many {
			if _, err := e.client.Send(t.Context(), func(dst []byte) ([]byte, error) { return fmt.Appendf(dst, "0 tell %d\n", i), nil }); err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				if err := e.call(t.Context(), "between", "between"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := e.call(t.Context(), "last", "last"); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(told) != many {
			t.Errorf("%d of %d came", len(told), many)
		}
		for i, text := range told {
			if text != strconv.Itoa(i) {
				t.Fatalf("%q came at place %d", text, i)
			}
		}
	})
}

// A peer that sends requests and does not read the replies is not read from any
// more when maxInFlight writes wait, and is given up after the write timeout.
func TestPeerSendsAndDoesNotRead(t *testing.T) {
	for name, reply := range map[string]string{"short": "x", "long": strings.Repeat("x", 3000)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := &lineServer{handle: func(context.Context, string) string { return reply }}
				_, conn, ended := onPipe(far, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 10 })
				begin := time.Now()
				go func() {
					for i := 0; ; i++ {
						if _, err := fmt.Fprintf(conn, "%d call x\n", i); err != nil {
							return
						}
					}
				}()
				time.Sleep(20 * time.Second)
				synctest.Wait()
				c := far.open[0].conn
				if _, tasks, _ := c.InFlight(); tasks > 10 {
					t.Errorf("%d tasks and writes wait", tasks)
				}
				if n := runtime.NumGoroutine(); n > 100 {
					t.Errorf("there are %d goroutines", n)
				}
				if n := c.Queued(); n > 2<<20 {
					t.Errorf("%d bytes are queued", n)
				}
				<-ended
				if d := time.Since(begin); d > 31*time.Second {
					t.Errorf("given up after %v", d)
				}
				conn.Close()
			})
		})
	}
}

// The same while a handler of this end waits for a call of its own, and so
// reads: what it has no room for is refused, and not without bound.
func TestPeerFloodsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{handle: func(ctx context.Context, _ string) string {
			_, err := connOf(ctx).Do(ctx, &lineCall{text: "nobody answers"})
			return fmt.Sprint(err)
		}}
		_, conn, ended := onPipe(far, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 10 })
		begin := time.Now()
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(conn, "%d call x\n", i); err != nil {
				break
			}
			if i%10_000 == 0 {
				synctest.Wait()
				c := far.open[0].conn
				if _, tasks, _ := c.InFlight(); tasks > 10 {
					t.Fatalf("%d tasks run", tasks)
				}
				if n := c.Queued(); n > 3<<20 {
					t.Fatalf("%d bytes are queued", n)
				}
			}
		}
		conn.Close()
		<-ended
		if d := time.Since(begin); d > 31*time.Second {
			t.Errorf("given up after %v", d)
		}
	})
}
