package rest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// streamServer listens and has each connection, with its request read, answered
// by hand.
func streamServer(t *testing.T, answer func(p *handPeer, r *http.Request)) (addr string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			raw, err := lis.Accept()
			if err != nil {
				return
			}
			p := newHandPeer(t, raw)
			r, err := http.ReadRequest(p.r)
			if err != nil {
				t.Errorf("the client's request: %v", err)
			} else {
				answer(p, r)
			}
			_ = raw.Close() // the client may have
		}
	}()
	t.Cleanup(func() {
		_ = lis.Close() // ends the loop
		<-done
	})
	return lis.Addr().String()
}

// write is for other goroutines than the test's.
func (p *handPeer) write(s string) {
	if _, err := io.WriteString(p, s); err != nil {
		p.t.Error(err)
	}
}

func accept(r *http.Request, more string) string {
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		websocket.AcceptOf(r.Header.Get("Sec-WebSocket-Key")) + "\r\n" + more + "\r\n"
}

const takesSubprotocol = "Sec-WebSocket-Protocol: " + subprotocol + "\r\n"

// serverFrame is a frame that is not masked.
func serverFrame(first byte, payload string) string {
	b := websocket.Wrap([]byte(payload), 0, 0, false)
	b[0] = first
	return string(b)
}

var (
	watchDesc = &grpc.StreamDesc{StreamName: "Watch", ServerStreams: true}
	chatDesc  = &grpc.StreamDesc{StreamName: "Chat", ClientStreams: true, ServerStreams: true}
)

// What a client makes of a server that is not ours, or is broken.
func TestStreamOfForeignServer(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string // to the handshake; "" for the right one
		behind string
		code   codes.Code
		want   string
	}{
		"problem":           {"HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: 46\r\n\r\n" + `{"status":404,"code":"ABORTED","detail":"mine"}`[:46], "", codes.NotFound, "404"},
		"whole problem":     {"HTTP/1.1 404 Not Found\r\nContent-Type: application/problem+json\r\nContent-Length: 47\r\n\r\n" + `{"status":404,"code":"ABORTED","detail":"mine"}`, "", codes.Aborted, "mine"},
		"text":              {"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nlater", "", codes.Unavailable, "HTTP status 503 Service Unavailable: later"},
		"a page":            {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi", "", codes.Internal, "not with a WebSocket"},
		"no HTTP":           {"SSH-2.0-x\r\n\r\n", "", codes.Unavailable, "WebSocket handshake"},
		"no subprotocol":    {"plain", "", codes.Unavailable, "speaks none of the subprotocols"},
		"no end":            {"", serverFrame(0x81, `{"name":"a"}`), codes.Unavailable, "broke before the stream's end; the call may have run"},
		"a close frame":     {"", serverFrame(0x88, "\x03\xe9bye"), codes.Unavailable, "closed by the peer with 1001: bye"},
		"masked":            {"", text(`{}`), codes.Unavailable, "a server's frame is masked"},
		"not UTF-8":         {"", serverFrame(0x81, "\xff"), codes.Unavailable, "not UTF-8"},
		"no message":        {"", serverFrame(0x81, "x"), codes.Internal, "reply of test.Feed/Chat"},
		"no control":        {"", serverFrame(0x82, "x"), codes.Unavailable, "no control"},
		"headers, bad":      {"", serverFrame(0x82, `{"headers":{"a-bin":["?"]}}`), codes.Unavailable, "not base64"},
		"an unknown one":    {"", serverFrame(0x82, `{"later":1}`) + serverFrame(0x82, `{"end":{}}`), codes.OK, ""},
		"an end":            {"", serverFrame(0x82, `{"end":{}}`), codes.OK, ""},
		"an error":          {"", serverFrame(0x82, `{"end":{"error":{"code":"DATA_LOSS","detail":"d"}}}`), codes.DataLoss, "d"},
		"another's error":   {"", serverFrame(0x82, `{"end":{"error":{"x":1}}}`), codes.Internal, "HTTP status 500"},
		"a long message":    {"", "\x81\x7f\x00\x00\x00\x01\x00\x00\x00\x00", codes.ResourceExhausted, "larger than max (4194304)"},
		"a ping":            {"", serverFrame(0x89, "x") + serverFrame(0x82, `{"end":{}}`), codes.OK, ""},
		"half of a message": {"", serverFrame(0x81, `{"name":"a"}`)[:5], codes.Unavailable, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := streamServer(t, func(p *handPeer, r *http.Request) {
				switch tc.answer {
				case "":
					p.write(accept(r, takesSubprotocol) + tc.behind)
				case "plain":
					p.write(accept(r, ""))
				default:
					p.write(tc.answer)
				}
				if tc.code == codes.Unavailable {
					// Closed with something unread, TCP would reset.
					_ = p.Conn.(*net.TCPConn).CloseWrite() // the client may have gone
				}
				_, _ = io.Copy(io.Discard, p) // until the client goes
			})
			conn := dial(t, clientConfig(addr))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s, err := conn.NewStream(ctx, chatDesc, "/test.Feed/Chat")
			for err == nil {
				err = s.RecvMsg(new(feedEvent))
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if status.Code(err) != tc.code || !strings.Contains(status.Convert(err).Message(), tc.want) {
				t.Errorf("got %v, want %v with %q", err, tc.code, tc.want)
			}
		})
	}
}

// What the client's request is.
func TestStreamRequest(t *testing.T) {
	requests := make(chan *http.Request, 1)
	ends := make(chan string, 2)
	addr := streamServer(t, func(p *handPeer, r *http.Request) {
		requests <- r
		p.write(accept(r, takesSubprotocol))
		for range 2 {
			var head [6]byte
			if _, err := io.ReadFull(p.r, head[:]); err != nil {
				t.Error(err)
			}
			b := make([]byte, head[1]&0x7f)
			if _, err := io.ReadFull(p.r, b); err != nil {
				t.Error(err)
			}
			websocket.Mask(b, uint32(head[2])|uint32(head[3])<<8|uint32(head[4])<<16|uint32(head[5])<<24)
			ends <- string(append(head[:1:1], b...))
		}
		p.write(serverFrame(0x82, `{"end":{"trailers":{"x-t":["1"]}}}`) + serverFrame(0x88, "\x03\xe8"))
		// The client answers the close frame, and closes.
		var last [8]byte
		if n, err := io.ReadFull(p.r, last[:]); err != nil || last[0] != 0x88 {
			t.Errorf("the end: % x, %v", last[:n], err)
		}
		ends <- ""
	})
	cfg := clientConfig(addr)
	cfg.Path, cfg.UserAgent = "/api/", "tests"
	conn := dial(t, cfg)
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "x-m", "1", "x-m-bin", "\xff"), time.Hour)
	defer cancel()
	s, err := conn.NewStream(ctx, chatDesc, "/test.Feed/Chat")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	if err := s.RecvMsg(new(feedEvent)); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	if got := s.Trailer().Get("x-t"); len(got) != 1 || got[0] != "1" {
		t.Errorf("trailers %v", s.Trailer())
	}
	r := <-requests
	if r.URL.String() != "/api/test.Feed/Chat" || r.Host != addr || r.Header.Get("User-Agent") != "tests" || r.Header.Get("X-M") != "1" ||
		r.Header.Get("X-M-Bin") != "/w" || r.Header.Get("Grpc-Timeout") == "" || r.Header.Get("Origin") != "" {
		t.Errorf("%s of %s, %v", r.URL, r.Host, r.Header)
	}
	if begin, end := <-ends, <-ends; <-ends != "" || begin != "\x82{}" || end != "\x81" {
		t.Errorf("the frames are %q, %q", begin, end)
	}
}

// Close ends streams, also those that are being opened.
func TestCloseEndsStreams(t *testing.T) {
	f := newFeed()
	conn := dial(t, clientConfig(serve(t, serverConfig(f.Registry))))
	s, err := conn.NewStream(t.Context(), watchDesc, "/test.Feed/Watch")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(&feedRequest{Do: "silence"}); err != nil {
		t.Fatal(err)
	}
	await(t, "the handler's begin", f.began)
	asked := make(chan struct{})
	silent := dial(t, clientConfig(streamServer(t, func(p *handPeer, _ *http.Request) {
		close(asked)
		_, _ = io.Copy(io.Discard, p)
	})))
	opened := make(chan error, 1)
	go func() {
		_, err := silent.NewStream(context.WithoutCancel(t.Context()), chatDesc, "/test.Feed/Chat")
		opened <- err
	}()
	await(t, "the handshake", asked)
	for _, c := range []io.Closer{conn, silent} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for what, err := range map[string]error{
		"a stream":             s.RecvMsg(new(feedEvent)),
		"one that was opening": await(t, "the end of the opening", opened),
		"one after that":       errorOf(conn.NewStream(t.Context(), chatDesc, "/test.Feed/Chat")),
	} {
		if status.Code(err) != codes.Canceled {
			t.Errorf("%s: %v", what, err)
		}
	}
	if await(t, "the handler's end", f.ended) == nil {
		t.Error("the handler's context has not ended")
	}
}

func errorOf(_ grpc.ClientStream, err error) error { return err }

// Deadlines and limits hold on the client's side too.
func TestStreamDeadlineWhileOpening(t *testing.T) {
	conn := dial(t, clientConfig(streamServer(t, func(p *handPeer, _ *http.Request) { _, _ = io.Copy(io.Discard, p) })))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := conn.NewStream(ctx, chatDesc, "/test.Feed/Chat"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}

// Calls and streams of plain structs go by the client of the package.
func TestStreamsOfTypedCalls(t *testing.T) {
	conn := dial(t, clientConfig(serve(t, serverConfig(newFeed().Registry))))
	down, err := everywire.CallServerStream[feedEvent](t.Context(), conn, "test.Feed/Watch", &feedRequest{Name: "a", Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(3) {
		if e, err := down.Recv(); err != nil || e.Number != n {
			t.Errorf("event %d: %v, %v", n, e, err)
		}
	}
	if _, err := down.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	// A method whose path also answers by GET is asked by its whole message.
	reader, err := everywire.CallServerStream[feedEvent](t.Context(), conn, "test.Feed/Names", &feedRequest{Name: "ä/?", Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := reader.Recv(); err != nil || e.Name != "ä/?" {
		t.Errorf("got %v, %v", e, err)
	}
}
