package stream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// overPipe gives a client whose one connection is a pipe, and the other end.
func overPipe(t *testing.T) (*stream.Client, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	var dials atomic.Int32
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(context.Context) (net.Conn, error) {
			if dials.Add(1) > 1 {
				return nil, &rpc.DialError{Target: "the pipe", Err: errors.New("there is one only")}
			}
			return ours, nil
		},
		Open:     openLineClient,
		MaxFrame: 1000,
	})
	t.Cleanup(func() {
		client.Close()
		theirs.Close()
	})
	return client, theirs
}

// start runs a call in the background.
func start(ctx context.Context, c *stream.Client, call *lineCall) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := c.Do(ctx, call)
		done <- err
	}()
	return done
}

func wantStatus(t *testing.T, err error, c codes.Code, text string) {
	t.Helper()
	if status.Code(err) != c || !strings.Contains(err.Error(), text) {
		t.Errorf("error is %v, want %v with %q", err, c, text)
	}
}

func wantLine(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	if line, err := r.ReadString('\n'); err != nil || line != want+"\n" {
		t.Fatalf("read %q, %v; want %q", line, err, want)
	}
}

// A reply that is cut anywhere, or comes with others, gives the same result.
func TestReplyCutAnywhere(t *testing.T) {
	const wire = " 9 part of nobody's\n1 part a\n7 news b\n1 part c\n1 reply d\n  2 reply late\n"
	const want = "1 part a\n1 part c\n1 reply d\n"
	for cut := range len(wire) + 1 {
		client, conn := overPipe(t)
		call := &lineCall{text: "x"}
		done := start(t.Context(), client, call)
		wantLine(t, bufio.NewReader(conn), "1 call x")
		for _, s := range []string{wire[:cut], wire[cut:]} {
			if s == "" {
				continue
			}
			if _, err := io.WriteString(conn, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-done; err != nil || call.reply != want {
			t.Errorf("cut at %d: %q, %v", cut, call.reply, err)
		}
	}
}

func TestAppendFails(t *testing.T) {
	_, client, _ := serve(t, &lineServer{handle: echo})
	want := errors.New("cannot be encoded")
	if _, err := client.Do(t.Context(), &lineCall{appended: want}); !errors.Is(err, want) {
		t.Errorf("error is %v", err)
	}
	if _, err := client.Do(t.Context(), &lineCall{text: "next"}); err != nil {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	client, conn := overPipe(t)
	r := bufio.NewReader(conn)
	ctx, cancel := context.WithCancel(t.Context())
	done := start(ctx, client, &lineCall{text: "slow"})
	wantLine(t, r, "1 call slow")
	cancel()
	wantLine(t, r, "1 cancel -")
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	// The late reply is dropped, and the connection is still good.
	call := &lineCall{text: "quick"}
	done = start(t.Context(), client, call)
	wantLine(t, r, "2 call quick")
	if _, err := io.WriteString(conn, "1 reply late\n2 reply now\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || call.reply != "2 reply now\n" {
		t.Errorf("got %q, %v", call.reply, err)
	}
}

func TestCancelReachesHandler(t *testing.T) {
	running, ended := make(chan struct{}), make(chan struct{})
	_, client, _ := serve(t, &lineServer{handle: func(ctx context.Context, _ string) string {
		close(running)
		<-ctx.Done()
		close(ended)
		return ""
	}})
	ctx, cancel := context.WithCancel(t.Context())
	done := start(ctx, client, &lineCall{})
	<-running
	cancel()
	<-ended
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// Whoever wins the race of reply and cancellation: the caller gets its own
// reply or the context's error.
func TestCancelRacesReply(t *testing.T) {
	_, client, _ := serve(t, &lineServer{handle: echo})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				call := &lineCall{text: strconv.Itoa(i)}
				_, err := client.Do(ctx, call)
				switch {
				case err == nil && call.reply != fmt.Sprintf("%d reply %d\n", call.id, i):
					t.Errorf("a wrong reply: %q", call.reply)
				case err != nil && !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

func TestConnectionBreaks(t *testing.T) {
	client, conn := overPipe(t)
	first := start(t.Context(), client, &lineCall{text: "one"})
	wantLine(t, bufio.NewReader(conn), "1 call one")
	conn.Close()
	wantStatus(t, <-first, codes.Unavailable, "after the request was written; it may have run")
}

// Part of a request cannot run.
func TestConnectionBreaksInRequest(t *testing.T) {
	client, conn := overPipe(t)
	done := start(t.Context(), client, &lineCall{text: "one"})
	if _, err := conn.Read(make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	wantStatus(t, <-done, codes.Unavailable, "before the request was written; it did not run")
}

func TestRedial(t *testing.T) {
	var dials atomic.Int32
	ends := make(chan net.Conn, 10)
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(context.Context) (net.Conn, error) {
			if dials.Add(1) == 1 {
				return nil, &rpc.DialError{Target: "x", Err: errors.New("refused")}
			}
			ours, theirs := net.Pipe()
			ends <- theirs
			return ours, nil
		},
		Open:     openLineClient,
		MaxFrame: 1000,
	})
	defer client.Close()
	_, err := client.Do(t.Context(), &lineCall{})
	var unreachable *rpc.DialError
	if !errors.As(err, &unreachable) {
		t.Fatalf("error is %v, want the DialError", err)
	}
	for range 3 {
		done := start(t.Context(), client, &lineCall{text: "x"})
		conn := <-ends
		wantLine(t, bufio.NewReader(conn), "1 call x")
		conn.Close()
		wantStatus(t, <-done, codes.Unavailable, "may have run")
	}
}

func TestServerSendsGarbage(t *testing.T) {
	for _, garbage := range []string{"!\n", "x reply y\n"} {
		client, conn := overPipe(t)
		done := start(t.Context(), client, &lineCall{text: "x"})
		wantLine(t, bufio.NewReader(conn), "1 call x")
		go io.WriteString(conn, garbage) // the client may close first
		wantStatus(t, <-done, codes.Unavailable, "may have run")
	}
}

func TestReplyTooLong(t *testing.T) {
	client, conn := overPipe(t)
	r := bufio.NewReader(conn)
	long := start(t.Context(), client, &lineCall{text: "a"})
	wantLine(t, r, "1 call a")
	other := start(t.Context(), client, &lineCall{text: "b"})
	wantLine(t, r, "2 call b")
	go io.WriteString(conn, "1 reply "+strings.Repeat("x", 1001)+"\n") // the client closes
	wantStatus(t, <-long, codes.ResourceExhausted, "larger than max (1000)")
	wantStatus(t, <-other, codes.Unavailable, "may have run")
}

// A call may take a longer reply than its client's limit.
func TestCallRaisesLimit(t *testing.T) {
	client, conn := overPipe(t)
	call := &lineCall{text: "a", max: 3000}
	done := start(t.Context(), client, call)
	wantLine(t, bufio.NewReader(conn), "1 call a")
	want := "1 reply " + strings.Repeat("x", 2000) + "\n"
	if _, err := io.WriteString(conn, want); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || call.reply != want {
		t.Errorf("got %d bytes, %v", len(call.reply), err)
	}
}

// A server that goes on sending parts of a reply does not fill the memory.
func TestPartsAreBounded(t *testing.T) {
	client, conn := overPipe(t)
	done := start(t.Context(), client, &lineCall{text: "a"})
	wantLine(t, bufio.NewReader(conn), "1 call a")
	go func() {
		part := "1 part " + strings.Repeat("x", 900) + "\n"
		for {
			if _, err := io.WriteString(conn, part); err != nil {
				return
			}
		}
	}()
	wantStatus(t, <-done, codes.ResourceExhausted, "larger than max (1000)")
}

func TestClose(t *testing.T) {
	client, conn := overPipe(t)
	done := start(t.Context(), client, &lineCall{text: "a"})
	wantLine(t, bufio.NewReader(conn), "1 call a")
	client.Close()
	wantStatus(t, <-done, codes.Canceled, "the client connection is closing")
	_, err := client.Do(t.Context(), &lineCall{})
	wantStatus(t, err, codes.Canceled, "the client connection is closing")
}

// A client that is closed opens no connection, which it would only close again.
func TestPerCallAfterClose(t *testing.T) {
	e := join(t, pipePair, &lineServer{}, &lineServer{}, edits{client: func(cfg *stream.ClientConfig) { cfg.PerCall = true }})
	e.client.Close()
	if _, err := e.client.Do(t.Context(), &lineCall{text: "x"}); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	if n := e.dials.Load(); n != 0 {
		t.Errorf("%d connections were opened", n)
	}
}

func TestCloseWhileDialing(t *testing.T) {
	dialing := make(chan struct{})
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	done := start(t.Context(), client, &lineCall{})
	<-dialing
	client.Close()
	wantStatus(t, <-done, codes.Canceled, "the client connection is closing")
}

// One caller's context does not end the dialling that others wait for.
func TestDialIsShared(t *testing.T) {
	release := make(chan struct{})
	ours, theirs := net.Pipe()
	defer theirs.Close()
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			select {
			case <-release:
				return ours, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Open:     openLineClient,
		MaxFrame: 1000,
	})
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	first := start(ctx, client, &lineCall{text: "x"})
	second := start(t.Context(), client, &lineCall{text: "y"})
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v", err)
	}
	close(release)
	wantLine(t, bufio.NewReader(theirs), "1 call y")
	if _, err := io.WriteString(theirs, "1 reply z\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Errorf("second: %v", err)
	}
}

func TestSend(t *testing.T) {
	told := make(chan string, 1)
	_, client, _ := serve(t, &lineServer{told: func(s string) { told <- s }})
	_, err := client.Send(t.Context(), func(dst []byte) ([]byte, error) { return append(dst, "0 tell all\n"...), nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != "all" {
		t.Errorf("told %q", got)
	}
}

// Send waits for the socket, and its caller's context ends the wait.
func TestSendToDeafPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := overPipe(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := client.Send(ctx, func(dst []byte) ([]byte, error) { return append(dst, "0 tell all\n"...), nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		want := errors.New("cannot be encoded")
		if _, err := client.Send(t.Context(), func(dst []byte) ([]byte, error) { return dst, want }); !errors.Is(err, want) {
			t.Errorf("error is %v", err)
		}
		// What was begun is still sent, whole.
		wantLine(t, bufio.NewReader(conn), "0 tell all")
		client.Close()
		_, err = client.Send(t.Context(), func(dst []byte) ([]byte, error) { return dst, nil })
		wantStatus(t, err, codes.Canceled, "closing")
	})
}

// A peer that does not read holds no caller beyond its context, be it one that
// writes or one that waits for the queue; after the write timeout it is given
// up.
func TestPeerDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := overPipe(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		short := make([]<-chan error, 0, 5)
		for range 5 {
			short = append(short, start(ctx, client, &lineCall{text: strings.Repeat("x", 500_000)}))
		}
		begin := time.Now()
		long := start(t.Context(), client, &lineCall{text: "long"})
		for _, done := range short {
			if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error is %v", err)
			}
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the calls ended after %v", d)
		}
		wantStatus(t, <-long, codes.Unavailable, "did not read for 30s")
		if d := time.Since(begin); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("the connection was closed after %v", d)
		}
		client.Close()
		conn.Close()
	})
}

// Random calls, replies in random order, cancellations and lost connections:
// each call ends once, with its own reply or a reason that fits.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		callers := rapid.IntRange(1, 8).Draw(rt, "callers")
		breaks := rapid.IntRange(0, 3).Draw(rt, "breaks")
		rng := rand.New(rand.NewPCG(seed, 0))
		var mu sync.Mutex
		random := func(n int) int {
			mu.Lock()
			defer mu.Unlock()
			return rng.IntN(n)
		}
		ends := make(chan net.Conn, 100)
		client := stream.NewClient(stream.ClientConfig{
			Dial: func(context.Context) (net.Conn, error) {
				ours, theirs := net.Pipe()
				ends <- theirs
				return ours, nil
			},
			Open:     openLineClient,
			MaxFrame: 1000,
		})
		servers := make(chan struct{})
		go func() {
			defer close(servers)
			for conn := range ends {
				die := -1
				if breaks > 0 {
					breaks--
					die = random(20)
				}
				reorder(conn, random, die)
			}
		}()
		var wg sync.WaitGroup
		for g := range callers {
			wg.Go(func() {
				for i := range 10 {
					ctx, cancel := context.WithCancel(context.Background())
					if random(4) == 0 {
						go cancel()
					}
					call := &lineCall{text: fmt.Sprintf("%d-%d", g, i)}
					_, err := client.Do(ctx, call)
					cancel()
					switch {
					case err == nil && call.reply != fmt.Sprintf("%d reply %s\n", call.id, call.text):
						rt.Errorf("call %s got %q", call.text, call.reply)
					case err != nil && !errors.Is(err, context.Canceled) && status.Code(err) != codes.Unavailable:
						rt.Errorf("call %s: %v", call.text, err)
					}
				}
			})
		}
		wg.Wait()
		client.Close()
		close(ends)
		<-servers
	})
}

// reorder answers requests in random order, in pieces, until the connection
// ends or die requests have come.
func reorder(conn net.Conn, random func(int) int, die int) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	var held []string
	for n := 0; n != die; n++ {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		id, word, text, _ := split([]byte(line))
		if word == "call" {
			held = append(held, fmt.Sprintf("%d reply %s\n", id, text))
		}
		for len(held) > 0 && (r.Buffered() == 0 || random(2) == 0) {
			i := random(len(held))
			cut := random(len(held[i]))
			for _, s := range []string{held[i][:cut], held[i][cut:]} {
				if _, err := io.WriteString(conn, s); err != nil {
					return
				}
			}
			held = append(held[:i], held[i+1:]...)
		}
	}
}
