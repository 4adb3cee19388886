package stream_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/everywire/everywire/wire/internal/stream"
)

// onPipe serves one end of a pipe and returns the other; ended is closed when
// the server has closed its end.
func onPipe(ls *lineServer, edit ...func(*stream.ServerConfig)) (srv *stream.Server, conn net.Conn, ended <-chan struct{}) {
	cfg := stream.ServerConfig{Open: ls.session, MaxFrame: 1000, MaxInFlight: 100, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range edit {
		f(&cfg)
	}
	srv = stream.NewServer(cfg)
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		srv.ServeConn(theirs)
		close(done)
	}()
	return srv, ours, done
}

func logTo(w io.Writer) func(*stream.ServerConfig) {
	return func(cfg *stream.ServerConfig) { cfg.Logger = slog.New(slog.NewTextHandler(w, nil)) }
}

func TestRequestCutAnywhere(t *testing.T) {
	const wire = "  7 call one\n8 call two\n"
	for cut := range len(wire) + 1 {
		_, conn, ended := onPipe(&lineServer{handle: echo}, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 1 })
		go func() {
			for _, s := range []string{wire[:cut], wire[cut:]} {
				if s != "" {
					io.WriteString(conn, s) // the replies show it
				}
			}
		}()
		r := bufio.NewReader(conn)
		wantLine(t, r, "7 reply one")
		wantLine(t, r, "8 reply two")
		conn.Close()
		<-ended
	}
}

// A frame that arrives byte by byte is scanned once.
func TestWorkIsLinear(t *testing.T) {
	ls := &lineServer{handle: func(context.Context, string) string { return "ok" }}
	_, conn, ended := onPipe(ls, func(cfg *stream.ServerConfig) { cfg.MaxFrame = 1 << 20 })
	frame := "1 call " + strings.Repeat("x", 100_000) + "\n"
	go func() {
		for i := range len(frame) {
			io.WriteString(conn, frame[i:i+1]) // the reply shows it
		}
	}()
	wantLine(t, bufio.NewReader(conn), "1 reply ok")
	conn.Close()
	<-ended
	if got := ls.open[0].total; got != len(frame) {
		t.Errorf("%d bytes were scanned for a frame of %d", got, len(frame))
	}
}

func TestNotAFrame(t *testing.T) {
	for _, tt := range []struct{ sent, bye string }{
		{"!GET / HTTP/1.1\n", "0 bye a line cannot begin with !"},
		{"GET / HTTP/1.1\n", `0 bye not a line of ours: "GET / HTTP/1.1\n"`},
		{"1 call " + strings.Repeat("x", 1001), "0 bye the frame is longer than the limit of 1000 bytes"},
		{"1 call " + strings.Repeat("x", 1001) + "\n", "0 bye the frame is longer than the limit of 1000 bytes"},
	} {
		var log strings.Builder
		_, conn, ended := onPipe(&lineServer{handle: echo}, logTo(&log))
		go io.WriteString(conn, tt.sent) // the server may close first
		r := bufio.NewReader(conn)
		wantLine(t, r, tt.bye)
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("after the last words: %q, %v", rest, err)
		}
		<-ended
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "closed a connection") {
			t.Errorf("the log is %q", log.String())
		}
	}
}

// The replies to requests that came with what ends the connection go out before
// it ends.
func TestRepliesBeforeTheEnd(t *testing.T) {
	_, conn, ended := onPipe(&lineServer{handle: echo})
	go io.WriteString(conn, "  7 call one\n8 call two\nnonsense\n") // the replies show it
	r := bufio.NewReader(conn)
	wantLine(t, r, "7 reply one")
	wantLine(t, r, "8 reply two")
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "0 bye ") {
		t.Errorf("got %q, %v", line, err)
	}
	<-ended
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conn, ended := onPipe(&lineServer{handle: echo})
		r := bufio.NewReader(conn)
		send := func(s string) {
			if _, err := io.WriteString(conn, s); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(24 * time.Hour) // no timeout before the first frame
		send("1 call a\n   ")
		wantLine(t, r, "1 reply a")
		time.Sleep(24 * time.Hour) // nor between frames
		send("2 ca")
		time.Sleep(20 * time.Second)
		send("ll ") // a byte now and then is no excuse
		begin := time.Now()
		wantLine(t, r, "0 bye the peer stopped in the middle of a frame")
		if d := time.Since(begin); d != 10*time.Second {
			t.Errorf("closed %v after the last byte", d)
		}
		<-ended
		conn.Close()
	})
}

// A peer that sends slowly but steadily is not closed.
func TestSlowFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, conn, ended := onPipe(&lineServer{handle: func(_ context.Context, s string) string { return s[:1] }},
			func(cfg *stream.ServerConfig) { cfg.MaxFrame = 1 << 20 })
		go func() {
			io.WriteString(conn, "1 call ") // the reply shows it
			for range 20 {
				time.Sleep(20 * time.Second)
				io.WriteString(conn, strings.Repeat("x", 20_000)) // the reply shows it
			}
			io.WriteString(conn, "\n") // the reply shows it
		}()
		wantLine(t, bufio.NewReader(conn), "1 reply x")
		conn.Close()
		<-ended
	})
}

// A peer that does not read its replies is closed, and its handlers end.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		canceled := make(chan struct{})
		_, conn, ended := onPipe(&lineServer{handle: func(ctx context.Context, s string) string {
			if s == "wait" {
				<-ctx.Done()
				close(canceled)
			}
			return s
		}})
		if _, err := io.WriteString(conn, "1 call wait\n2 call now\n"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		<-canceled
		<-ended
		if d := time.Since(begin); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("closed after %v", d)
		}
		conn.Close()
	})
}

func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		release := make(chan struct{})
		_, conn, ended := onPipe(&lineServer{handle: func(_ context.Context, s string) string {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return s
		}}, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 3 })
		go func() {
			for i := range 10 {
				fmt.Fprintf(conn, "%d call x\n", i)
			}
		}()
		time.Sleep(time.Second) // those that run on the reading goroutine are taken over
		synctest.Wait()
		mu.Lock()
		if running != 3 {
			t.Errorf("%d handlers run", running)
		}
		mu.Unlock()
		close(release)
		r := bufio.NewReader(conn)
		for range 10 {
			if line, err := r.ReadString('\n'); err != nil || !strings.HasSuffix(line, " reply x\n") {
				t.Errorf("read %q, %v", line, err)
			}
		}
		if most != 3 {
			t.Errorf("at most %d handlers ran", most)
		}
		conn.Close()
		<-ended
	})
}

func TestShutdown(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	srv, client, addr := serve(t, &lineServer{handle: func(ctx context.Context, s string) string {
		if s == "first" {
			close(running)
			<-release
		}
		if ctx.Err() != nil {
			return "canceled"
		}
		return s
	}})
	idle, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	call := &lineCall{text: "first"}
	first := start(t.Context(), client, call)
	<-running
	down := make(chan error, 1)
	go func() { down <- srv.Shutdown(context.Background()) }()
	// An idle connection is closed at once; that shows that draining began.
	if b, err := io.ReadAll(idle); err != nil || len(b) > 0 {
		t.Errorf("the idle connection got %q, %v", b, err)
	}
	idle.Close()
	for refused := false; !refused; { // the two connections are told one after the other
		next := &lineCall{text: "next"}
		if _, err := client.Do(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		refused = strings.HasSuffix(next.reply, "reply refused\n")
	}
	close(release)
	if err := <-first; err != nil || call.reply != "1 reply first\n" {
		t.Errorf("the first call got %q, %v", call.reply, err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	_, err = client.Do(t.Context(), &lineCall{})
	if err == nil {
		t.Error("a call after Shutdown succeeded")
	}
}

func TestShutdownCutsOff(t *testing.T) {
	for range 100 { // the handler's answer and the end of the connection race
		cutOff(t)
	}
}

func cutOff(t *testing.T) {
	running := make(chan struct{})
	srv, client, _ := serve(t, &lineServer{handle: func(ctx context.Context, _ string) string {
		close(running)
		<-ctx.Done()
		return ""
	}})
	done := start(t.Context(), client, &lineCall{text: "x"})
	<-running
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v", err)
	}
	wantStatus(t, <-done, codes.Unavailable, "may have run")
}

// A peer that stops sending ends its handlers' contexts, for it may be gone;
// what they answer is still sent to it.
func TestPeerStopsSending(t *testing.T) {
	_, _, addr := serve(t, &lineServer{told: func(string) {}, handle: func(_ context.Context, s string) string { return s }})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	if _, err := io.WriteString(conn, "5 call first\n"); err != nil {
		t.Fatal(err)
	}
	wantLine(t, r, "5 reply first")
	if _, err := io.WriteString(conn, "6 call in part"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	wantLine(t, r, "0 bye unexpected EOF")
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("then came %q, %v", rest, err)
	}
}

// A peer that is gone ends its handlers.
func TestPeerIsGone(t *testing.T) {
	running, ended := make(chan struct{}), make(chan struct{})
	_, client, _ := serve(t, &lineServer{handle: func(ctx context.Context, _ string) string {
		close(running)
		<-ctx.Done()
		close(ended)
		return ""
	}})
	done := start(t.Context(), client, &lineCall{text: "x"})
	<-running
	client.Close()
	<-ended
	wantStatus(t, <-done, codes.Canceled, "closing")
}

func TestServeAfterShutdown(t *testing.T) {
	srv := stream.NewServer(stream.ServerConfig{})
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(lis); err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if _, err := lis.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

func TestListenerFails(t *testing.T) {
	srv := stream.NewServer(stream.ServerConfig{})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lis.Close()
	if err := srv.Serve(lis); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v", err)
	}
}

func TestTLS(t *testing.T) {
	// httptest brings a certificate for example.com.
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	cert := web.TLS.Certificates[0]
	web.Close()

	var ls lineServer
	ls.handle = echo
	_, plain, addr := serve(t, &ls, func(cfg *stream.ServerConfig) {
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		cfg.Logger = slog.New(slog.DiscardHandler)
	})
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", addr) //nolint:gosec // what is tested is the frames
		},
		Open:     openLineClient,
		MaxFrame: 1 << 20,
	})
	defer client.Close()
	call := &lineCall{text: strings.Repeat("x", 500_000)}
	p, err := client.Do(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.AuthInfo.(credentials.TLSInfo); !ok {
		t.Errorf("the client's peer has %T", p.AuthInfo)
	}
	if _, ok := ls.open[0].conn.Peer().AuthInfo.(credentials.TLSInfo); !ok {
		t.Errorf("the server's peer has %T", ls.open[0].conn.Peer().AuthInfo)
	}
	_, err = plain.Do(t.Context(), &lineCall{text: "cleartext"})
	wantStatus(t, err, codes.Unavailable, "the connection broke")
}

// A task that panics or ends its goroutine is answered, and leaves nothing
// behind: its slot is free and a drain does not wait for it.
func TestTaskThatDoesNotReturn(t *testing.T) {
	for name, leave := range map[string]func(){
		"panic":  func() { panic("in a task") },
		"goexit": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			handle := func(_ context.Context, text string) string {
				if text == "leave" {
					leave()
				}
				return text
			}
			srv, conn, ended := onPipe(&lineServer{handle: handle}, func(cfg *stream.ServerConfig) { cfg.MaxInFlight = 1 })
			r := bufio.NewReader(conn)
			for _, step := range []struct{ send, want string }{
				{"1 call leave\n", "1 reply aborted"},
				{"2 call leave\n", "2 reply aborted"},
				{"3 call stay\n", "3 reply stay"},
			} {
				if _, err := io.WriteString(conn, step.send); err != nil {
					t.Fatal(err)
				}
				wantLine(t, r, step.want)
			}
			if err := srv.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			<-ended
		})
	}
}
