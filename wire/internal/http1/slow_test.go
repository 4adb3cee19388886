package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inBubble runs f with a client of a server, in a time of their own.
func inBubble(t *testing.T, h http.HandlerFunc, f func(t *testing.T, c *client)) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Handler: h, Logger: discard})
		one, other := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.ServeConn(one)
		}()
		c := newClient(t, other)
		_ = other.SetDeadline(time.Time{})
		f(t, c)
		c.Close()
		<-done
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		<-time.After(2 * time.Second) // who still writes, one byte a second, learns of the end
	})
}

// A head that comes byte by byte is waited for for so long and no longer.
func TestSlowHead(t *testing.T) {
	inBubble(t, tell, func(t *testing.T, c *client) {
		begun := time.Now()
		go func() {
			for _, err := io.WriteString(c.Conn, "GET / HTTP/1.1\r\nHost: x\r\n"); err == nil; _, err = io.WriteString(c.Conn, "A: b\r\n") {
				<-time.After(time.Second)
			}
		}()
		checkRefusal(t, c.receive("GET"), 408, "10s")
		if d := time.Since(begun); d != 10*time.Second {
			t.Errorf("after %v", d)
		}
	})
}

func TestSlowBody(t *testing.T) {
	for _, head := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", chunkedPost + "100\r\n"} {
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("reading: %v", err)
			}
			if err := r.Context().Err(); err != nil {
				t.Errorf("the client is there, but: %v", err)
			}
			w.WriteHeader(http.StatusRequestTimeout)
		}, func(t *testing.T, c *client) {
			begun := time.Now()
			go func() {
				for _, err := io.WriteString(c.Conn, head); err == nil; _, err = io.WriteString(c.Conn, "x") {
					<-time.After(time.Second)
				}
			}()
			if r := c.receive("POST"); r.status != 408 || !r.Close {
				t.Errorf("%d, close %v", r.status, r.Close)
			}
			if d := time.Since(begun); d != 2*time.Minute {
				t.Errorf("after %v", d)
			}
		})
	}
}

// A handler may set a limit of its own, or none.
func TestReadDeadline(t *testing.T) {
	for _, own := range []time.Duration{time.Second, 0} {
		inBubble(t, func(w http.ResponseWriter, r *http.Request) {
			deadline := time.Time{}
			if own > 0 {
				deadline = time.Now().Add(own)
			}
			if err := http.NewResponseController(w).SetReadDeadline(deadline); err != nil {
				t.Error(err)
			}
			_, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, errors.Is(err, os.ErrDeadlineExceeded))
		}, func(t *testing.T, c *client) {
			c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabc")
			if own == 0 {
				<-time.After(time.Hour)
				c.send("d")
			}
			r := c.receive("POST")
			if r.body != strconv.FormatBool(own > 0) {
				t.Errorf("with %v: %s", own, r.body)
			}
			if own == 0 { // and then the server's holds again
				<-time.After(4 * time.Minute)
				c.ended()
			}
		})
	}
}

func TestIdle(t *testing.T) {
	inBubble(t, tell, func(t *testing.T, c *client) {
		for range 3 {
			c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			c.receive("GET")
			<-time.After(150 * time.Second)
		}
		begun := time.Now()
		c.ended()
		if d := time.Since(begun); d > 30*time.Second {
			t.Errorf("closed after %v more", d)
		}
	})
}

// A handler may run for longer than anything else is waited for, and the
// connection is good afterwards.
func TestSlowHandler(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Hour):
			tell(w, r)
		case <-r.Context().Done():
			t.Error(r.Context().Err())
		}
	}, func(t *testing.T, c *client) {
		for range 2 {
			c.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
			if r := c.receive("POST"); r.body != `POST / "abc"` {
				t.Error(r.body)
			}
		}
	})
}

// A client that does not read is let go.
func TestStalledWrite(t *testing.T) {
	ended := false
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
		if d := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || d > 30*time.Second || d < 26*time.Second || !errors.Is(r.Context().Err(), context.Canceled) {
			t.Errorf("after %v: %v, %v", d, err, r.Context().Err())
		}
		ended = true
	}, func(_ *testing.T, c *client) {
		c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-time.After(time.Minute)
	})
	if !ended {
		t.Error("the handler was held up for a minute")
	}
}

// One that reads slowly is not, however long it takes.
func TestSlowReader(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write(make([]byte, 4<<20)); err != nil {
			t.Error(err)
		}
	}, func(t *testing.T, c *client) {
		c.send("GET / HTTP/1.0\r\n\r\n")
		total := 0
		for b := make([]byte, 64<<10); ; {
			<-time.After(time.Second)
			n, err := c.Read(b)
			if total += n; err != nil {
				break
			}
		}
		if total < 4<<20 {
			t.Errorf("got %d bytes", total)
		}
	})
}

func TestWriteDeadline(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		_, err := w.Write(make([]byte, 1<<20))
		if d := time.Since(begun); !errors.Is(err, os.ErrDeadlineExceeded) || d != time.Second {
			t.Errorf("after %v: %v", d, err)
		}
	}, func(_ *testing.T, c *client) {
		c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-time.After(2 * time.Second)
	})
}
