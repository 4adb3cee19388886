package wire_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

type empty struct {
	_ struct{} `wire:"name=test.Empty"`
}

// What declares a path for JSON-RPC, and a route whose success is 200, is found
// there on every server that HTTP reaches; what the program puts around handlers is
// on every response.
func TestPathsAndAround(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Door/Knock", func(context.Context, *empty) (*empty, error) { return new(empty), nil },
		everywire.WithRoute("GET", "/knock", "", everywire.EmptyOK()),
		everywire.WithRoute("GET", "/tap", ""),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "door.Knock", Path: "/api/v1/door"}))
	around := wire.WithHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Worker", "one")
			next.ServeHTTP(w, r)
		})
	})
	inner := wire.WithHTTP(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Worker", w.Header().Get("X-Worker")+", two")
			if r.URL.Path == "/raw" {
				_, _ = io.WriteString(w, "text") // the client has gone
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s, err := wire.Serve(t.Context(), reg, []string{"rest://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0", "any://127.0.0.1:0", "connect://127.0.0.1:0"}, quiet, around, inner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Shutdown(context.WithoutCancel(t.Context())) }() // nothing is in flight
	h, err := wire.NewHandler(reg, "any", quiet, around, inner)
	if err != nil {
		t.Fatal(err)
	}
	own := httptest.NewServer(h)
	defer own.Close()
	urls := map[string]string{"handler": own.URL}
	for i, name := range []string{"rest", "jsonrpc", "any", "connect"} {
		urls[name] = "http://" + s.Targets()[i].Addrs[0]
	}
	const call = `{"jsonrpc":"2.0","method":"door.Knock","id":1}`
	const result = `{"jsonrpc":"2.0","result":{},"id":1}`
	for _, c := range []struct {
		on                 string // the servers
		verb, path, body   string
		status             int
		wantBody, wantType string
	}{
		{"rest any handler", "GET", "/knock", "", 200, "", ""},
		{"rest any handler", "HEAD", "/knock", "", 200, "", ""},
		{"rest any handler", "GET", "/tap", "", 204, "", ""},
		{"rest jsonrpc any handler connect", "GET", "/raw", "", 200, "text", "text/plain; charset=utf-8"},
		{"jsonrpc any handler", "POST", "/api/v1/door", call, 200, result, "application/json"},
		{"jsonrpc any handler", "POST", "/rpc", call, 200, result, "application/json"},
		{"jsonrpc any handler", "GET", "/api/v1/door", "", 405, "", "application/json"},
		{"rest any handler", "POST", "/api/v1/doors", call, 404, "", "application/problem+json"},
		{"jsonrpc", "POST", "/api/v1/doors", call, 404, "", "application/json"},
	} {
		for name := range strings.FieldsSeq(c.on) {
			req, err := http.NewRequestWithContext(t.Context(), c.verb, urls[name]+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close() // it has been read
			if err != nil || res.StatusCode != c.status || c.status < 400 && string(body) != c.wantBody || res.Header.Get("Content-Type") != c.wantType {
				t.Errorf("%s: %s %s: %d, %q, %q, %v", name, c.verb, c.path, res.StatusCode, body, res.Header.Get("Content-Type"), err)
			}
			if c.status == 200 && c.wantBody == "" && res.ContentLength != 0 {
				t.Errorf("%s: %s %s: length %d", name, c.verb, c.path, res.ContentLength)
			}
			if got := res.Header.Values("X-Worker"); len(got) != 1 || got[0] != "one, two" {
				t.Errorf("%s: %s %s: X-Worker %q", name, c.verb, c.path, got)
			}
		}
	}
}

func TestPathFaults(t *testing.T) {
	for _, path := range []string{"door", "/a?b", "/a b", "/%61", "//"} {
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "test.Door/Knock", func(context.Context, *empty) (*empty, error) { return new(empty), nil },
			everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "door.Knock", Path: path}))
		if _, err := wire.NewHandler(reg, "jsonrpc+http"); err == nil || !strings.Contains(err.Error(), "is not the path of a URL") {
			t.Errorf("path %q: %v", path, err)
		}
	}
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Door/Knock", func(context.Context, *empty) (*struct {
		N int `wire:"1"`
	}, error) {
		return nil, nil
	}, everywire.WithRoute("GET", "/knock", "", everywire.EmptyOK()))
	if _, err := wire.NewHandler(reg, "rest"); err == nil || !strings.Contains(err.Error(), "GET /knock of test.Door/Knock: EmptyOK is for replies without fields") {
		t.Errorf("EmptyOK: %v", err)
	}
}
