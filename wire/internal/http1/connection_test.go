package http1

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestPipelining(t *testing.T) {
	f := handle(t, tell)
	c := f.dial()
	c.send("POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" +
		"POST /2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ndef\r\n0\r\n\r\n\r\n" + // a line too many
		"GET /3 HTTP/1.1\r\nHost: x\r\n\r\nGET /4 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /5 HTTP/1.1\r\nHost: x\r\n\r\n")
	for _, want := range []string{`POST /1 "abc"`, `POST /2 "def"`, `GET /3 ""`, `GET /4 ""`} {
		if r := c.receive("GET"); r.body != want || r.Close != strings.HasPrefix(want, "GET /4") {
			t.Errorf("got %q, close %v, want %q", r.body, r.Close, want)
		}
	}
	c.ended()
}

// More requests at once than any buffer holds, and bodies longer than it.
func TestPipeliningMuch(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	c := f.dial()
	const count = 300
	go func() {
		var b strings.Builder
		for i := range count {
			fmt.Fprintf(&b, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", i*97, strings.Repeat("y", i*97))
		}
		_, _ = io.WriteString(c.Conn, b.String())
	}()
	for i := range count {
		if r := c.receive("POST"); r.body != fmt.Sprint(i*97, nil) {
			t.Fatalf("request %d: %s", i, r.body)
		}
	}
}

func TestPersistence(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/close":
			w.Header().Set("Connection", "close")
		case "/stream":
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, "ok")
	})
	for _, c := range []struct {
		name, request string
		persists      bool
		connection    string
	}{
		{"1.1", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, ""},
		{"1.1, close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false, ""},
		{"1.1, Close among others", "GET / HTTP/1.1\r\nHost: x\r\nConnection: a , Close\r\n\r\n", false, ""},
		{"1.1, close on a second line", "GET / HTTP/1.1\r\nHost: x\r\nConnection: a\r\nConnection: close\r\n\r\n", false, ""},
		{"1.1, not quite close", "GET / HTTP/1.1\r\nHost: x\r\nConnection: closed\r\n\r\n", true, ""},
		{"1.1, by the handler", "GET /close HTTP/1.1\r\nHost: x\r\n\r\n", false, ""},
		{"1.0", "GET / HTTP/1.0\r\n\r\n", false, ""},
		{"1.0, keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true, "keep-alive"},
		{"1.0, keep-alive and close", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false, ""},
		{"1.0, keep-alive, a body without a length", "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false, ""},
	} {
		client := f.dial()
		client.send(c.request)
		r := client.receive("GET")
		if got := r.Header.Get("Connection"); r.body != "ok" || got != c.connection || r.Close == c.persists {
			t.Errorf("%s: %q, Connection %q, close %v", c.name, r.body, got, r.Close)
		}
		if !c.persists {
			client.ended()
			continue
		}
		client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if r := client.receive("GET"); r.body != "ok" {
			t.Errorf("%s: the second request got %q", c.name, r.body)
		}
	}
}

func TestRequestAsHandlersSeeIt(t *testing.T) {
	f := handle(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Host != "x.example" || r.RemoteAddr == "" || r.TLS != nil || r.ContentLength != 0 || r.Body != http.NoBody || r.Proto != "HTTP/1.1" ||
			r.Header.Get("Host") != "" || len(r.Header["Many"]) != 3 || r.Header.Get("X-Odd") != "v" || r.URL.Host != "" || r.Close {
			t.Errorf("%+v", r)
		}
		ctx := r.Context()
		if _, ok := ctx.Value(http.ServerContextKey).(*http.Server); !ok || fmt.Sprint(ctx.Value(http.LocalAddrContextKey)) == "" || ctx.Value("other") != nil {
			t.Error("the context lacks something")
		}
		if _, ok := ctx.Deadline(); ok || ctx.Err() != nil {
			t.Error("the context has a deadline or has ended")
		}
	})
	c := f.dial()
	var many strings.Builder
	for i := range 20 { // more than fit in the request's own block
		fmt.Fprintf(&many, "X-%d: v\r\n", i)
	}
	c.send("GET / HTTP/1.1\r\nhost: x.example\r\nmany: 1\r\nMANY: 2\r\nMany: 3\r\nx-oDD: v\r\n" + many.String() + "\r\n")
	c.receive("GET")
}
