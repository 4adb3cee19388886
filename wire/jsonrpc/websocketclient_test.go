package jsonrpc

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	xnet "golang.org/x/net/websocket"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// A wsPeer is a server by hand: the other end of one connection of a client.
type wsPeer struct {
	*rawConn
	request *http.Request
}

// byHand listens and runs each connection's peer, which gets the handshake's
// request and writes all else.
func byHand(t *testing.T, peer func(p *wsPeer)) (addr string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			func() {
				defer conn.Close()
				p := &wsPeer{rawConn: newRaw(t, conn)}
				if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
					t.Error(err)
				}
				if p.request, err = http.ReadRequest(p.lines); err != nil {
					t.Errorf("the handshake: %v", err)
					return
				}
				peer(p)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = lis.Close() // ends the loop
		<-done
	})
	return lis.Addr().String()
}

// accept is the answer to the handshake with more behind it, in one segment.
func (p *wsPeer) accept(fields, behind string) {
	if _, err := io.WriteString(p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		websocket.AcceptOf(p.request.Header.Get("Sec-WebSocket-Key"))+"\r\n"+fields+"\r\n"+behind); err != nil {
		p.t.Error(err)
	}
}

// masked reads a frame of the client's, which is masked and not long. It is for
// other goroutines than the test's.
func (p *wsPeer) masked() (first byte, payload string) {
	var b [256]byte
	if _, err := io.ReadFull(p.lines, b[:2]); err != nil {
		p.t.Errorf("reading a frame: %v", err)
		return 0, ""
	}
	first, n := b[0], int(b[1])-0x80
	if n < 0 || n == 127 {
		p.t.Errorf("a frame begins with % x: it is not masked, or longer than these tests have them", b[:2])
		return first, ""
	}
	if n == 126 {
		if _, err := io.ReadFull(p.lines, b[:2]); err != nil {
			p.t.Errorf("reading a length: %v", err)
		}
		n = min(int(binary.BigEndian.Uint16(b[:])), len(b)-4)
	}
	if _, err := io.ReadFull(p.lines, b[:n+4]); err != nil {
		p.t.Errorf("reading a frame: %v", err)
	}
	websocket.Mask(b[4:n+4], binary.LittleEndian.Uint32(b[:]))
	return first, string(b[4 : n+4])
}

// What a foreign server may answer to a call.
func TestWebSocketClient(t *testing.T) {
	half := len(sumReplyText) / 2
	tooLong := binary.BigEndian.AppendUint64([]byte{0x81, 127}, 1<<40)
	tooLong = append(tooLong, `{"jsonrpc":"2.0","id":1,"result":"`...)
	for name, tc := range map[string]struct {
		behind string // the handshake
		reply  []byte
		frames []fragment // that come beside the request
		code   codes.Code
	}{
		"text":            {"", wsFrames(false, fragment{0x81, sumReplyText}), nil, codes.OK},
		"binary":          {"", wsFrames(false, fragment{0x82, sumReplyText}), nil, codes.OK},
		"white space":     {"", wsFrames(false, fragment{0x81, " " + sumReplyText + "\n"}), nil, codes.OK},
		"in parts":        {"", wsFrames(false, fragment{0x01, sumReplyText[:half]}, fragment{0x89, "x"}, fragment{0x80, sumReplyText[half:]}), []fragment{{0x8a, "x"}}, codes.OK},
		"the early bird":  {string(wsFrame(0x89, "early", false)), wsFrames(false, fragment{0x81, sumReplyText}), []fragment{{0x8a, "early"}}, codes.OK},
		"a notification":  {string(wsFrame(0x81, `{"jsonrpc":"2.0","method":"x"}`, false)), wsFrames(false, fragment{0x81, sumReplyText}), nil, codes.OK},
		"empty":           {"", wsFrames(false, fragment{0x81, ""}), []fragment{{0x88, "\x03\xf0"}}, codes.Unavailable},
		"masked":          {"", wsFrames(true, fragment{0x81, sumReplyText}), []fragment{{0x88, "\x03\xea"}}, codes.Unavailable},
		"not UTF-8":       {"", wsFrames(false, fragment{0x81, "\xff"}), []fragment{{0x88, "\x03\xef"}}, codes.Unavailable},
		"too long":        {"", append(tooLong, strings.Repeat("x", 20_000)...), []fragment{{0x88, "\x03\xf1"}}, codes.ResourceExhausted},
		"a close frame":   {"", wsFrames(false, fragment{0x88, "\x03\xe9bye"}), []fragment{{0x88, "\x03\xe9"}}, codes.Unavailable},
		"no close frame":  {"", nil, nil, codes.Unavailable},
		"half of a frame": {"", wsFrames(false, fragment{0x81, sumReplyText})[:10], nil, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			addr := byHand(t, func(p *wsPeer) {
				p.accept("", tc.behind)
				want := map[string]byte{}
				for _, f := range tc.frames {
					want[f.payload] = f.first
				}
				asked := false
				for !asked || len(want) > 0 {
					first, payload := p.masked()
					beginning := payload
					if first == 0x88 && len(payload) > 2 {
						beginning = payload[:2] // there is a reason, too
					}
					switch {
					case first == 0x81 && !asked:
						asked = true
						if _, err := p.Write(tc.reply); err != nil {
							t.Error(err)
						}
					case first == 0:
						return
					case first == 0x88 && beginning == "\x03\xe8" && want["\x03\xe9"] == first:
						delete(want, "\x03\xe9") // the call had ended, and Close came before the answer
					case want[beginning] != first:
						t.Errorf("got a frame %#x %q, want one of %q", first, payload, want)
						return
					default:
						delete(want, beginning)
					}
				}
				if tc.code == codes.OK {
					if first, payload := p.masked(); first != 0x88 || payload != "\x03\xe8" {
						t.Errorf("at the end: %#x %q, want to be closed with 1000", first, payload)
					}
				}
			})
			cfg := clientConfig(addr, nil)
			cfg.Limits.MaxMessage, cfg.Limits.MaxMetadata = 1000, 1000
			conn, err := NewWebSocketConn(cfg)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err = everywire.Call[everywire.Document](ctx, conn, "arith.Arith/Sum", &sumRequest{[]int64{20, 21}})
			if status.Code(err) != tc.code {
				t.Errorf("got %v, want %v", err, tc.code)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A client that has had no call for long says goodbye, and connects again for
// the next one; so does one that connects for every call.
func TestWebSocketClientGoes(t *testing.T) {
	for _, option := range []rpc.Options{{"idle": "20ms"}, {"reconnect": ""}} {
		goodbyes := make(chan string, 2)
		addr := byHand(t, func(p *wsPeer) {
			p.accept("", "")
			if first, _ := p.masked(); first != 0x81 {
				t.Errorf("the call is a frame %#x", first)
			}
			if _, err := p.Write(wsFrame(0x81, sumReplyText, false)); err != nil {
				t.Error(err)
			}
			_, payload := p.masked()
			goodbyes <- payload
		})
		cfg := clientConfig(addr, nil)
		cfg.Options = option
		conn := dial(t, NewWebSocketConn, cfg)
		for id := 1; id <= 2; id++ {
			if _, err := everywire.Call[everywire.Document](t.Context(), conn, "arith.Arith/Sum", &sumRequest{}); err != nil {
				t.Errorf("%v: %v", option, err)
			}
			if got := <-goodbyes; got != "\x03\xe8" {
				t.Errorf("%v: the connection was closed with %q, want 1000", option, got)
			}
		}
	}
}

// What the client's request for an upgrade is, and which answers it takes.
func TestWebSocketClientHandshake(t *testing.T) {
	head := func(accept, more string) string {
		return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept + "\r\n" + more + "\r\n"
	}
	for name, tc := range map[string]struct {
		answer func(accept string) string
		code   codes.Code
		want   string // in the error
	}{
		"another status": {func(string) string { return "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot here\n" }, codes.NotFound, "HTTP status 404 Not Found: not here"},
		"a long reason": {func(string) string {
			return "HTTP/1.1 404 Not Found\r\nContent-Length: 64\r\n\r\n" + strings.Repeat("n", 60) + "here"
		}, codes.NotFound, "nnnhere"},
		"forbidden":          {func(string) string { return "HTTP/1.1 403 Forbidden\r\n\r\n" }, codes.PermissionDenied, "HTTP status 403 Forbidden"},
		"busy":               {func(string) string { return "HTTP/1.0 503 Busy\r\n\r\n" }, codes.Unavailable, "HTTP status 503 Busy"},
		"no HTTP":            {func(string) string { return "SSH-2.0-x\r\n\r\n" }, codes.Unavailable, "WebSocket handshake: malformed HTTP"},
		"another key":        {func(string) string { return head(wsAccept, "") }, codes.Unavailable, "Sec-WebSocket-Accept"},
		"no upgrade":         {func(a string) string { return strings.Replace(head(a, ""), "Upgrade: websocket", "Upgrade: x", 1) }, codes.Unavailable, "does not upgrade"},
		"an extension":       {func(a string) string { return head(a, "Sec-WebSocket-Extensions: permessage-deflate\r\n") }, codes.Unavailable, "not asked for"},
		"a subprotocol":      {func(a string) string { return head(a, "Sec-WebSocket-Protocol: jsonrpc\r\n") }, codes.Unavailable, "not asked for"},
		"too few fields":     {func(string) string { return "HTTP/1.1 101 X\r\n\r\n" + strings.Repeat("x", 200) }, codes.Unavailable, "too few fields"},
		"the connection end": {func(string) string { return "HTTP/1.1 101 X\r\n" }, codes.Unavailable, "unexpected EOF"},
		"an endless head":    {func(string) string { return "HTTP/1.1 101 X\r\nX: " + strings.Repeat("x", 40_000) }, codes.Unavailable, "longer than 16384 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := byHand(t, func(p *wsPeer) {
				r := p.request
				if r.Method != http.MethodGet || r.URL.String() != "/a%20b" || r.Host == "" || r.Header.Get("Sec-WebSocket-Version") != "13" ||
					!websocket.IsKey(r.Header.Get("Sec-WebSocket-Key")) || r.Header.Get("User-Agent") != "everywire" || r.Header.Get("Origin") != "" {
					t.Errorf("the request is %s %s of %s, %v", r.Method, r.URL, r.Host, r.Header)
				}
				_, _ = io.WriteString(p, tc.answer(websocket.AcceptOf(r.Header.Get("Sec-WebSocket-Key")))) // the client may have seen enough
			})
			cfg := clientConfig(addr, nil)
			cfg.Path = "/a b"
			conn := dial(t, NewWebSocketConn, cfg)
			_, err := everywire.Call[empty](t.Context(), conn, "t.Text/Same", &empty{})
			if status.Code(err) != tc.code || !strings.Contains(status.Convert(err).Message(), tc.want) {
				t.Errorf("got %v, want %v with %q", err, tc.code, tc.want)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		closed := make(chan struct{})
		addr := byHand(t, func(p *wsPeer) {
			_, _ = p.lines.ReadByte() // the client's end
			close(closed)
		})
		conn := dial(t, NewWebSocketConn, clientConfig(addr, nil))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := everywire.Call[empty](ctx, conn, "t.Text/Same", &empty{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("got %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		<-closed
	})
}

// Go's own (golang.org/x/net/websocket) as a client and as a server.
func TestWebSocketOfXNet(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		addr := serve(t, NewWebSocketServer, serverConfig(newFixture().reg, everywire.Limits{}))
		ws, err := xnet.Dial("ws://"+addr+"/any", "jsonrpc", "http://"+addr)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "ä", strings.Repeat("x", 200), strings.Repeat("y", 100_000)} {
			request := map[string]any{"jsonrpc": "2.0", "method": "same", "params": []any{map[string]any{"text": text}}, "id": "1"}
			var reply struct{ Result textMessage }
			if err := xnet.JSON.Send(ws, request); err != nil {
				t.Fatal(err)
			}
			if err := xnet.JSON.Receive(ws, &reply); err != nil || reply.Result.Text != text {
				t.Errorf("a text of %d bytes came back as one of %d, %v", len(text), len(reply.Result.Text), err)
			}
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("server", func(t *testing.T) {
		ended := make(chan error, 1)
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: xnet.Server{Handler: func(ws *xnet.Conn) {
			for {
				var request struct {
					Params textMessage
					ID     uint32
				}
				if err := xnet.JSON.Receive(ws, &request); err != nil {
					ended <- err
					return
				}
				if err := xnet.JSON.Send(ws, map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": map[string]any{"text": request.Params.Text}}); err != nil {
					t.Error(err)
				}
			}
		}}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = srv.Serve(lis) // ends with Close
		}()
		conn := dial(t, NewWebSocketConn, clientConfig(lis.Addr().String(), nil))
		for _, text := range []string{"", "ä", strings.Repeat("x", 200), strings.Repeat("y", 100_000)} {
			got, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Same", &textMessage{text})
			if err != nil || got.Text != text {
				t.Errorf("a text of %d bytes: %v", len(text), err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != io.EOF { //nolint:errorlint // as the library returns it for a close frame
			t.Errorf("the connection ended with %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
}
