package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everywire/everywire/wire/internal/stream"
)

// The protocol of these tests: a frame is a line "ID WORD TEXT". Requests are
// "call" and "cancel", and "tell", which nobody answers; answers are "part" and
// "reply". The scan position shows that no byte is scanned twice.

type lines struct {
	scanned int
	total   int // of bytes scanned
}

func (l *lines) Next(buf []byte) (from, to int, err error) {
	if l.scanned == 0 {
		for from < len(buf) && buf[from] == ' ' {
			from++
		}
		buf = buf[from:]
	}
	if len(buf) > 0 && buf[0] == '!' {
		return 0, 0, errors.New("a line cannot begin with !")
	}
	i := bytes.IndexByte(buf[l.scanned:], '\n')
	if i < 0 {
		l.total += len(buf) - l.scanned
		l.scanned = len(buf)
		return from, 0, nil
	}
	to = from + l.scanned + i + 1
	l.total += i + 1
	l.scanned = 0
	return from, to, nil
}

func split(frame []byte) (id uint32, word, text string, err error) {
	f := strings.SplitN(strings.TrimSuffix(string(frame), "\n"), " ", 3)
	n, err := strconv.ParseUint(f[0], 10, 32)
	if err != nil || len(f) != 3 {
		return 0, "", "", fmt.Errorf("not a line of ours: %q", frame)
	}
	return uint32(n), f[1], f[2], nil
}

type lineClient struct{ lines }

func (c *lineClient) Receive(frame []byte) (stream.Frame, error) {
	id, word, _, err := split(frame)
	switch word {
	case "reply":
		return stream.Frame{Kind: stream.Reply, ID: id}, err
	case "part":
		return stream.Frame{Kind: stream.Part, ID: id}, err
	}
	return stream.Frame{}, err
}

func (c *lineClient) RouteTooLong(head []byte) (uint32, bool) {
	digits, _, _ := strings.Cut(string(head), " ")
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil
}

func (c *lineClient) LastWords(_ []byte, _ error, dst []byte) []byte { return dst }

func openLineClient(*stream.Conn) stream.Session { return new(lineClient) }

// A lineCall sends text and keeps the reply.
type lineCall struct {
	text     string
	max      int
	repeat   bool
	appended error
	id       uint32
	reply    string
}

func (c *lineCall) Append(dst []byte, id uint32) ([]byte, error) {
	c.id = id
	return fmt.Appendf(dst, "%d call %s\n", id, c.text), c.appended
}
func (c *lineCall) AppendCancel(dst []byte, id uint32) []byte {
	return fmt.Appendf(dst, "%d cancel -\n", id)
}
func (c *lineCall) MaxFrame() int   { return c.max }
func (c *lineCall) MayRepeat() bool { return c.repeat }
func (c *lineCall) Read(reply []byte) error {
	c.reply = string(reply)
	return nil
}

// A lineServer answers each call with what handle returns.
type lineServer struct {
	handle func(ctx context.Context, text string) (reply string)
	told   func(text string)
	pace   stream.Pace

	mu   sync.Mutex
	open []*lineSession
}

type lineSession struct {
	lines
	srv  *lineServer
	conn *stream.Conn

	mu    sync.Mutex
	calls map[uint32]context.CancelFunc
}

func (s *lineServer) session(c *stream.Conn) stream.Session {
	ls := &lineSession{srv: s, conn: c, calls: map[uint32]context.CancelFunc{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, ls)
	return ls
}

type lineTask struct {
	session *lineSession
	ctx     context.Context // of the call that this is
	id      uint32
	text    string
	tell    bool
}

func (s *lineSession) Receive(frame []byte) (stream.Frame, error) {
	id, word, text, err := split(frame)
	if err != nil {
		return stream.Frame{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch word {
	case "cancel":
		if cancel := s.calls[id]; cancel != nil {
			cancel()
		}
		return stream.Frame{}, nil
	case "tell":
		return stream.Frame{Kind: stream.Request, Task: &lineTask{session: s, ctx: s.conn.Context(), text: text, tell: true}}, nil
	case "reply":
		return stream.Frame{Kind: stream.Reply, ID: id}, nil
	}
	ctx, cancel := context.WithCancel(s.conn.Context())
	s.calls[id] = cancel
	return stream.Frame{Kind: stream.Request, Task: &lineTask{session: s, ctx: ctx, id: id, text: text}}, nil
}

func (s *lineSession) RouteTooLong([]byte) (uint32, bool) { return 0, false }

func (s *lineSession) LastWords(_ []byte, err error, dst []byte) []byte {
	return fmt.Appendf(dst, "0 bye %v\n", err)
}

func (t *lineTask) end() {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if cancel := t.session.calls[t.id]; cancel != nil {
		cancel()
	}
	delete(t.session.calls, t.id)
}

func (t *lineTask) Pace() *stream.Pace { return &t.session.srv.pace }

func (t *lineTask) Run(dst []byte) []byte {
	defer t.end()
	if t.tell {
		t.session.srv.told(t.text)
		return dst
	}
	reply := t.session.srv.handle(t.ctx, t.text)
	if t.ctx.Err() != nil {
		return dst
	}
	return fmt.Appendf(dst, "%d reply %s\n", t.id, reply)
}

func (t *lineTask) Refuse(_ error, dst []byte) []byte {
	t.end()
	return fmt.Appendf(dst, "%d reply refused\n", t.id)
}

func (t *lineTask) Abort(dst []byte) []byte {
	return fmt.Appendf(dst, "%d reply aborted\n", t.id)
}

func echo(_ context.Context, text string) string { return text }

// serve starts a server on a loopback port and gives it back with a client.
func serve(t *testing.T, ls *lineServer, edit ...func(*stream.ServerConfig)) (*stream.Server, *stream.Client, string) {
	t.Helper()
	cfg := stream.ServerConfig{Open: ls.session, MaxFrame: 1 << 20, MaxInFlight: 100}
	for _, f := range edit {
		f(&cfg)
	}
	srv := stream.NewServer(cfg)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	client := dialer(lis.Addr().String())
	t.Cleanup(func() {
		client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return srv, client, lis.Addr().String()
}

func dialer(addr string) *stream.Client {
	return stream.NewClient(stream.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
		Open:     openLineClient,
		MaxFrame: 1 << 20,
	})
}

func TestCall(t *testing.T) {
	_, client, _ := serve(t, &lineServer{handle: echo})
	for _, text := range []string{"a", "", strings.Repeat("long", 100_000)} {
		call := &lineCall{text: text}
		p, err := client.Do(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%d reply %s\n", call.id, text); call.reply != want {
			t.Errorf("reply is %.40q, want %.40q", call.reply, want)
		}
		if p == nil || p.Addr == nil {
			t.Error("no peer")
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	_, client, _ := serve(t, &lineServer{handle: echo})
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Go(func() {
			for i := range 100 {
				call := &lineCall{text: fmt.Sprintf("%d/%d %s", g, i, strings.Repeat("x", i*i))}
				if _, err := client.Do(t.Context(), call); err != nil {
					t.Error(err)
					return
				}
				if want := fmt.Sprintf("%d reply %s\n", call.id, call.text); call.reply != want {
					t.Errorf("reply is %.40q, want %.40q", call.reply, want)
				}
			}
		})
	}
	wg.Wait()
}
