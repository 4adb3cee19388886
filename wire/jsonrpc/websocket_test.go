package jsonrpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/websocket"
)

const (
	wsKey     = "dGhlIHNhbXBsZSBub25jZQ==" // of RFC 6455, section 1.3
	wsAccept  = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	wsRequest = "GET / HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Key: " + wsKey + "\r\nSec-WebSocket-Version: 13\r\n\r\n"
)

// wsFrame writes a frame as another implementation may: first is the first byte.
func wsFrame(first byte, payload string, masked bool) []byte {
	b := websocket.Wrap([]byte(payload), 0, 0, masked)
	b[0] = first
	return b
}

// A fragment is a frame of a message, or a control frame.
type fragment struct {
	first   byte
	payload string
}

func wsFrames(masked bool, fragments ...fragment) (b []byte) {
	for _, f := range fragments {
		b = append(b, wsFrame(f.first, f.payload, masked)...)
	}
	return b
}

func bytewise(b []byte) [][]byte { return slices.Collect(slices.Chunk(b, 1)) }

// upgraded does a client's handshake.
func (c *rawConn) upgraded() *rawConn {
	c.t.Helper()
	c.send(wsRequest)
	res, err := http.ReadResponse(c.lines, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-WebSocket-Accept") != wsAccept {
		c.t.Fatalf("the handshake's answer: %v, %v", res, err)
	}
	return c
}

func dialWebSocket(t testing.TB, addr string) *rawConn { return dialRaw(t, addr).upgraded() }

// frame reads one frame whose length is written in one or three bytes.
func (c *rawConn) frame() (first byte, payload string) {
	c.t.Helper()
	var head [4]byte
	_, err := io.ReadFull(c.lines, head[:2])
	n := int(head[1])
	if err == nil && n == 126 {
		_, err = io.ReadFull(c.lines, head[2:])
		n = int(binary.BigEndian.Uint16(head[2:]))
	}
	if n > 126 && head[1] != 126 {
		c.t.Fatalf("a frame is masked, or longer than these tests have them: % x", head)
	}
	b := make([]byte, n)
	if err == nil {
		_, err = io.ReadFull(c.lines, b)
	}
	if err != nil {
		c.t.Fatalf("reading a frame: %v", err)
	}
	return head[0], string(b)
}

func (c *rawConn) wantFrame(first byte, payload string) {
	c.t.Helper()
	if f, p := c.frame(); f != first || p != payload {
		c.t.Errorf("got  %#x %q\nwant %#x %q", f, p, first, payload)
	}
}

// wantClose reads a close frame and then the end.
func (c *rawConn) wantClose(code uint16) {
	c.t.Helper()
	first, payload := c.frame()
	if first != 0x88 || len(payload) < 2 || binary.BigEndian.Uint16([]byte(payload)) != code {
		c.t.Errorf("got %#x %q, want to be closed with %d", first, payload, code)
	}
	c.wantEnd()
}

func (c *rawConn) wantEnd() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.lines); err != nil || len(rest) > 0 {
		c.t.Errorf("behind the close frame: %q, %v", rest, err)
	}
}

const sumReplyText = `{"jsonrpc":"2.0","result":41,"id":1}`

// What a foreign client may send that is right.
func TestWebSocketServer(t *testing.T) {
	addr := serve(t, NewWebSocketServer, serverConfig(newFixture().reg, everywire.Limits{}))
	half := len(sumRequestLine) / 2
	other, otherReply := strings.Replace(sumRequestLine, `"id":1`, `"id":2`, 1), strings.Replace(sumReplyText, `"id":1`, `"id":2`, 1)
	noJSON := `{"jsonrpc":"2.0","error":{"code":-32700,"message":"the text is not JSON: `
	for name, tc := range map[string]struct {
		send []fragment
		want []fragment // the payload may be a beginning
	}{
		"text":           {[]fragment{{0x81, sumRequestLine}}, []fragment{{0x81, sumReplyText}}},
		"binary":         {[]fragment{{0x82, sumRequestLine}}, []fragment{{0x81, sumReplyText}}},
		"white space":    {[]fragment{{0x81, " \r\n" + sumRequestLine + "\n"}}, []fragment{{0x81, sumReplyText}}},
		"two":            {[]fragment{{0x81, sumRequestLine}, {0x81, other}}, []fragment{{0x81, sumReplyText}, {0x81, otherReply}}},
		"in parts":       {[]fragment{{0x01, sumRequestLine[:half]}, {0x00, ""}, {0x80, sumRequestLine[half:]}}, []fragment{{0x81, sumReplyText}}},
		"a ping":         {[]fragment{{0x89, "are you there?"}}, []fragment{{0x8a, "are you there?"}}},
		"a pong":         {[]fragment{{0x8a, "unasked"}, {0x81, sumRequestLine}}, []fragment{{0x81, sumReplyText}}},
		"a ping between": {[]fragment{{0x01, sumRequestLine[:half]}, {0x89, ""}, {0x80, sumRequestLine[half:]}}, []fragment{{0x8a, ""}, {0x81, sumReplyText}}},
		"a notification": {[]fragment{{0x81, `{"jsonrpc":"2.0","method":"sum"}`}, {0x81, sumRequestLine}}, []fragment{{0x81, sumReplyText}}},
		"a batch":        {[]fragment{{0x81, "[" + sumRequestLine + "]"}}, []fragment{{0x81, "[" + sumReplyText + "]"}}},
		"empty":          {[]fragment{{0x81, ""}, {0x81, sumRequestLine}}, []fragment{{0x81, noJSON}, {0x81, sumReplyText}}},
		"no JSON":        {[]fragment{{0x82, "\xff"}, {0x81, sumRequestLine}}, []fragment{{0x81, noJSON}, {0x81, sumReplyText}}},
		"two in one":     {[]fragment{{0x81, sumRequestLine + sumRequestLine}}, []fragment{{0x81, noJSON}}},
	} {
		t.Run(name, func(t *testing.T) {
			sent := wsFrames(true, tc.send...)
			for _, pieces := range [][][]byte{{sent}, bytewise(sent)} {
				c := dialWebSocket(t, addr)
				for _, p := range pieces {
					c.send(string(p))
				}
				// Replies come in any order.
				want := slices.Clone(tc.want)
				for range tc.want {
					first, got := c.frame()
					i := slices.IndexFunc(want, func(f fragment) bool { return f.first == first && strings.HasPrefix(got, f.payload) })
					if i < 0 {
						t.Fatalf("got %#x %q, want one of %q", first, got, want)
					}
					want = slices.Delete(want, i, i+1)
				}
			}
		})
	}
}

// What breaks the protocol is answered with a close frame, and closed.
func TestWebSocketServerErrors(t *testing.T) {
	log := new(lockedBuffer)
	cfg := serverConfig(newFixture().reg, everywire.Limits{MaxMessage: 1000, MaxMetadata: 1000})
	cfg.Logger = log.logger()
	addr := serve(t, NewWebSocketServer, cfg)
	request := fragment{0x81, sumRequestLine}
	for name, tc := range map[string]struct {
		sent []byte
		want []fragment
		code uint16
	}{
		"not masked":        {wsFrames(false, request), nil, websocket.CloseProtocol},
		"reserved":          {[]byte{0xf1, 0x80}, nil, websocket.CloseProtocol},
		"unknown":           {[]byte{0x83, 0x80}, nil, websocket.CloseProtocol},
		"behind a request":  {slices.Concat(wsFrames(true, request), []byte{0x80, 0x80}), []fragment{{0x81, sumReplyText}}, websocket.CloseProtocol},
		"not UTF-8":         {wsFrames(true, fragment{0x81, "{\"\xff\"}"}), nil, websocket.CloseNotUTF8},
		"half a close code": {wsFrames(true, fragment{0x88, "\x03"}), nil, websocket.CloseProtocol},
		"no status code":    {wsFrames(true, fragment{0x88, "\x03\xed"}), nil, websocket.CloseProtocol},
		"a code of nobody":  {wsFrames(true, fragment{0x88, "\x07\xd0"}), nil, websocket.CloseProtocol},
		"a reason in bytes": {wsFrames(true, fragment{0x88, "\x03\xe8\xff"}), nil, websocket.CloseNotUTF8},
		"too long": {
			[]byte{0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0},
			[]fragment{{0x81, `{"jsonrpc":"2.0","error":{"code":-32008,"message":"the request is longer than the limit of 7096 bytes"},"id":null}`}}, websocket.CloseTooBig,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialWebSocket(t, addr)
			c.send(string(tc.sent))
			for _, want := range tc.want {
				c.wantFrame(want.first, want.payload)
			}
			c.wantClose(tc.code)
		})
	}
	if got := log.String(); !strings.Contains(got, "closed a connection") || !strings.Contains(got, "WebSocket: a client's frame is not masked") {
		t.Errorf("the log is %s", got)
	}
}

// A close frame is answered when what was in flight has been.
func TestWebSocketClose(t *testing.T) {
	f := newFixture()
	addr := serve(t, NewWebSocketServer, serverConfig(f.reg, everywire.Limits{}))
	const wait = `{"jsonrpc":"2.0","method":"block","id":7}`
	for sent, want := range map[string]string{"": "", "\x03\xe8": "\x03\xe8", "\x0f\xa0why": "\x0f\xa0"} {
		c := dialWebSocket(t, addr)
		c.send(string(wsFrames(true, fragment{0x81, wait}, fragment{0x81, sumRequestLine})))
		<-f.began
		c.wantFrame(0x81, sumReplyText)
		c.send(string(wsFrames(true, fragment{0x88, sent}, fragment{0x89, "not looked at"})))
		if err := <-f.ended; err == nil {
			t.Error("the handler's context did not end")
		}
		if first, got := c.frame(); first != 0x81 || !strings.Contains(got, `"error"`) || !strings.HasSuffix(got, `"id":7}`) {
			t.Errorf("got %#x %q, want the reply", first, got)
		}
		c.wantFrame(0x88, want)
		c.wantEnd()
	}
	// In one segment with a request.
	c := dialWebSocket(t, addr)
	c.send(string(wsFrames(true, fragment{0x81, sumRequestLine}, fragment{0x88, ""})))
	c.wantFrame(0x81, sumReplyText)
	c.wantFrame(0x88, "")
	c.wantEnd()
}

// A server that shuts down answers what is in flight and says that it goes.
func TestWebSocketShutdown(t *testing.T) {
	f := newFixture()
	srv, err := NewWebSocketServer(serverConfig(f.reg, everywire.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	idle, busy := dialWebSocket(t, lis.Addr().String()), dialWebSocket(t, lis.Addr().String())
	unasked := dialRaw(t, lis.Addr().String()) // has not asked for an upgrade
	idle.send(string(wsFrames(true, fragment{0x81, sumRequestLine})))
	idle.wantFrame(0x81, sumReplyText) // so the engine has the connection
	busy.send(string(wsFrames(true, fragment{0x81, `{"jsonrpc":"2.0","method":"wait","params":["x"],"id":1}`})))
	<-f.began
	done := make(chan error, 1)
	go func() { done <- srv.Shutdown(context.Background()) }()
	idle.wantClose(websocket.CloseGoingAway)
	unasked.wantEnd()
	close(f.gate)
	busy.wantFrame(0x81, `{"jsonrpc":"2.0","result":"x","id":1}`)
	busy.wantClose(websocket.CloseGoingAway)
	for _, c := range []*rawConn{idle, busy} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A connection on which a message does not go on is closed, one that waits
// between two is not, unless it is to be when idle.
func TestWebSocketStalls(t *testing.T) {
	half := wsFrame(0x81, sumRequestLine, true)[:20]
	for name, tc := range map[string]struct {
		sent string
		idle string
		code uint16 // 0 if it stays open
	}{
		"nothing":           {"", "", 0},
		"a byte":            {"\x81", "", websocket.ClosePolicy},
		"half a frame":      {string(half), "", websocket.ClosePolicy},
		"half a message":    {string(wsFrame(0x01, "{", true)), "", websocket.ClosePolicy},
		"nothing, for long": {"", "1m", websocket.CloseGoingAway},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := serverConfig(newFixture().reg, everywire.Limits{})
				if tc.idle != "" {
					cfg.Options = rpc.Options{"idle": tc.idle}
				}
				srv, err := NewWebSocketServer(cfg)
				if err != nil {
					t.Fatal(err)
				}
				client, server := net.Pipe()
				lis := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
				lis.conns <- server
				served := make(chan error, 1)
				go func() { served <- srv.Serve(lis) }()
				c := newRaw(t, client).upgraded()
				if tc.sent != "" {
					c.send(tc.sent)
				}
				if tc.code != 0 {
					c.wantClose(tc.code)
				} else {
					if err := client.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
						t.Fatal(err)
					}
					if _, err := c.lines.ReadByte(); err == nil || err == io.EOF {
						t.Errorf("an idle connection: %v", err)
					}
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				if err := srv.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A logLines gets what a server logs, line by line.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// A peer that pings and does not read is cut off before its pongs fill memory.
func TestWebSocketPingFlood(t *testing.T) {
	log := make(logLines, 10)
	cfg := serverConfig(newFixture().reg, everywire.Limits{})
	cfg.Logger = slog.New(slog.NewTextHandler(log, nil))
	c := dialWebSocket(t, serve(t, NewWebSocketServer, cfg))
	pings := bytes.Repeat(wsFrame(0x89, strings.Repeat("p", websocket.MaxControl), true), 1000)
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			if _, err := c.Write(pings); err != nil {
				return
			}
		}
	})
	select {
	case line := <-log:
		if !strings.Contains(line, "sends pings and does not read") {
			t.Errorf("the log is %q", line)
		}
	case <-time.After(15 * time.Second):
		t.Error("the server takes pings without end")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	writing.Wait()
}

func TestWebSocketHandshake(t *testing.T) {
	const plain = "GET /any HTTP/1.1\r\nHost: a.example:80\r\n"
	const upgrade = "upgrade: WebSocket\r\nconnection: upgrade\r\n"
	const key = "Sec-WebSocket-Key: " + wsKey + "\r\n"
	const version = "Sec-WebSocket-Version: 13\r\n"
	fixed := serverConfig(newFixture().reg, everywire.Limits{})
	fixed.Path = "/here"
	open := serverConfig(fixed.Registry, everywire.Limits{})
	open.Options = rpc.Options{"origins": "b.example,C.example:8080"}
	all := serverConfig(fixed.Registry, everywire.Limits{})
	all.Options = rpc.Options{"origins": "*"}
	addrs := map[*rpc.ServerConfig]string{}
	for _, cfg := range []*rpc.ServerConfig{fixed, open, all} {
		addrs[cfg] = serve(t, NewWebSocketServer, cfg)
	}
	for name, tc := range map[string]struct {
		cfg    *rpc.ServerConfig
		sent   string
		status int
		field  string // "" for none
		value  string
	}{
		"right":               {open, plain + upgrade + key + version, 101, "Sec-WebSocket-Accept", wsAccept},
		"no subprotocol":      {open, plain + upgrade + key + version, 101, "Sec-WebSocket-Protocol", ""},
		"subprotocols":        {open, plain + upgrade + key + version + "Sec-WebSocket-Protocol: x, jsonrpc-2.0, jsonrpc\r\n", 101, "Sec-WebSocket-Protocol", "jsonrpc-2.0"},
		"others":              {open, plain + upgrade + key + version + "Sec-WebSocket-Protocol: x\r\n", 101, "Sec-WebSocket-Protocol", ""},
		"extensions":          {open, plain + upgrade + key + version + "Sec-WebSocket-Extensions: permessage-deflate\r\n", 101, "Sec-WebSocket-Extensions", ""},
		"the path":            {fixed, "GET /here HTTP/1.1\r\nHost: a\r\n" + upgrade + key + version, 101, "", ""},
		"another path":        {fixed, plain + upgrade + key + version, 404, "", ""},
		"POST":                {open, "POST / HTTP/1.1\r\nHost: a\r\n" + upgrade + key + version, 405, "Allow", "GET"},
		"no upgrade":          {open, plain, 426, "Upgrade", "websocket"},
		"another upgrade":     {open, plain + "Upgrade: h2c\r\nConnection: upgrade\r\n" + key + version, 426, "Upgrade", "websocket"},
		"no upgrade here":     {open, plain, 426, "Connection", "Upgrade"},
		"HTTP/1.0":            {open, "GET / HTTP/1.0\r\n" + upgrade + key + version, 426, "Upgrade", "websocket"},
		"no version":          {open, plain + upgrade + key, 400, "Sec-WebSocket-Version", "13"},
		"version 8":           {open, plain + upgrade + key + "Sec-WebSocket-Version: 8\r\n", 400, "Sec-WebSocket-Version", "13"},
		"no key":              {open, plain + upgrade + version, 400, "", ""},
		"two keys":            {open, plain + upgrade + key + key + version, 400, "", ""},
		"a short key":         {open, plain + upgrade + "Sec-WebSocket-Key: abcd\r\n" + version, 400, "", ""},
		"a body":              {open, plain + upgrade + key + version + "Content-Length: 1\r\n", 400, "", ""},
		"own origin":          {open, plain + upgrade + key + version + "Origin: http://A.example:80\r\n", 101, "", ""},
		"own host, else port": {open, plain + upgrade + key + version + "Origin: http://a.example:81\r\n", 403, "", ""},
		"allowed":             {open, plain + upgrade + key + version + "Origin: https://B.example\r\n", 101, "", ""},
		"allowed, with port":  {open, plain + upgrade + key + version + "Origin: https://c.example:8080\r\n", 101, "", ""},
		"allowed, else port":  {open, plain + upgrade + key + version + "Origin: https://c.example\r\n", 403, "", ""},
		"a subdomain":         {open, plain + upgrade + key + version + "Origin: https://x.b.example\r\n", 403, "", ""},
		"null":                {open, plain + upgrade + key + version + "Origin: null\r\n", 403, "", ""},
		"two origins":         {open, plain + upgrade + key + version + "Origin: https://b.example\r\nOrigin: https://b.example\r\n", 403, "", ""},
		"none allowed":        {fixed, "GET /here HTTP/1.1\r\nHost: a\r\n" + upgrade + key + version + "Origin: https://b.example\r\n", 403, "", ""},
		"all allowed":         {all, plain + upgrade + key + version + "Origin: null\r\n", 101, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, addrs[tc.cfg])
			c.send(tc.sent + "\r\n")
			res, err := http.ReadResponse(c.lines, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tc.status || tc.field != "" && res.Header.Get(tc.field) != tc.value {
				t.Errorf("%s, %s: %q; want %d, %q", res.Status, tc.field, res.Header.Get(tc.field), tc.status, tc.value)
			}
			if why, err := io.ReadAll(res.Body); tc.status != 101 && (err != nil || len(why) == 0) {
				t.Errorf("the reason is %q, %v", why, err)
			}
		})
	}
	t.Run("impatient", func(t *testing.T) {
		c := dialRaw(t, addrs[open])
		c.send(plain + upgrade + key + version + "\r\n" + string(wsFrame(0x81, sumRequestLine, true)))
		c.wantEnd()
	})
	for _, bad := range []string{"", "https://a/", "a/b", "a,,b"} {
		cfg := serverConfig(fixed.Registry, everywire.Limits{})
		cfg.Options = rpc.Options{"origins": bad}
		if _, err := NewWebSocketServer(cfg); err == nil || !strings.Contains(err.Error(), "option origins") {
			t.Errorf("origins=%s: %v", bad, err)
		}
	}
}
