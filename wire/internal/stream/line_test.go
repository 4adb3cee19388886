package stream_test

import (
	"bytes"
	"cmp"
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

// The protocol of these tests: a frame is a line "ID WORD TEXT". Both ends may
// begin calls:
//
//	call, cancel, reply, part   a call, and what answers it
//	last                        a reply behind which the connection is closed
//	tell                        a notification: nobody answers it
//	open, msg, end, grant       a stream, from the end that began it
//	item, credit                the same, from the other one; reply ends it
//
// The scan position shows that no byte is scanned twice.

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

// A lineCall sends text and keeps the reply.
type lineCall struct {
	word     string // "" is "call"
	text     string
	max      int
	repeat   bool
	appended error
	id       uint32
	reply    string
}

func (c *lineCall) Append(dst []byte, id uint32) ([]byte, error) {
	c.id = id
	return fmt.Appendf(dst, "%d %s %s\n", id, cmp.Or(c.word, "call"), c.text), c.appended
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

// A lineServer answers calls of the peer, at either end.
type lineServer struct {
	handle func(ctx context.Context, text string) (reply string)
	told   func(text string)
	flow   func(ctx context.Context, s *lineStream) (reply string)
	pace   stream.Pace

	mu   sync.Mutex
	open []*lineSession
}

// A lineSession is one end of a connection. Without a server it takes no calls.
type lineSession struct {
	lines
	srv  *lineServer
	conn *stream.Conn

	mu      sync.Mutex
	calls   map[uint32]context.CancelFunc
	streams map[uint32]*stream.Stream // that the peer has begun
}

func openLineClient(c *stream.Conn) stream.Session { return &lineSession{conn: c} }

func (s *lineServer) session(c *stream.Conn) stream.Session {
	ls := &lineSession{srv: s, conn: c, calls: map[uint32]context.CancelFunc{}, streams: map[uint32]*stream.Stream{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, ls)
	return ls
}

func (s *lineSession) Receive(frame []byte) (stream.Frame, error) {
	id, word, text, err := split(frame)
	if err != nil {
		return stream.Frame{}, err
	}
	switch word {
	case "reply", "last":
		return stream.Frame{Kind: stream.Reply, ID: id, Last: word == "last"}, nil
	case "part":
		return stream.Frame{Kind: stream.Part, ID: id}, nil
	case "item", "credit":
		if flow := s.conn.StreamOf(id); flow != nil {
			deliver(flow, word, text, frame)
		}
		return stream.Frame{}, nil
	}
	if s.srv == nil {
		return stream.Frame{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch word {
	case "call", "open", "tell":
		return stream.Frame{Kind: stream.Request, Task: s.task(id, word, text)}, nil
	case "cancel":
		if cancel := s.calls[id]; cancel != nil {
			cancel()
		}
	default:
		if flow := s.streams[id]; flow != nil {
			deliver(flow, word, text, frame)
		}
	}
	return stream.Frame{}, nil
}

func deliver(flow *stream.Stream, word, text string, frame []byte) {
	switch word {
	case "item", "msg":
		flow.Deliver(frame, len(text))
	case "credit", "grant":
		n, _ := strconv.Atoi(text)
		flow.Grant(n)
	case "end":
		flow.CloseReceive()
	}
}

// RouteTooLong tells replies from the peer's own calls by their second word.
func (s *lineSession) RouteTooLong(head []byte) (uint32, bool) {
	f := strings.SplitN(string(head), " ", 3)
	n, err := strconv.ParseUint(f[0], 10, 32)
	return uint32(n), err == nil && len(f) == 3 && (f[1] == "reply" || f[1] == "part")
}

func (s *lineSession) LastWords(_ []byte, err error, dst []byte) []byte {
	return fmt.Appendf(dst, "0 bye %v\n", err)
}

type lineTask struct {
	session *lineSession
	ctx     context.Context // of the call that this is
	id      uint32
	word    string
	text    string
	flow    *lineStream
}

type connKey struct{}

// connOf is the connection that a call came on.
func connOf(ctx context.Context) *stream.Conn { return ctx.Value(connKey{}).(*stream.Conn) }

// task makes one. s.mu is held.
func (s *lineSession) task(id uint32, word, text string) *lineTask {
	ctx := context.WithValue(s.conn.Context(), connKey{}, s.conn)
	t := &lineTask{session: s, id: id, word: word, text: text, ctx: ctx}
	if word == "tell" {
		return t
	}
	t.ctx, s.calls[id] = context.WithCancel(ctx)
	if word == "open" {
		flow := s.conn.NewStream(func(dst []byte, n int) []byte { return fmt.Appendf(dst, "%d credit %d\n", id, n) })
		s.streams[id] = flow
		t.flow = &lineStream{flow, id, "item"}
	}
	return t
}

func (t *lineTask) end() {
	if t.flow != nil {
		t.flow.Close()
	}
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if cancel := t.session.calls[t.id]; cancel != nil && t.word != "tell" {
		cancel()
		delete(t.session.calls, t.id)
		delete(t.session.streams, t.id)
	}
}

func (t *lineTask) Pace() *stream.Pace {
	if t.word == "open" {
		return nil
	}
	return &t.session.srv.pace
}

func (t *lineTask) Run(dst []byte) []byte {
	defer t.end()
	var reply string
	switch t.word {
	case "tell":
		t.session.srv.told(t.text)
		return dst
	case "open":
		reply = t.session.srv.flow(t.ctx, t.flow)
	default:
		reply = t.session.srv.handle(t.ctx, t.text)
	}
	if t.ctx.Err() != nil {
		return dst
	}
	return fmt.Appendf(dst, "%d reply %s\n", t.id, reply)
}

func (t *lineTask) Refuse(_ error, dst []byte) []byte { return t.answer(dst, "refused") }

func (t *lineTask) Abort(dst []byte) []byte { return t.answer(dst, "aborted") }

func (t *lineTask) answer(dst []byte, text string) []byte {
	t.end()
	if t.word == "tell" {
		return dst
	}
	return fmt.Appendf(dst, "%d reply %s\n", t.id, text)
}

// A lineStream sends and receives lines.
type lineStream struct {
	*stream.Stream
	id   uint32
	word string // of the lines that this end sends
}

// openLine begins a stream. The call has the reply after Reply.
func openLine(ctx context.Context, c *stream.Client) (*lineStream, *lineCall, error) {
	call := &lineCall{word: "open"}
	grant := func(dst []byte, id uint32, n int) []byte { return fmt.Appendf(dst, "%d grant %d\n", id, n) }
	s, _, err := c.OpenStream(ctx, call, grant, func(error) {})
	if err != nil {
		return nil, nil, err
	}
	return &lineStream{s, s.ID(), "msg"}, call, nil
}

func (s *lineStream) send(ctx context.Context, text string) error {
	return s.Send(ctx, func(dst []byte) ([]byte, int, error) {
		return fmt.Appendf(dst, "%d %s %s\n", s.id, s.word, text), len(text), nil
	})
}

func (s *lineStream) recv(ctx context.Context) (string, error) {
	frame, err := s.Recv(ctx)
	if err != nil {
		return "", err
	}
	_, _, text, err := split(frame)
	return text, err
}

// closeSend says that this end, which began the stream, sends no more.
func (s *lineStream) closeSend(ctx context.Context) error {
	return s.Send(ctx, func(dst []byte) ([]byte, int, error) { return fmt.Appendf(dst, "%d end -\n", s.id), 0, nil })
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
