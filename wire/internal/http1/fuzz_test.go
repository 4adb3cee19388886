package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"
)

// A script is a connection that reads pieces, then io.EOF, and keeps what is
// written.
type script struct {
	pieces [][]byte
	out    bytes.Buffer
}

func (s *script) Read(p []byte) (int, error) {
	for len(s.pieces) > 0 {
		n := copy(p, s.pieces[0])
		if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
			s.pieces = s.pieces[1:]
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, io.EOF
}

func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (s *script) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// scriptedConn is a connection of a server that has read data.
func scriptedConn(data ...[]byte) *conn {
	return newConn(New(Config{Handler: http.HandlerFunc(tell), Logger: discard}), &script{pieces: data})
}

// FuzzHead checks that net/http reads a head that we accept in the same way.
func FuzzHead(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /a%20b?c=d HTTP/1.1\r\nhost: x:80\r\nContent-Length: 3\r\nCONNECTION: a, close\r\n\r\n",
		"GET http://a.example HTTP/1.1\r\nHost: b\r\n\r\n", "GET http://a.example?q HTTP/1.1\r\nHost: b\r\n\r\n",
		"PUT http://a.example/b HTTP/1.0\r\nX-Y: \t z \r\nX-y: 1\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n",
		"POST //[ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: a, b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\nA\rb: c\n d\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var scan headScan
		n, err := scan.end(data)
		if err != nil || n == 0 || n > 64<<10 {
			return
		}
		c := scriptedConn()
		c.in, c.w = data, len(data)
		x := &exchange{}
		if x.parse(c, n) != nil {
			return
		}
		got := &x.req
		want, err := http.ReadRequest(bufio.NewReaderSize(bytes.NewReader(data), 64<<10))
		if err != nil {
			t.Fatalf("net/http refuses what we accept: %v\n%q", err, data[:n])
		}
		if want.URL.Host != "" && want.URL.Path == "" && want.Method != http.MethodConnect {
			want.URL.Path = "/" // RFC 9110, section 4.2.3: net/http leaves it to its handlers
		}
		if want.Header.Get("Pragma") == "no-cache" && got.Header["Cache-Control"] == nil {
			delete(want.Header, "Cache-Control") // net/http adds it
		}
		if got.Method != want.Method || got.RequestURI != want.RequestURI || got.Proto != want.Proto || got.ProtoMajor != want.ProtoMajor ||
			got.ProtoMinor != want.ProtoMinor || got.Host != want.Host || *got.URL != *want.URL || got.ContentLength != want.ContentLength ||
			!slices.Equal(got.TransferEncoding, want.TransferEncoding) || got.Close != want.Close ||
			!maps.EqualFunc(got.Header, want.Header, slices.Equal) || !maps.EqualFunc(got.Trailer, want.Trailer, slices.Equal) {
			t.Fatalf("%q\nwe read       %+v %+v\nnet/http reads %+v %+v", data[:n], got, got.URL, want, want.URL)
		}
		for name := range got.Header {
			if name != textproto.CanonicalMIMEHeaderKey(name) {
				t.Fatalf("the name %q is not canonical", name)
			}
		}
	})
}

// FuzzChunks checks that net/http reads a chunked body that we accept in the
// same way, and to the same end.
func FuzzChunks(f *testing.F) {
	for _, seed := range []string{
		"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\nGET /", "1;a=b\r\nx\r\n00\r\nA: b\r\n\r\n", "a\r\n0123456789\r\n5\r\nabcde\r\n0\r\n\r\n",
		"1 \r\nx\r\n0\r\n\r\n", "1\nx\r\n0\r\n\r\n", "0x1\r\nx\r\n0\r\n\r\n", "1\r\nxy\r\n0\r\n\r\n", "0\r\nA : b\r\n\r\n", "fffffffffffffffff\r\n",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		data = append([]byte(chunkedPost), data...)
		c := scriptedConn(data)
		n, err := c.awaitHead()
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{}
		if err := x.parse(c, n); err != nil {
			t.Fatal(err)
		}
		var got []byte
		piece := make([]byte, int(size)+1)
		for err == nil {
			n, err = x.req.Body.Read(piece)
			got = append(got, piece[:n]...)
		}
		if !errors.Is(err, io.EOF) {
			return
		}
		whole := bufio.NewReaderSize(bytes.NewReader(data), 64<<10)
		want, err := http.ReadRequest(whole)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(want.Body)
		if err != nil || !bytes.Equal(body, got) || !maps.EqualFunc(x.req.Trailer, want.Trailer, slices.Equal) {
			t.Fatalf("%q\nwe read        %q %v\nnet/http reads %q %v, %v", data, got, x.req.Trailer, body, want.Trailer, err)
		}
		rest, err := io.ReadAll(whole)
		if err != nil {
			t.Fatal(err)
		}
		if unread, err := io.ReadAll(io.MultiReader(bytes.NewReader(c.in[c.r:c.w]), c.raw)); err != nil || !bytes.Equal(unread, rest) {
			t.Fatalf("%q\nwe leave        %q\nnet/http leaves %q", data, unread, rest)
		}
	})
}

// withoutDates removes what differs by the second.
func withoutDates(s string) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(s, "\n") {
		if !strings.HasPrefix(line, "Date: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
