package jsonrpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// Long messages travel in the coding of the option compression, both ways, and
// short ones do not.
func TestHTTPCodings(t *testing.T) {
	type echo struct {
		Text string `wire:"1"`
	}
	for _, coding := range []string{"gzip", "br", "zstd"} {
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "t.T/Echo", func(_ context.Context, in *echo) (*echo, error) { return in, nil })
		h, err := NewHandler(serverConfig(reg, everywire.Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		var asked, answered string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("Content-Encoding")
			h.ServeHTTP(w, r)
			answered = w.Header().Get("Content-Encoding")
		}))
		cfg := clientConfig(srv.Listener.Addr().String(), nil)
		cfg.Options = rpc.Options{"compression": coding}
		conn, err := NewHTTPConn(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{"short": "", strings.Repeat("long ", 1000): coding} {
			out, err := everywire.Call[echo](t.Context(), conn, "t.T/Echo", &echo{text})
			if err != nil || out.Text != text || asked != want || answered != want {
				t.Errorf("%s, %d bytes: %v, asked in %q, answered in %q", coding, len(text), err, asked, answered)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	}
}

// A reply that is not what it says, or too much, is refused.
func TestHTTPCodedReplies(t *testing.T) {
	for name, c := range map[string]struct {
		coding string
		body   []byte
		code   codes.Code
	}{
		"not gzip": {"gzip", []byte("{}"), codes.Internal},
		"unknown":  {"deflate", []byte("{}"), codes.Internal},
		"a bomb":   {"gzip", httpbody.Gzip.Append(nil, make([]byte, 8<<20)), codes.ResourceExhausted},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", c.coding)
			_, _ = w.Write(c.body)
		}))
		conn, err := NewHTTPConn(clientConfig(srv.Listener.Addr().String(), nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Invoke(t.Context(), "/t.T/Echo", &everywire.Document{}, &everywire.Document{}); status.Code(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	}
}
