package websocket

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// A readOnly is a connection of which only the reading end is looked at.
type readOnly struct {
	net.Conn
	io.Reader
}

func (c readOnly) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// connOf reads what was sent by a client; what it posts is appended to posted.
func connOf(sent io.Reader, limit int, posted *[]byte) *Conn {
	return NewConn(readOnly{nil, sent}, true, limit, func(frame []byte) error {
		*posted = append(*posted, frame...)
		return nil
	})
}

func TestConnReads(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	sent := wsFrames(true, fragment{0x81, "{}"}, fragment{0x89, "p"}, fragment{0x02, "a"}, fragment{0x89, ""}, fragment{0x80, "b"},
		fragment{0x81, long}, fragment{0x8a, "unasked"}, fragment{0x81, ""}, fragment{0x88, "\x03\xe9bye"})
	for name, r := range map[string]func([]byte) io.Reader{
		"whole":    func(b []byte) io.Reader { return bytes.NewReader(b) },
		"in parts": func(b []byte) io.Reader { return iotest.HalfReader(bytes.NewReader(b)) },
	} {
		var posted []byte
		c := connOf(r(bytes.Clone(sent)), 1<<20, &posted)
		for i, want := range []struct {
			text    bool
			message string
		}{{true, "{}"}, {false, "ab"}, {true, long}, {true, ""}} {
			text, message, err := c.ReadMessage()
			if err != nil || text != want.text || string(message) != want.message {
				t.Fatalf("%s: message %d: %v, %.100q, %v", name, i, text, message, err)
			}
		}
		_, _, err := c.ReadMessage()
		var closed *CloseError
		if !errors.As(err, &closed) || closed.Code != CloseGoingAway || closed.Reason != "bye" {
			t.Errorf("%s: the end is %v", name, err)
		}
		if want := string(wsFrames(false, fragment{0x8a, "p"}, fragment{0x8a, ""})); string(posted) != want {
			t.Errorf("%s: posted %q, want %q", name, posted, want)
		}
		if got := string(c.Goodbye(err)); got != "\x88\x02\x03\xe9" {
			t.Errorf("%s: the answer is %q", name, got)
		}
	}
}

func TestConnErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		sent []byte
		want string
		code string // that is said
	}{
		"nothing":       {nil, "unexpected EOF", ""},
		"half a frame":  {wsFrame(0x81, "abc", true)[:4], "unexpected EOF", ""},
		"no status":     {wsFrame(0x88, "", true), "WebSocket: closed by the peer", "\x88\x00"},
		"no reason":     {wsFrame(0x88, "\x03\xe8", true), "WebSocket: closed by the peer with 1000", "\x88\x02\x03\xe8"},
		"half a status": {wsFrame(0x88, "\x03", true), "WebSocket: a close frame has one byte", "\x03\xea"},
		"too long":      {wsFrame(0x81, strings.Repeat("x", 1001), true), "WebSocket: a message is longer than the limit of 1000 bytes", "\x03\xf1"},
		"fragments":     {append(wsFrame(0x01, "", true), bytes.Repeat(wsFrame(0x00, "", true), 2000)...), "WebSocket: a message is in too many fragments", "\x03\xf0"},
	} {
		var posted []byte
		c := connOf(bytes.NewReader(tc.sent), 1000, &posted)
		_, _, err := c.ReadMessage()
		if err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
		if got := string(c.Goodbye(err)); !strings.Contains(got, tc.code) || (got == "") != (tc.code == "") {
			t.Errorf("%s: said %q, want %q", name, got, tc.code)
		}
	}
	full := errors.New("full")
	c := NewConn(readOnly{nil, bytes.NewReader(wsFrame(0x89, "p", true))}, true, 10, func([]byte) error { return full })
	if _, _, err := c.ReadMessage(); !errors.Is(err, full) {
		t.Errorf("a pong that finds no room: %v", err)
	}
}

// What one end wraps, the other reads, however it is cut.
func TestConnProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server := rapid.Bool().Draw(t, "server")
		end := NewConn(nil, !server, 0, nil)
		var sent []byte
		messages := rapid.SliceOfN(rapid.StringN(0, 70_000, 70_000), 0, 5).Draw(t, "messages")
		for _, m := range messages {
			sent = end.Wrap(append(sent, m...), len(sent), Text)
		}
		sent = append(sent, end.CloseFrame(CloseNormal, strings.Repeat("é", 100))...)
		c := NewConn(readOnly{nil, &cutReader{sent, rapid.IntRange(1, 10_000).Draw(t, "cut")}}, server, 70_000, nil)
		for i, want := range messages {
			if _, got, err := c.ReadMessage(); err != nil || string(got) != want {
				t.Fatalf("message %d of %d bytes: %d bytes, %v", i, len(want), len(got), err)
			}
		}
		var closed *CloseError
		if _, _, err := c.ReadMessage(); !errors.As(err, &closed) || closed.Reason != strings.Repeat("é", 61) {
			t.Fatalf("the end is %v", err)
		}
	})
}

// A cutReader gives at most n bytes at a time.
type cutReader struct {
	rest []byte
	n    int
}

func (r *cutReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.n)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
