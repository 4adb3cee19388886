package http1

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// serveScript returns what a server answers to pieces.
func serveScript(pieces ...[]byte) string {
	c := scriptedConn(pieces...)
	c.srv.ServeConn(c.raw)
	return withoutDates(c.raw.(*script).out.String())
}

// However the bytes of a connection come in, they mean the same.
func TestSplits(t *testing.T) {
	requests := rapid.Custom(func(t *rapid.T) string {
		body := strings.Repeat("b", rapid.SampledFrom([]int{0, 1, 50, 3000, 5000, 20_000}).Draw(t, "length"))
		fields := "Host: x\r\n" + rapid.SampledFrom([]string{"", "A: b\r\nC: d\r\n", "Long: " + strings.Repeat("l", 6000) + "\r\n"}).Draw(t, "fields")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return "GET /get HTTP/1.1\r\n" + fields + "\r\n"
		case 1:
			return "\r\nPOST /length HTTP/1.1\r\n" + fields + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
		case 2:
			return "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n" + fields + "\r\n"
		case 3:
			return rapid.SampledFrom([]string{"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: x\r\n\r\n", "G", "\x00", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"}).Draw(t, "last")
		}
		var b strings.Builder
		b.WriteString("POST /chunks HTTP/1.1\r\n" + fields + "Transfer-Encoding: chunked\r\n\r\n")
		for body != "" {
			n := rapid.IntRange(1, len(body)).Draw(t, "chunk")
			fmt.Fprintf(&b, "%x;e\r\n%s\r\n", n, body[:n])
			body = body[n:]
		}
		b.WriteString(rapid.SampledFrom([]string{"0\r\n\r\n", "0;e\r\nT: u\r\n\r\n"}).Draw(t, "end"))
		return b.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOfN(requests, 1, 4).Draw(t, "requests"), "")
		want := serveScript([]byte(stream))
		var pieces [][]byte
		for rest := stream; rest != ""; {
			n := min(len(rest), rapid.SampledFrom([]int{1, 2, 3, 17, 100, 1000, 4096, 10_000}).Draw(t, "piece"))
			pieces = append(pieces, []byte(rest[:n]))
			rest = rest[n:]
		}
		if got := serveScript(pieces...); got != want {
			t.Fatalf("in pieces: %.2000q\nat once:   %.2000q", got, want)
		}
	})
}
