package websocket

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// readAnswer reads no byte beyond the head, however it arrives.
func TestReadAnswer(t *testing.T) {
	head := "HTTP/1.1 101 Switching Protocols\r\nX: \r\r\n" + strings.Repeat("Field: value\r\n", 10) + "\r\n"
	for _, arrives := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader} {
		rest := strings.NewReader(head + "\r\n\r\n")
		got, err := readAnswer(arrives(rest))
		if err != nil || string(got) != head || rest.Len() != 4 {
			t.Errorf("got %q, %d bytes left, %v", got, rest.Len(), err)
		}
	}
}

// The two ends agree on a subprotocol, or do not speak.
func TestHandshake(t *testing.T) {
	for name, tc := range map[string]struct {
		client, server []string
		demand         bool
		want           string
		failure        string
	}{
		"none":          {nil, []string{"a"}, false, "", ""},
		"the first":     {[]string{"x", "b", "a"}, []string{"a", "b"}, true, "b", ""},
		"not necessary": {[]string{"x"}, []string{"a"}, false, "", ""},
		"necessary":     {[]string{"x"}, []string{"a"}, true, "", "speaks none of the subprotocols"},
	} {
		u := Upgrader{Subprotocols: tc.server}
		asked := make(chan string, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if status, why := u.Check(w.Header(), r); status != 0 {
				Refuse(w, r, status, why)
				return
			}
			conn, subprotocol, err := u.Upgrade(w, r)
			if err != nil || conn == nil {
				t.Errorf("%s: %v, %v", name, conn, err)
				return
			}
			asked <- r.Host + " " + r.URL.String() + " " + r.Header.Get("X-A") + " " + subprotocol
			_ = conn.Close() // nothing is said
		}))
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := Handshake(t.Context(), conn, &Request{
			Host: "h", Target: "/a%2Fb?c", Header: http.Header{"X-A": {"1"}}, Subprotocols: tc.client, Demand: tc.demand,
		})
		if got != tc.want || (err == nil) != (tc.failure == "") || err != nil && !strings.Contains(err.Error(), tc.failure) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if want := "h /a%2Fb?c 1 " + tc.want; <-asked != want {
			t.Errorf("%s: the server did not see %s", name, want)
		}
		_ = conn.Close() // the server has
		s.Close()
	}
}

// What HTTP/2 has no upgrade for is refused with words.
func TestCheckOfHTTP2(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	w := httptest.NewRecorder()
	status, why := new(Upgrader).Check(w.Header(), r)
	Refuse(w, r, status, why)
	if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), "HTTP/2.0") || w.Header().Get("Upgrade") != "" || w.Header().Get("Connection") != "" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}
