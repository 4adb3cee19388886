package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestResponses(t *testing.T) {
	long := strings.Repeat("0123456789", 2000)
	huge := strings.Repeat("0123456789", 100_000)
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		body    string
		length  int64 // -1 is chunked
		header  []string
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, 200, "", 0, nil},
		{"short", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "a"); fmt.Fprint(w, "b") }, 200, "ab", 2,
			[]string{"Content-Type: text/plain; charset=utf-8"}},
		{"a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound); fmt.Fprint(w, "no") }, 404, "no", 2, nil},
		{"a status without a name", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(799) }, 799, "", 0, nil},
		{"long, in pieces", func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(long); i += 1000 {
				_, _ = io.WriteString(w, long[i:i+1000])
			}
		}, 200, long, -1, nil},
		{"huge, at once", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, huge) }, 200, huge, -1, nil},
		{"huge, with its length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(huge)))
			_, _ = io.WriteString(w, huge)
		}, 200, huge, int64(len(huge)), nil},
		{"flushed", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "a")
			w.(http.Flusher).Flush()
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "b")
		}, 200, "ab", -1, nil},
		{"with its length, in pieces", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			fmt.Fprint(w, "a")
			_ = http.NewResponseController(w).Flush()
			fmt.Fprint(w, "bc")
		}, 200, "abc", 3, nil},
		{"fields", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Many"] = []string{"1", "2"}
			w.Header().Set("Content-Type", "x/y")
			w.Header().Set("Date", "now")
			w.Header()["bad name"] = []string{"x"}
			w.Header().Set("X-Split", "a\r\nX-Evil: b")
			w.Header().Set("Transfer-Encoding", "gzip")
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Late", "late")
		}, 200, "", 0, []string{"X-Many: 1", "X-Many: 2", "Content-Type: x/y", "Date: now", "X-Split: a  X-Evil: b", "-X-Evil", "-bad name", "-X-Late", "-Transfer-Encoding"}},
		{"no guess beside an encoding", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, "<html>")
		}, 200, "<html>", 6, []string{"-Content-Type"}},
		{"a length that is none", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "many")
			fmt.Fprint(w, "ab")
		}, 200, "ab", 2, nil},
		{"204", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("ab")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("writing a body of 204: %v", err)
			}
		}, 204, "", 0, []string{"-Content-Length", "-Transfer-Encoding", "-Content-Type"}},
		{"304", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			w.WriteHeader(http.StatusNotModified)
		}, 304, "", 0, []string{"Content-Length: 2", "-Transfer-Encoding"}},
		{"more than said", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			n, err := w.Write([]byte("ab"))
			if m, err2 := w.Write([]byte("c")); n != 2 || err != nil || m != 0 || !errors.Is(err2, http.ErrContentLength) {
				t.Errorf("%d, %v; then %d, %v", n, err, m, err2)
			}
		}, 200, "ab", 2, nil},
		{"a second status", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusConflict)
		}, 201, "", 0, nil},
	} {
		client := handle(t, c.handler).dial()
		for range 2 { // the connection is good for another
			client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			r := client.receive("GET")
			if r.status != c.status || r.body != c.body || r.ContentLength != c.length || r.Close || (r.TransferEncoding != nil) != (c.length < 0) {
				t.Errorf("%s: %d, length %d, close %v, %d bytes %.100q", c.name, r.status, r.ContentLength, r.Close, len(r.body), r.body)
			}
			for _, h := range c.header {
				name, value, _ := strings.Cut(strings.TrimPrefix(h, "-"), ": ")
				if got := r.Header[name]; strings.HasPrefix(h, "-") && got != nil || !strings.HasPrefix(h, "-") && !strings.Contains(strings.Join(got, "|"), value) {
					t.Errorf("%s: %s is %q, want %s", c.name, name, got, h)
				}
			}
			if r.Header.Get("Date") == "" {
				t.Errorf("%s: no date", c.name)
			}
		}
	}
}

func TestHead(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/length":
			w.Header().Set("Content-Length", "7")
		case "/body":
			fmt.Fprint(w, "<html>")
		case "/stream":
			fmt.Fprint(w, "ab")
			w.(http.Flusher).Flush()
			fmt.Fprint(w, "cd")
		}
	})
	c := f.dial()
	for path, want := range map[string]string{"/length": "Content-Length: 7", "/body": "Content-Length: 6\r\nContent-Type: text/html", "/stream": "Transfer-Encoding: chunked", "/none": ""} {
		c.send("HEAD " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		var head strings.Builder
		for {
			line, err := c.r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if head.WriteString(line); line == "\r\n" {
				break
			}
		}
		if got := head.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "Content-Length") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// Of a response that says more than it has, the rest must not be taken from the
// next one.
func TestTooShort(t *testing.T) {
	c := handle(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "abc")
	}).dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n")
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != "abc" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestInformational(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprint(w, "ok")
	})
	c := f.dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if r := c.receive("GET"); r.status != 103 || r.Header.Get("Link") != "</a>" || r.Header.Get("Content-Length") != "" {
		t.Errorf("%d %v", r.status, r.Header)
	}
	if r := c.receive("GET"); r.status != 200 || r.body != "ok" || r.Header.Get("Link") != "" {
		t.Errorf("%d %v %s", r.status, r.Header, r.body)
	}
	c = f.dial()
	c.send("GET / HTTP/1.0\r\n\r\n")
	if r := c.receive("GET"); r.status != 200 { // HTTP/1.0 has none
		t.Errorf("1.0: %d", r.status)
	}
}

func TestResponseTrailers(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/declared" {
			w.Header().Set("Trailer", "X-Sum, Content-Length")
			w.Header().Set("X-Sum", "early")
		}
		fmt.Fprint(w, "body")
		if r.URL.Path == "/declared" {
			w.Header().Set("X-Sum", "7")
		} else {
			w.Header().Set(http.TrailerPrefix+"X-Sum", "7")
		}
	})
	for _, c := range []struct {
		path, head string
		want       bool
	}{
		{"/declared", "TE: trailers\r\n", true}, {"/prefix", "Te: gzip;q=1, Trailers\r\n", true},
		{"/declared", "", false}, {"/prefix", "", false}, {"/prefix", "TE: deflate\r\n", false},
	} {
		client := f.dial()
		client.send("GET " + c.path + " HTTP/1.1\r\nHost: x\r\n" + c.head + "\r\n")
		r := client.receive("GET")
		if got := r.Trailer.Get("X-Sum") == "7"; got != c.want || r.body != "body" || (r.ContentLength < 0) != c.want || len(r.Trailer) > 1 || c.want && r.Header["X-Sum"] != nil {
			t.Errorf("%s, %q: trailer %v, header %v, length %d, body %q", c.path, c.head, r.Trailer, r.Header, r.ContentLength, r.body)
		}
	}
}

// Reading and writing at once needs nothing special.
func TestFullDuplex(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		if err := errors.Join(control.SetReadDeadline(time.Now().Add(patience)), control.SetWriteDeadline(time.Now().Add(patience))); err != nil {
			t.Error(err)
		}
		var b [1]byte
		for {
			if _, err := io.ReadFull(r.Body, b[:]); err != nil {
				return
			}
			_, _ = w.Write(bytes.ToUpper(b[:]))
			_ = control.Flush()
		}
	})
	c := f.dial()
	c.send(chunkedPost)
	var res *http.Response
	for _, letter := range []string{"a", "b", "c"} {
		c.send("1\r\n" + letter + "\r\n")
		if res == nil {
			var err error
			if res, err = http.ReadResponse(c.r, nil); err != nil {
				t.Fatal(err)
			}
		}
		var got [1]byte
		if _, err := io.ReadFull(res.Body, got[:]); err != nil || string(got[:]) != strings.ToUpper(letter) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	c.send("0\r\n\r\n")
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
	if r := c.receive("POST"); r.body != "X" {
		t.Error(r.body)
	}
}

// What a goroutine does after its handler has returned changes nothing.
func TestResponseAfterTheHandler(t *testing.T) {
	var log syncBuffer
	var kept http.ResponseWriter
	f := start(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if kept == nil {
			kept = w
			return
		}
		kept.Header().Set("X-Evil", "x")
		kept.WriteHeader(http.StatusConflict)
		if n, err := kept.Write([]byte("evil")); n != 0 || err == nil {
			t.Errorf("wrote %d bytes, %v", n, err)
		}
		control := http.NewResponseController(kept)
		_, _, err := control.Hijack()
		if err == nil || control.Flush() == nil || control.SetReadDeadline(time.Now()) == nil || control.SetWriteDeadline(time.Now()) == nil {
			t.Error("it can still be used")
		}
		fmt.Fprint(w, "good")
	})})
	c := f.dial()
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	c.receive("GET")
	c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if r := c.receive("GET"); r.body != "good" || r.status != 200 || r.Header["X-Evil"] != nil {
		t.Errorf("%d %s", r.status, r.body)
	}
	if !strings.Contains(log.String(), "after the handler has returned") {
		t.Error(log.String())
	}
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
