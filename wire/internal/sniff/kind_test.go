package sniff

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// beginnings are what each wire's messages begin with, and what others do.
var beginnings = []struct {
	kind  Kind
	bytes string
}{
	{TLS, "\x16\x03\x01\x02\x00\x01"},
	{MessagePack, "\x94\x00\x01\xa3sum\x91\x01"},
	{MessagePack, "\x93\x02\xa8rpc.meta"},
	{MessagePack, "\xdc\x00\x04\x00"},
	{MessagePack, "\xdd\x00\x00\x00\x04"},
	{MessagePack, "\x84\xa7jsonrpc\xa32.0"},
	{MessagePack, "\xde\x00\x04"},
	{MessagePack, "\xdf\x00\x00\x00\x04"},
	{MessagePack, "\x91\x84\xa7jsonrpc"},
	{JSON, `{"jsonrpc":"2.0"}`},
	{JSON, `[{"jsonrpc":"2.0"}]`},
	{JSON, "\r\n{}"},
	{JSON, " \t{}"},
	{JSON, `17:{"jsonrpc":"2.0"},`},
	{JSON, "Content-Length: 2\r\n\r\n{}"},
	{JSON, "content-type: application/json\r\n"},
	{JSON, "CONTENT-LENGTH:2\r\n"},
	{HTTP1, "GET / HTTP/1.1\r\n"},
	{HTTP1, "POST /rpc HTTP/1.1\r\n"},
	{HTTP1, "CONNECT h:1 HTTP/1.1\r\n"},
	{HTTP1, "COPY /a HTTP/1.1\r\n"},
	{HTTP1, "CONTENT /a HTTP/1.1\r\n"},
	{HTTP1, "PRINT / HTTP/1.1\r\n"},
	{HTTP1, "PR / HTTP/1.1\r\n"},
	{HTTP1, "get / HTTP/1.1\r\n"}, // a method that nobody has, says HTTP's server
	{HTTP1, "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"},
	{HTTP1, "EHLO example.com\r\n"},
	{HTTP2, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{Unknown, "SSH-2.0-OpenSSH_9.6\r\n"},
	{Unknown, "GET\t/ HTTP/1.1\r\n"},
	{Unknown, "GET\r\n"},
	{Unknown, "Host: a\r\n"},
	{Unknown, "Content:length\r\n"},
	{Unknown, strings.Repeat("A", 100)},
	{Unknown, "\r\x00"[1:]},
	{Unknown, "\x00\x00\x00\x0cmagic"},
	{Unknown, "\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a"[4:]}, // the end of the PROXY protocol's second version
	{Unknown, "\x15\x03\x01\x00\x02"},                                 // an alert of TLS
	{Unknown, "\xef\xbb\xbf{}"},
	{Unknown, "\xc0"},
	{Unknown, "\"text\""},
	{Unknown, "<xml/>"},
	{Unknown, "-1"},
	{More, ""},
	{More, "P"},
	{More, "PRI"},
	{More, "GET"},
	{More, "Conte"},
	{More, "Content"},
}

// first is how much of b says what it is.
func first(b []byte) (n int, kind Kind) {
	for n = range len(b) + 1 {
		if kind = Of(b[:n]); kind != More {
			return n, kind
		}
	}
	return n, More
}

func TestOf(t *testing.T) {
	for _, test := range beginnings {
		if got := Of([]byte(test.bytes)); got != test.kind {
			t.Errorf("Of(%q) = %v, want %v", test.bytes, got, test.kind)
		}
		if _, got := first([]byte(test.bytes)); got != test.kind {
			t.Errorf("%q byte by byte is %v, want %v", test.bytes, got, test.kind)
		}
	}
}

// Every first byte is of one kind, and the kinds do not need many bytes.
func TestOfEveryByte(t *testing.T) {
	for c := range 256 {
		n, kind := first(append([]byte{byte(c)}, strings.Repeat("\x00", maxMethod+1)...))
		if kind == More || n > 2 {
			t.Errorf("0x%02x and zeros is %v after %d bytes", c, kind, n)
		}
	}
}

// What is decided stays so, whatever comes behind it, and it is decided soon.
func checkOf(t interface{ Fatalf(string, ...any) }, b []byte) {
	n, kind := first(b)
	if kind == More && len(b) > maxMethod+1 {
		t.Fatalf("%q: not decided", b)
	}
	for ; n <= len(b); n++ {
		if got := Of(b[:n]); got != kind {
			t.Fatalf("%q is %v, with more bytes %q is %v", b, kind, b[:n], got)
		}
	}
}

func TestOfSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.SampledFrom(beginnings).Draw(t, "beginning").bytes)
		b = b[:rapid.IntRange(0, len(b)).Draw(t, "cut")]
		checkOf(t, append(b, rapid.SliceOf(rapid.Byte()).Draw(t, "rest")...))
	})
}

func FuzzOf(f *testing.F) {
	for _, b := range beginnings {
		f.Add([]byte(b.bytes))
	}
	f.Fuzz(func(t *testing.T, b []byte) { checkOf(t, b) })
}
