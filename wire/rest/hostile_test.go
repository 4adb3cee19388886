package rest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// Whatever a client does wrong is its own fault by the status, and every answer
// says what it was.
func TestNeverAServersFault(t *testing.T) {
	cfg := serverConfig(itemRegistry())
	cfg.Limits.MaxMessage = 10_000
	h, err := NewHandler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	bodies := []string{
		"", "{", "}", "[]", "null", "1", `"x"`, "{}{}", `{"key":1}`, `{"size":"x"}`, `{"size":1e400}`, `{"at":"now"}`, `{"data":"!"}`, `{"wait":"1"}`,
		`{"sub":[]}`, `{"labels":{"a":1}}`, `{"key":"\ud800"}`, "{\"key\":\"\xff\"}", `{"key":"a","key":"b"}`, strings.Repeat("[", 2000), "\x00", "\xc1", "\xa1\xff", "\xbf",
		strings.Repeat(`{"sub":`, 600) + "1" + strings.Repeat("}", 600), `{"numbers":[` + strings.Repeat("1,", 4000) + `"x"]}`,
	}
	lines := []string{
		"POST /test.Items/Plain", "POST /test.Items/Echo", "PUT /items/k", "PUT /items/k/sub", "POST /items", "DELETE /items/k/sizes/x/maybe",
		"GET /items?size=x&on=2&at=1&nothing=1", "GET /items?tags=%zz", "GET /items/%ff", "GET /items/k/tags?tags=a", "POST /items?size=1", "GET /items?sub.name.x=1",
		"GET /items?limit=1&limit=2", "GET /items?labels[a]=1&labels[a]=2", "GET /items?numbers[9]=1",
	}
	heads := [][]string{
		nil, {"Content-Type: application/msgpack"}, {"Content-Type: application/cbor"}, {"Content-Encoding: gzip"}, {"Content-Encoding: br"}, {"Content-Encoding: zstd"},
		{"Content-Encoding: gzip, br"}, {"Content-Type: text/x; =,"}, {"Accept: ;;q=,/"}, {"Accept-Encoding: *;q=0"}, {"If-Match: \"", "If-None-Match: W/"},
		{"Idempotency-Key: \""}, {"Grpc-Timeout: -1S"}, {"X-Bin: %"}, {"Cookie: =;=;a"}, {"Origin: null"},
	}
	for _, line := range lines {
		for _, head := range heads {
			for _, body := range bodies {
				if strings.HasPrefix(line, "GET") && len(body) > 2 {
					continue
				}
				req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(requestText(line, body, head...))))
				if err != nil {
					continue // which HTTP's server answers
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				r := response{status: w.Code, header: w.Header(), body: w.Body.String()}
				if r.status >= 500 || r.status < 200 {
					t.Errorf("%s with %q and %.60q: %d %.300s", line, head, body, r.status, r.body)
				}
				if r.status >= 400 {
					checkProblem(t, r)
				}
			}
		}
	}
}

// Every fault of a request is in its problem document, and comes back as
// details at a client of ours.
func TestProblemsListFaults(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	for _, c := range []struct {
		line, body string
		want       string
	}{
		{"POST /test.Items/Plain", `{"size":"x","sub":{"name":1},"numbers":[1,"b"]}`, "[numbers[1] size sub.name]"},
		{"PUT /items/k", `{"size":"x","on":3}`, "[on size]"},
		{"GET /items?size=x&ratio=y&on=z", "", "[on ratio size]"},
		{"GET /items?nosuch=1", "", "[nosuch]"},
	} {
		r := do(t, addr, c.line, c.body)
		p := checkProblem(t, r)
		var fields []string
		for _, e := range p.Errors {
			if e.Detail == "" {
				t.Errorf("%s: %s has no detail", c.line, e.Field)
			}
			fields = append(fields, e.Field)
		}
		slices.Sort(fields)
		if r.status != 400 || fmt.Sprint(fields) != c.want {
			t.Errorf("%s: %d %v, want %s\n%s", c.line, r.status, fields, c.want, r.body)
		}
		s := statusOf(r.status, problemType, []byte(r.body))
		if got := fieldErrors(code.Details(s)); fmt.Sprint(got) != fmt.Sprint(p.Errors) {
			t.Errorf("%s: a client gets %v", c.line, got)
		}
	}
	// Of a document that others made.
	s := statusOf(422, problemType, []byte(`{"title":"Invalid","errors":[{"field":"a","detail":"is missing"}]}`))
	if got := fieldErrors(code.Details(s)); fmt.Sprint(got) != "[{a is missing}]" || !strings.Contains(s.Message(), "422") {
		t.Errorf("%v, %v", s, got)
	}
}

func TestCORS(t *testing.T) {
	cfg := serverConfig(itemRegistry())
	cfg.Options = rpc.Options{"origins": "https://a.example", "credentials": "on"}
	addr := serve(t, cfg)
	const origin = "Origin: https://a.example"
	r := do(t, addr, "OPTIONS /items/k", "", origin, "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: content-type")
	if r.status != 204 || r.header.Get("Access-Control-Allow-Origin") != "https://a.example" || r.header.Get("Access-Control-Allow-Methods") != "PUT" || r.header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("preflight: %d %v", r.status, r.header)
	}
	for _, line := range []string{"GET /items/k", "GET /nowhere", "OPTIONS /items/k"} {
		if r := do(t, addr, line, "", origin); r.header.Get("Access-Control-Allow-Origin") != "https://a.example" || !strings.Contains(strings.Join(r.header["Vary"], ","), "Origin") {
			t.Errorf("%s: %v", line, r.header)
		}
		if r := do(t, addr, line, "", "Origin: https://b.example"); r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s of another: %v", line, r.header)
		}
	}
	if r := do(t, addr, "OPTIONS /items/k", "", origin); r.header.Get("Allow") != "GET, HEAD, OPTIONS, PUT" {
		t.Errorf("OPTIONS that is no preflight: %v", r.header)
	}
	// Off by default.
	off := serve(t, serverConfig(itemRegistry()))
	if r := do(t, off, "GET /items/k", "", origin); r.header.Get("Access-Control-Allow-Origin") != "" || strings.Contains(r.header.Get("Vary"), "Origin") {
		t.Errorf("off: %v", r.header)
	}
	for _, options := range []rpc.Options{{"origins": "*", "credentials": "on"}, {"credentials": "on"}, {"origins": "a b"}} {
		cfg := serverConfig(itemRegistry())
		cfg.Options = options
		if _, err := NewServer(cfg); err == nil {
			t.Errorf("%v is accepted", options)
		}
	}
}

// A page from elsewhere can have a browser post a form without fields. No body
// means no content type that would tell it from a call, so its origin must.
func TestPostsFromElsewhere(t *testing.T) {
	var calls atomic.Int32
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Lamp/Off", func(context.Context, *sub) (*sub, error) { calls.Add(1); return &sub{}, nil },
		everywire.WithRoute("POST", "/off", ""))
	cfg := serverConfig(reg)
	cfg.Options = map[string]string{"origins": "https://a.example"}
	addr := serve(t, cfg)
	const form = "Content-Type: application/x-www-form-urlencoded"
	for _, c := range []struct {
		line, body string
		head       []string
		want       int
	}{
		{"POST /off", "", nil, 200},
		{"POST /off", "", []string{form, "Content-Length: 0"}, 200}, // curl -d ''
		{"POST /off", "", []string{"Origin: http://test"}, 200},
		{"POST /off", "", []string{"Origin: https://a.example", "Sec-Fetch-Site: cross-site"}, 200},
		{"POST /off", "", []string{"Origin: https://b.example", form, "Content-Length: 0"}, 403},
		{"POST /off", "", []string{"Origin: https://b.example", "Sec-Fetch-Site: cross-site"}, 403},
		{"POST /off", "", []string{"Origin: null"}, 403},
		{"POST /test.Lamp/Off", "", []string{"Origin: https://b.example"}, 403},
		{"POST /test.Lamp/Off", "", []string{"Origin: https://b.example", form, "Transfer-Encoding: chunked", "Connection: close", "\r\n0\r\n"}, 403},
		{"POST /test.Lamp/Off", "name=x", []string{"Origin: https://b.example", form}, 415},
		{"POST /test.Lamp/Off", "{}", []string{"Origin: https://b.example", "Content-Type: text/plain"}, 415},
		{"POST /test.Lamp/Off", "{}", []string{"Origin: https://b.example"}, 200}, // CORS was asked before
	} {
		before := calls.Load()
		r := do(t, addr, c.line, c.body, c.head...)
		if ran := calls.Load() > before; r.status != c.want || ran != (c.want == 200) {
			t.Errorf("%s %q: %d %s, ran: %v", c.line, c.head, r.status, r.body, ran)
		}
	}
}
