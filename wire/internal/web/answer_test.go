package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everywire/everywire"
)

// An answer is the same on every server.
func TestAnswer(t *testing.T) {
	long := strings.Repeat("long ", 10_000)
	for _, body := range []string{"", "short", long} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["X-More"] = []string{"more"}
			Answer(w, r, http.StatusAccepted, []string{"x/y"}, []byte(body))
		})
		ours := start(t, Config{Handler: handler, Limits: everywire.Limits{}})
		theirs := httptest.NewServer(handler)
		defer theirs.Close()
		for version, url := range map[int]string{1: "http://" + ours.addr, 2: "http://" + ours.addr, 0: theirs.URL} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				r, err := http.NewRequest(method, url, nil)
				if err != nil {
					t.Fatal(err)
				}
				res, err := client(t, max(version, 1), nil).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				res.Body.Close()
				want, contentType := body, ""
				if method == http.MethodHead {
					want = ""
				}
				if body != "" {
					contentType = "x/y"
				}
				if err != nil || string(got) != want || res.StatusCode != http.StatusAccepted || res.ContentLength != int64(len(body)) ||
					res.Header.Get("Content-Type") != contentType || res.Header.Get("X-More") != "more" {
					t.Errorf("%s %s, %d bytes: %d %v, length %d, %d bytes, %v", method, res.Proto, len(body), res.StatusCode, res.Header, res.ContentLength, len(got), err)
				}
			}
		}
	}
}
