package rest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/websocket"
)

const handshake = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

// ask sends a client's handshake.
func (p *handPeer) ask(path string, head ...string) *http.Response {
	p.t.Helper()
	p.send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + handshake)
	for _, h := range head {
		p.send(h + "\r\n")
	}
	p.send("\r\n")
	res, err := http.ReadResponse(p.r, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// upgrade makes a connection a WebSocket.
func upgrade(t testing.TB, addr, path string, head ...string) *handPeer {
	t.Helper()
	p := dialPeer(t, addr)
	if res := p.ask(path, head...); res.StatusCode != http.StatusSwitchingProtocols {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s: %s %s", path, res.Status, text)
	}
	return p
}

// frame makes a client's frame.
func frame(first byte, payload string) string {
	b := websocket.Wrap([]byte(payload), 0, 0, true)
	b[0] = first
	return string(b)
}

func text(payload string) string { return frame(0x81, payload) }

// read reads a server's frame.
func (p *handPeer) read() (first byte, payload string) {
	p.t.Helper()
	var head [10]byte
	_, err := io.ReadFull(p.r, head[:2])
	n := uint64(head[1])
	switch {
	case err != nil:
	case n == 126:
		_, err = io.ReadFull(p.r, head[:2])
		n = uint64(binary.BigEndian.Uint16(head[:]))
	case n == 127:
		_, err = io.ReadFull(p.r, head[:8])
		n = binary.BigEndian.Uint64(head[:])
	}
	first = head[0]
	if n > 125 {
		first = 0x81 // the tests have long frames of text only
	}
	b := make([]byte, n)
	if err == nil {
		_, err = io.ReadFull(p.r, b)
	}
	if err != nil {
		p.t.Fatalf("reading a frame: %v", err)
	}
	return first, string(b)
}

// wantFrames reads frames, of which the payloads of close frames are written
// "4005 reason".
func (p *handPeer) wantFrames(want ...string) {
	p.t.Helper()
	for i, w := range want {
		first, got := p.read()
		kind := map[byte]string{0x81: "text ", 0x82: "binary ", 0x88: "close ", 0x89: "ping ", 0x8a: "pong "}[first]
		if first == 0x88 && len(got) >= 2 {
			got = itoa(int(binary.BigEndian.Uint16([]byte(got)))) + " " + got[2:]
		}
		if kind+got != w {
			p.t.Fatalf("frame %d: got  %s\nwant %s", i, kind+got, w)
		}
	}
}

// wantEnd reads the end of the connection, also if the server resets it.
func (p *handPeer) wantEnd() {
	p.t.Helper()
	rest, err := io.ReadAll(p.r)
	var timeout net.Error
	if len(rest) > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		p.t.Errorf("at the end: %q, %v", rest, err)
	}
}

func feedText(name, number string) string {
	return `text {"name":"` + name + `","number":` + number + `,"eventId":"","pad":""}`
}

const withControls = "Sec-WebSocket-Protocol: x, " + subprotocol

// A page that knows nothing of this module sends its messages, and is told by the
// close frame how it went.
func TestWebSocketOfPages(t *testing.T) {
	addr := serve(t, serverConfig(newFeed().Registry))
	event := func(n string) string { return `text {"name":"a","number":` + n + `,"eventId":"e` + n + `","pad":""}` }
	for name, tc := range map[string]struct {
		path string
		send string
		want []string
	}{
		"bidi":                      {"/test.Feed/Chat", text(`{"name":"a"}`) + text(`{"name":"b","count":2}`) + text(""), []string{feedText("a", "0"), feedText("b", "2"), "close 1000 "}},
		"bidi with a path":          {"/rooms/r", text(`{}`) + text(` {"count":1}`) + text(""), []string{feedText("r", "0"), feedText("r", "1"), "close 1000 "}},
		"path and message":          {"/rooms/r", text(`{"name":"b"}`), []string{`close 4003 request of test.Feed/Chat: `}},
		"client stream":             {"/test.Feed/Upload", text(`{"name":"a","count":1}`) + text(`{"name":"b","count":2}`) + text(""), []string{feedText("ab", "3"), "close 1000 "}},
		"client stream of nothing":  {"/test.Feed/Upload", text(""), []string{feedText("", "0"), "close 1000 "}},
		"server stream":             {"/test.Feed/Watch", text(`{"name":"a","count":2}`), []string{event("0"), event("1"), "close 1000 "}},
		"server stream, no message": {"/test.Feed/Watch", text(""), []string{"close 1000 "}},
		"server stream, by URL":     {"/feeds/a/names?count=2", "", []string{`text "a"`, `text "a"`, "close 1000 "}},
		"server stream, PUT":        {"/feeds/a", text(`{"count":1}`), []string{event("0"), "close 1000 "}},
		"an error":                  {"/test.Feed/Watch", text(`{"name":"a","count":1,"code":5}`), []string{event("0"), "close 4005 as asked\nfor"}},
		"an error at once":          {"/test.Feed/Chat", text(`{"code":16}`), []string{"close 4016 as asked"}},
		"a panic":                   {"/test.Feed/Chat", text(`{"do":"panic"}`), []string{"close 4013 panic in the handler of test.Feed/Chat"}},
		"an exit":                   {"/test.Feed/Chat", text(`{"do":"exit"}`), []string{"close 4013 the handler ended without a reply"}},
		"headers and trailers":      {"/test.Feed/Watch", text(`{"do":"metadata"}`), []string{"close 1000 "}},
		"a ping":                    {"/test.Feed/Chat", frame(0x89, "p") + text(`{"name":"a"}`), []string{"pong p", feedText("a", "0")}},
		"in parts":                  {"/test.Feed/Chat", frame(0x01, `{"name":`) + frame(0x89, "p") + frame(0x80, `"a"}`), []string{"pong p", feedText("a", "0")}},
		"behind the end":            {"/test.Feed/Chat", text("") + text(`{"name":"late"}`), []string{"close 1000 "}},
	} {
		t.Run(name, func(t *testing.T) {
			p := upgrade(t, addr, tc.path)
			p.send(tc.send)
			last := len(tc.want) - 1
			if strings.HasSuffix(tc.want[last], ": ") { // the words are the codec's
				first, got := p.read()
				if got = itoa(int(binary.BigEndian.Uint16([]byte(got)))) + " " + got[2:]; first != 0x88 || !strings.HasPrefix("close "+got, tc.want[last]) {
					t.Errorf("got %#x %s", first, got)
				}
			} else {
				p.wantFrames(tc.want...)
			}
			if strings.HasPrefix(tc.want[last], "close") {
				p.send(frame(0x88, "\x03\xe8"))
				p.wantEnd()
			}
		})
	}
}

// With the subprotocol a client is told all, and can say what a browser has no
// fields for.
func TestWebSocketControls(t *testing.T) {
	f := newFeed()
	addr := serve(t, serverConfig(f.Registry))
	t.Cleanup(func() { close(f.gate) })
	const nothing = "{}"
	control := func(s string) string { return frame(0x82, s) }
	for name, tc := range map[string]struct {
		path string
		head []string
		send string
		want []string
	}{
		"a good end":      {"/test.Feed/Chat", nil, control(nothing) + text(""), []string{`binary {"end":{"trailers":{"x-t":["2"]}}}`, "close 1000 "}},
		"headers":         {"/test.Feed/Watch", nil, control(nothing) + text(`{"do":"header first"}`), []string{`binary {"headers":{"x-h":["1"]}}`}},
		"unsent headers":  {"/test.Feed/Watch", nil, control(nothing) + text(`{"do":"metadata"}`), []string{`binary {"end":{"headers":{"x-h":["1"],"x-h-bin":["/w"]},"trailers":{"x-t":["2"]}}}`, "close 1000 "}},
		"an error":        {"/test.Feed/Chat", nil, control(nothing) + text(`{"code":5}`), []string{`binary {"end":{"error":{"type":"about:blank","title":"Not Found","status":404,"detail":"as asked","code":"NOT_FOUND"}}}`, "close 4005 as asked"}},
		"metadata":        {"/test.Feed/Chat", []string{"X-M: 1"}, control(`{"metadata":{"X-M":["2"],"x-m-bin":["Yg=="]}}`) + text(`{"do":"metadata"}`) + text(""), []string{`binary {"headers":{"x-h":["1"]}}`, feedText("1,2|b", "0")}},
		"a timeout":       {"/test.Feed/Chat", []string{"Grpc-Timeout: 1S"}, control(`{"timeout":"1H"}`) + text(`{"do":"deadline"}`), []string{feedText("true true", "0")}},
		"no control":      {"/test.Feed/Chat", nil, text(`{}`), []string{"close 1002 the first message is no control: with everywire.rest it is binary"}},
		"no JSON":         {"/test.Feed/Chat", nil, control(`{`), []string{"close 1002 a binary message is no control: unexpected end of JSON input"}},
		"bad base64":      {"/test.Feed/Chat", nil, control(`{"metadata":{"a-bin":["?"]}}`), []string{`close 1002 metadata key "a-bin" is not base64: illegal base64 data at input byte 0`}},
		"bad metadata":    {"/test.Feed/Chat", nil, control(`{"metadata":{"a b":["?"]}}`), []string{`close 1002 metadata key "a b" contains a character outside [0-9a-z-_.]`}},
		"bad timeout":     {"/test.Feed/Chat", nil, control(`{"timeout":"soon"}`), []string{`close 1002 malformed Grpc-Timeout "soon": want up to eight digits and a unit of H, M, S, m, u, n`}},
		"another control": {"/test.Feed/Chat", nil, control(nothing) + control(nothing), []string{"close 1003 messages are text"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := dialPeer(t, addr)
			if res := p.ask(tc.path, append(tc.head, withControls)...); res.Header.Get("Sec-WebSocket-Protocol") != subprotocol {
				t.Fatalf("%s %v", res.Status, res.Header)
			}
			p.send(tc.send)
			p.wantFrames(tc.want...)
		})
	}
}

// What breaks the protocol is answered with a close frame, ends the handler, and
// closes the connection.
func TestWebSocketHostile(t *testing.T) {
	f := newFeed()
	cfg := serverConfig(f.Registry)
	cfg.Limits.MaxMessage = 1000
	addr := serve(t, cfg)
	for name, tc := range map[string]struct {
		path    string
		request string // what the handler waits for
		send    string
		want    string
	}{
		"not masked":    {"/test.Feed/Chat", "", "\x81\x02{}", "close 1002 a client's frame is not masked"},
		"reserved bits": {"/test.Feed/Chat", "", "\xf1\x80", "close 1002 a frame has reserved bits (0xf1), and no extension was agreed on"},
		"not UTF-8":     {"/test.Feed/Chat", "", text("\"\xff\""), "close 1007 a text message is not UTF-8"},
		"binary":        {"/test.Feed/Chat", "", frame(0x82, "{}"), "close 1003 messages are text"},
		"two requests":  {"/test.Feed/Watch", text(`{"do":"silence"}`), text("{}"), "close 1008 method test.Feed/Watch has one request"},
		"a close frame": {"/test.Feed/Chat", "", frame(0x88, "\x0f\xa0bye"), "close 4000 "},
		"too long":      {"/test.Feed/Chat", "", "\x81\xff\x00\x00\x00\x01\x00\x00\x00\x00", "close 4008 received message larger than max (1000)"},
		"fragments":     {"/test.Feed/Chat", "", frame(0x01, "") + strings.Repeat(frame(0x00, ""), 2000), "close 1008 a message is in too many fragments"},
	} {
		t.Run(name, func(t *testing.T) {
			p := upgrade(t, addr, tc.path)
			p.send(tc.request)
			await(t, "the handler's begin", f.began)
			p.send(tc.send)
			p.wantFrames(tc.want)
			if err := await(t, "the handler's end", f.ended); err == nil {
				t.Error("the handler's context has not ended")
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("silence", func(t *testing.T) {
		p := upgrade(t, addr, "/test.Feed/Chat")
		await(t, "the handler's begin", f.began)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if await(t, "the handler's end", f.ended) == nil {
			t.Error("the handler's context has not ended")
		}
	})
	t.Run("impatient", func(t *testing.T) {
		p := dialPeer(t, addr)
		p.send("GET /test.Feed/Chat HTTP/1.1\r\nHost: test\r\n" + handshake + "\r\n" + text("{}"))
		p.wantEnd()
		if len(f.began) > 0 {
			t.Error("the handler ran")
		}
	})
}

// A request for an upgrade that is refused gets a problem document.
func TestWebSocketRefused(t *testing.T) {
	cfg := serverConfig(newFeed().Registry)
	cfg.Options = rpc.Options{"origins": "friend.example"}
	addr := serve(t, cfg)
	for name, tc := range map[string]struct {
		path   string
		head   []string
		status int
		code   string
		detail string
	}{
		"a unary method":    {"/test.Feed/Unary", nil, 405, "UNIMPLEMENTED", "POST"},
		"no such path":      {"/none", nil, 404, "UNIMPLEMENTED", "/none"},
		"another's page":    {"/test.Feed/Chat", []string{"Origin: https://evil.example"}, 403, "PERMISSION_DENIED", "evil.example"},
		"a page of nowhere": {"/test.Feed/Chat", []string{"Origin: null"}, 403, "PERMISSION_DENIED", "null"},
		"two keys":          {"/test.Feed/Chat", []string{"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}, 400, "INVALID_ARGUMENT", "Sec-WebSocket-Key"},
		"a body":            {"/test.Feed/Chat", []string{"Content-Length: 2"}, 400, "INVALID_ARGUMENT", "no body"},
		"a query":           {"/test.Feed/Chat?a=1", nil, 400, "INVALID_ARGUMENT", "query"},
		"a timeout":         {"/test.Feed/Chat", []string{"Grpc-Timeout: x"}, 400, "INVALID_ARGUMENT", "Grpc-Timeout"},
		"metadata":          {"/test.Feed/Chat", []string{"A-Bin: ?"}, 400, "INVALID_ARGUMENT", "base64"},
	} {
		t.Run(name, func(t *testing.T) {
			res := dialPeer(t, addr).ask(tc.path, tc.head...)
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			p := checkProblem(t, response{status: res.StatusCode, header: res.Header, body: string(body)})
			if res.StatusCode != tc.status || !strings.Contains(p.Detail, tc.detail) || p.Code != tc.code {
				t.Errorf("%s %s", res.Status, body)
			}
		})
	}
	for _, origin := range []string{"http://test", "https://friend.example"} {
		upgrade(t, addr, "/test.Feed/Chat", "Origin: "+origin).send(text(""))
	}
	cfg.Options["origins"] = "a/b"
	if _, err := NewServer(cfg); err == nil || !strings.Contains(err.Error(), "option origins") {
		t.Errorf("a malformed option: %v", err)
	}
}

// A handler that does not receive holds its client back; one that ends, though
// messages wait, is told to the client all the same.
func TestWebSocketHoldsBack(t *testing.T) {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	release := make(chan struct{})
	everywire.HandleClientStream(reg, "test.Slow/Take", func(grpc.ClientStreamingServer[feedRequest, feedEvent]) error {
		<-release
		return nil
	})
	addr := serve(t, serverConfig(reg))
	p := upgrade(t, addr, "/test.Slow/Take")
	message := []byte(text(`{"name":"` + strings.Repeat("x", 10_000) + `"}`))
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; n < 10_000; n++ { // 100 MB
			if _, err := p.Write(message); err != nil {
				break
			}
			if n == 50 {
				close(release) // far less than what is held on the way
			}
		}
		sent <- n
	}()
	p.wantFrames("close 4013 the handler of test.Slow/Take returned neither a reply nor an error")
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if n := await(t, "the end of the sending", sent); n == 10_000 {
		t.Error("all was taken")
	}
}

// A goroutine that its handler leaves behind is told that the stream is over, and
// finds nothing of another call.
func TestWebSocketLeftBehind(t *testing.T) {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	left, returned := make(chan error, 1), make(chan struct{})
	everywire.HandleBidi(reg, "test.Left/Behind", func(s grpc.BidiStreamingServer[feedRequest, feedEvent]) error {
		if _, err := s.Recv(); err != nil {
			return err
		}
		go func() {
			<-returned
			_, err := s.Recv()
			left <- errors.Join(err, s.Send(&feedEvent{}))
		}()
		return nil
	}, everywire.WithRoute("GET", "/left/{name}", ""))
	addr := serve(t, serverConfig(reg))
	p := upgrade(t, addr, "/left/a")
	p.send(text("{}") + text("{}"))
	p.wantFrames("close 1000 ")
	p.send(frame(0x88, "\x03\xe8"))
	p.wantEnd()
	close(returned)
	if err := await(t, "the end of the goroutine", left); err == nil {
		t.Error("it goes on")
	}
}

// Shutdown lets streams go on, begins none, and cuts off what takes too long.
func TestWebSocketShutdown(t *testing.T) {
	f := newFeed()
	h, err := NewHandler(serverConfig(f.Registry))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	addr := s.Listener.Addr().String()
	p, endless := upgrade(t, addr, "/test.Feed/Chat"), upgrade(t, addr, "/test.Feed/Chat")
	for range 2 {
		await(t, "a handler's begin", f.began)
	}
	p.send(text(`{"name":"before"}`))
	p.wantFrames(feedText("before", "0"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.(interface{ Shutdown(context.Context) error }).Shutdown(ctx) }()
	for {
		res := dialPeer(t, addr).ask("/test.Feed/Chat")
		if res.StatusCode == http.StatusServiceUnavailable {
			break
		}
		await(t, "a handler's begin", f.began)
	}
	p.send(text(`{"name":"during"}`) + text(""))
	p.wantFrames(feedText("during", "0"), "close 1000 ")
	cancel()
	if err := await(t, "the end of the shutdown", done); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	endless.wantEnd()
}

// A client may be written in any way that the subprotocol's page allows.
func FuzzControls(f *testing.F) {
	for _, s := range []string{"{}", `{"metadata":{"a":["1"],"a-bin":["AA"]},"timeout":"1S"}`, `{"headers":{"a":[]}}`, `{"end":{"error":{"code":"NOT_FOUND"},"trailers":{"b":["x"]}}}`, `{"end":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		var first clientControl
		if parseControl(message, &first) == nil {
			again, err := json.Marshal(first)
			if err != nil {
				t.Fatal(err)
			}
			var second clientControl
			if err := parseControl(again, &second); err != nil || second.Timeout != first.Timeout || len(second.Metadata) != len(first.Metadata) {
				t.Fatalf("%q as %q: %v", message, again, err)
			}
		}
		s := &clientSocket{call: "/a.A/B", headed: make(chan struct{})}
		if over, err := s.control(message); over != (s.outcome != nil) || over && err != nil {
			t.Fatalf("%q: over %v, %v, %v", message, over, s.outcome, err)
		}
	})
}
