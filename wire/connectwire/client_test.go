package connectwire

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func dial(t *testing.T, url string, options rpc.Options) rpc.Conn {
	t.Helper()
	conn, err := NewConn(&rpc.ClientConfig{
		Target: url, Methods: registry(), Codecs: testCodecs, Options: options, Limits: everywire.Limits{}.WithDefaults(),
		Addrs: []string{strings.TrimPrefix(url, "http://")},
		DialAddr: func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// What options do to a request, on a server that is not ours.
func TestClientOptions(t *testing.T) {
	h := newTestHandler(t, nil)
	var last atomic.Pointer[http.Request]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last.Store(r.Clone(context.Background()))
		h.ServeHTTP(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()

	long := strings.Repeat("a", 5000)
	for _, c := range []struct {
		options            rpc.Options
		method             string
		verb, proto        string
		contentType, coded string
	}{
		{nil, "Echo", "POST", "HTTP/2.0", "application/proto", ""},
		{rpc.Options{"http": "1.1", "codec": "json"}, "Echo", "POST", "HTTP/1.1", "application/json", ""},
		{rpc.Options{"codec": "cbor", "compression": "zstd"}, "Echo", "POST", "HTTP/2.0", "application/cbor", "zstd"},
		{rpc.Options{"compression": "gzip", "compressmin": "10000"}, "Echo", "POST", "HTTP/2.0", "application/proto", ""},
		{rpc.Options{"get": "", "codec": "json"}, "Read", "GET", "HTTP/2.0", "", ""},
		{rpc.Options{"get": ""}, "Echo", "POST", "HTTP/2.0", "application/proto", ""},
		{rpc.Options{"protocol": "grpc-web", "codec": "msgpack"}, "Echo", "POST", "HTTP/2.0", "application/grpc-web+msgpack", ""},
	} {
		conn := dial(t, server.URL, c.options)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out, err := everywire.Call[note](ctx, conn, "test.Notes/"+c.method, &note{Text: long})
		cancel()
		if err != nil || out.Text != long {
			t.Errorf("%v: %v", c.options, err)
			continue
		}
		r := last.Load()
		if r.Method != c.verb || r.Proto != c.proto {
			t.Errorf("%v: %s by %s, want %s by %s", c.options, r.Method, r.Proto, c.verb, c.proto)
		}
		if ct, coded := r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding"); ct != c.contentType || coded != c.coded {
			t.Errorf("%v: Content-Type %q, Content-Encoding %q", c.options, ct, coded)
		}
	}
}

func TestClientMistakes(t *testing.T) {
	for _, options := range []rpc.Options{
		{"codec": "xml"}, {"protocol": "soap"}, {"http": "3"}, {"compression": "lzma"}, {"compression": "gzip", "compressmin": "few"},
		{"compression": "gzip", "compressmin": "-1"}, {"compressmin": "10"},
	} {
		if _, err := NewConn(&rpc.ClientConfig{Codecs: testCodecs, Options: options}); err == nil {
			t.Errorf("%v was taken", options)
		}
	}
}

// What comes from somebody who does not speak the protocol.
func TestStrangers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   codes.Code
	}{
		"page":         {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, codes.Unknown},
		"not found":    {http.NotFound, codes.Unimplemented},
		"other codec":  {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") }, codes.Internal},
		"not a proto":  {func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "application/proto", "\xff") }, codes.Internal},
		"no code":      {func(w http.ResponseWriter, _ *http.Request) { answer(w, 503, "application/json", "{}") }, codes.Unavailable},
		"odd code":     {func(w http.ResponseWriter, _ *http.Request) { answer(w, 404, "application/json", `{"code":"x"}`) }, codes.Unimplemented},
		"cut off":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, codes.Unavailable},
		"endless text": {func(w http.ResponseWriter, r *http.Request) { endless(w, r) }, codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			conn := dial(t, server.URL, rpc.Options{"http": "1.1"})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := everywire.Call[note](ctx, conn, "test.Notes/Echo", &note{})
			if status.Code(err) != c.want {
				t.Errorf("got %v, want the code %v", err, c.want)
			}
		})
	}
}

func answer(w http.ResponseWriter, code int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(code)
	_, _ = w.Write([]byte(body))
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/proto")
	for block := make([]byte, 64<<10); r.Context().Err() == nil; {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}
