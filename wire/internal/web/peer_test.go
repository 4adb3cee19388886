package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A handler can tell our server, in both versions of HTTP, from another's.
func TestIsOwn(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if IsOwn(r) {
			_, _ = io.WriteString(w, "ours") // the test sees what came of it
		}
	})
	ours := start(t, Config{Handler: handler})
	theirs := httptest.NewServer(handler)
	defer theirs.Close()
	for _, test := range []struct {
		version   int
		url, want string
	}{{1, "http://" + ours.addr, "ours"}, {2, "http://" + ours.addr, "ours"}, {1, theirs.URL, ""}} {
		res, err := client(t, test.version, nil).Get(test.url)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(got) != test.want {
			t.Errorf("%s %s: %q, %v", test.url, res.Proto, got, err)
		}
	}
}
