package http1

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const chunkedPost = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

func TestChunks(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct{ name, body, want string }{
		{"none", "0\r\n\r\n", `""`},
		{"one", "3\r\nabc\r\n0\r\n\r\n", `"abc"`},
		{"some", "1\r\na\r\n002\r\nbc\r\n0\r\n\r\n", `"abc"`},
		{"digits in any letter case", "a\r\n0123456789\r\nB\r\n0123456789a\r\n00\r\n\r\n", `"01234567890123456789a"`},
		{"extensions", "3;a;b=c;d=\"e \xff\"\r\nabc\r\n0;x\r\n\r\n", `"abc"`},
		{"a long one", "2710\r\n" + long + "\r\n0\r\n\r\n", fmt.Sprintf("%q", long)},
		{"trailers", "1\r\na\r\n0\r\nX-Sum:  7 \r\nx-other: 8\r\n\r\n", `"a" X-Other=[8] X-Sum=[7]`},

		{"longer than said", "1\r\nab\r\n0\r\n\r\n", `longer than it says`},
		{"a bare LF behind the size", "1\na\r\n0\r\n\r\n", `carriage return`},
		{"a bare LF behind the data", "1\r\na\n0\r\n\r\n", `carriage return`},
		{"a bare LF at the end", "1\r\na\r\n0\r\n\n", `carriage return`},
		{"no size", "\r\na\r\n0\r\n\r\n", `not a hexadecimal number`},
		{"no hexadecimal size", "xyz\r\na\r\n0\r\n\r\n", `not a hexadecimal number: "xyz"`},
		{"a sign", "+1\r\na\r\n0\r\n\r\n", `not a hexadecimal number: "+1"`},
		{"negative", "-1\r\na\r\n0\r\n\r\n", `not a hexadecimal number: "-1"`},
		{"0x", "0x1\r\na\r\n0\r\n\r\n", `not a hexadecimal number: "0x1"`},
		{"a space before the size", " 1\r\na\r\n0\r\n\r\n", `not a hexadecimal number`},
		{"a space behind the size", "1 \r\na\r\n0\r\n\r\n", `not a hexadecimal number`},
		{"a space before an extension", "1 ;a\r\na\r\n0\r\n\r\n", `not a hexadecimal number`},
		{"too large", "8000000000000000\r\na\r\n0\r\n\r\n", `too large`},
		{"too many digits", "00000000000000001\r\na\r\n0\r\n\r\n", `too large`},
		{"a bare CR in an extension", "1;a\rb\r\na\r\n0\r\n\r\n", `control character`},
		{"NUL in an extension", "1;a\x00\r\na\r\n0\r\n\r\n", `control character`},
		{"a long extension", "1;" + strings.Repeat("e", 300) + "\r\na\r\n0\r\n\r\n", `longer than 256`},
		{"a long line without an end", "1;" + strings.Repeat("e", 5000), `longer than 256`},
		{"many extensions", strings.Repeat("1;"+strings.Repeat("e", 200)+"\r\na\r\n", 100) + "0\r\n\r\n", `too much beside`},
		{"a trailer that is none", "0\r\nX-Sum : 7\r\n\r\n", `name`},
		{"a folded trailer", "0\r\nX-Sum: 7\r\n 8\r\n\r\n", `folded`},
		{"a trailer that frames", "0\r\nContent-Length: 7\r\n\r\n", `cannot come behind`},
		{"a trailer for the host", "0\r\nHost: y\r\n\r\n", `cannot come behind`},
		{"many trailers", "0\r\n" + strings.Repeat("A: b\r\n", 2000) + "\r\n", `more than 1000 trailers`},
		{"long trailers", "0\r\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 20) + "\r\n", `longer than`},
	} {
		f := handle(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				fmt.Fprint(w, err)
				return
			}
			fmt.Fprintf(w, "%q", body)
			for _, name := range []string{"X-Other", "X-Sum"} {
				if v := r.Trailer[name]; v != nil {
					fmt.Fprintf(w, " %s=%s", name, v)
				}
			}
		})
		client := f.dial()
		client.send(chunkedPost + c.body)
		r := client.receive("POST")
		if good := strings.HasPrefix(c.want, `"`); !strings.Contains(r.body, c.want) || good && r.body != c.want {
			t.Errorf("%s: got %.200s, want %s", c.name, r.body, c.want)
		} else if !good {
			client.ended()
		} else {
			client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			client.receive("GET")
		}
	}
}

func TestDeclaredTrailers(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if v, ok := r.Trailer["X-Sum"]; !ok || v != nil || r.Header["Trailer"] != nil {
			t.Errorf("before the body: %v %v", r.Trailer, r.Header)
		}
		_, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, r.Trailer, err)
	})
	c := f.dial()
	c.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n0\r\nX-Sum: 7\r\n\r\n")
	if r := c.receive("POST"); r.body != "map[X-Sum:[7]] <nil>" {
		t.Error(r.body)
	}
}

// The last of a body comes with io.EOF, so that a reader that stops there has
// read all of it.
func TestLastByteComesWithEOF(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		var b [10]byte
		n, err := io.ReadAtLeast(r.Body, b[:], 3)
		fmt.Fprint(w, n, err)
		_, err = r.Body.Read(b[:])
		fmt.Fprint(w, err)
	})
	for _, request := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", chunkedPost + "3\r\nabc\r\n0\r\n\r\n"} {
		c := f.dial()
		c.send(request)
		if r := c.receive("POST"); r.body != "3 <nil>EOF" {
			t.Error(r.body)
		}
	}
}

func TestExpectations(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		if r.URL.Path == "/own" {
			w.WriteHeader(http.StatusContinue)
		}
		tell(w, r)
	})
	head := func(path, more string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n" + more
	}
	for _, path := range []string{"/", "/own"} {
		c := f.dial()
		c.send(head(path, ""))
		if r := c.receive("POST"); r.status != 100 {
			t.Fatalf("%s: got %d, want 100", path, r.status)
		}
		c.send("abc")
		if r := c.receive("POST"); r.status != 200 || !strings.Contains(r.body, "abc") || r.Close {
			t.Errorf("%s: then: %d %s", path, r.status, r.body)
		}
	}
	// A body that has come already is not asked for.
	c := f.dial()
	c.send(head("/", "abc"))
	if r := c.receive("POST"); r.status != 200 || r.Close {
		t.Errorf("with its body: %d", r.status)
	}
	// One that is not wanted may come or not, so nothing can follow.
	c = f.dial()
	c.send(head("/refuse", ""))
	if r := c.receive("POST"); r.status != 403 || !r.Close {
		t.Errorf("refused: %d, close %v", r.status, r.Close)
	}
	c.ended()
	// Without a body there is nothing to ask for.
	c = f.dial()
	c.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n")
	if r := c.receive("POST"); r.status != 200 || r.Close {
		t.Errorf("without a body: %d", r.status)
	}
}

// A body that no handler wants is read if it is short, so that the connection
// can be kept.
func TestUnreadBody(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) })
	for name, request := range map[string]string{
		"with its head": "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
		"longer":        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000),
		"chunked":       strings.Replace(chunkedPost, " /", " /a", 1) + "3\r\nabc\r\n0\r\n\r\n",
	} {
		c := f.dial()
		c.send(request + "GET /b HTTP/1.1\r\nHost: x\r\n\r\n")
		for _, want := range []string{"/a", "/b"} {
			if r := c.receive("GET"); r.body != want || r.Close {
				t.Errorf("%s: got %s, close %v", name, r.body, r.Close)
			}
		}
	}
}

// The answer to a body that is too long reaches a client that is still sending.
func TestAnswerBeforeLongBody(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 1000))
		var tooLong *http.MaxBytesError
		if !errors.As(err, &tooLong) {
			t.Errorf("reading: %v", err)
		}
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
	})
	const size = 8 << 20
	for name, head := range map[string]string{
		"a length": fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size),
		"chunks":   fmt.Sprintf("%s%x\r\n", chunkedPost, size),
	} {
		c := f.dial()
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c.Conn, head+strings.Repeat("x", size/2))
			sent <- err
		}()
		if r := c.receive("POST"); r.status != 413 || !r.Close && name == "a length" {
			t.Errorf("%s: %d, close %v", name, r.status, r.Close)
		}
		c.Close()
		<-sent
	}
}

func TestBodyAfterTheHandler(t *testing.T) {
	var kept io.Reader
	f := handle(t, func(_ http.ResponseWriter, r *http.Request) {
		if kept == nil {
			kept = r.Body
		}
	})
	c := f.dial()
	c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nsecret")
	c.receive("POST")
	c.receive("POST")
	if n, err := kept.Read(make([]byte, 10)); n != 0 || !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// A goroutine that goes on reading a body when its handler has returned neither
// holds the connection nor gets what follows.
func TestBodyReadBesideTheEnd(t *testing.T) {
	read := make(chan error, 1)
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		begun := make(chan struct{})
		go func() {
			_, err := r.Body.Read(make([]byte, 1))
			close(begun)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
			read <- err
		}()
		<-begun
		fmt.Fprint(w, "done")
	})
	c := f.dial()
	c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc")
	if r := c.receive("POST"); r.body != "done" {
		t.Error(r.body)
	}
	if err := <-read; err == nil {
		t.Error("the reader did not learn of the end")
	}
	c.ended()
}

func TestCutBody(t *testing.T) {
	for _, request := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", chunkedPost + "a\r\nabc", chunkedPost + "3\r\nabc\r\n", chunkedPost + "3\r\nabc\r\n0\r\n"} {
		got := make(chan error, 1)
		f := handle(t, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			<-r.Context().Done() // the client has gone
			got <- err
		})
		c := f.dial()
		c.send(request)
		c.Close()
		if err := <-got; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", request, err)
		}
	}
}
