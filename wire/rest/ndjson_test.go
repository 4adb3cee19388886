package rest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
)

func TestLinesOfJSON(t *testing.T) {
	addr := serve(t, serverConfig(newFeed().Registry))
	const e0, e1 = `{"name":"a","number":0,"eventId":"e0","pad":""}`, `{"name":"a","number":1,"eventId":"e1","pad":""}`
	for name, tc := range map[string]struct {
		line, body string
		head       []string
		want       string // of the body
		trailer    http.Header
	}{
		"two":                {"POST /test.Feed/Watch", `{"name":"a","count":2}`, nil, e0 + "\n" + e1 + "\n", nil},
		"none":               {"POST /test.Feed/Watch", `{}`, nil, "", nil},
		"by query":           {"GET /feeds/a?count=2", "", nil, e0 + "\n" + e1 + "\n", nil},
		"by path and body":   {"PUT /feeds/a", `{"count":1}`, nil, e0 + "\n", nil},
		"one field of each":  {"GET /feeds/a%0Ab/names?count=2", "", nil, `"a\nb"` + "\n" + `"a\nb"` + "\n", nil},
		"absent field":       {"GET /feeds/a/names?count=1&do=x", "", []string{"Accept: application/*"}, `"a"` + "\n", nil},
		"error at the end":   {"POST /test.Feed/Watch", `{"name":"a","count":1,"code":5}`, nil, e0 + "\n" + `{"@error":{"type":"about:blank","title":"Not Found","status":404,"detail":"as asked\nfor","code":"NOT_FOUND"}}` + "\n", nil},
		"panic":              {"POST /test.Feed/Watch", `{"name":"a","count":1,"do":"panic"}`, nil, e0 + "\n" + `{"@error":{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"panic in the handler of test.Feed/Watch","code":"INTERNAL"}}` + "\n", nil},
		"trailers":           {"POST /test.Feed/Watch", `{"name":"a","count":1,"do":"metadata"}`, []string{"TE: trailers"}, e0 + "\n", http.Header{"Grpc-Status": {"0"}, "X-T": {"2"}}},
		"trailers, error":    {"POST /test.Feed/Watch", `{"name":"a","count":1,"code":3}`, []string{"TE: gzip, Trailers"}, e0 + "\n" + `{"@error":{"type":"about:blank","title":"Bad Request","status":400,"detail":"as asked\nfor","code":"INVALID_ARGUMENT"}}` + "\n", http.Header{"Grpc-Status": {"3"}}},
		"no trailers wanted": {"POST /test.Feed/Watch", `{"name":"a","count":1,"do":"metadata"}`, nil, e0 + "\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			res := dialPeer(t, addr).request(tc.line, tc.body, tc.head...)
			if ct := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || ct != "application/x-ndjson" {
				t.Errorf("%s, %s", res.Status, ct)
			}
			got, whole := lines(t, res.Body)
			if got != tc.want || !whole {
				t.Errorf("got  %q, whole %v\nwant %q", got, whole, tc.want)
			}
			for name := range tc.trailer {
				if got, want := res.Trailer.Get(name), tc.trailer.Get(name); got != want {
					t.Errorf("trailer %s is %q, want %q", name, got, want)
				}
			}
			if len(res.Trailer) != len(tc.trailer) {
				t.Errorf("trailers %v, want %v", res.Trailer, tc.trailer)
			}
		})
	}
}

// Headers are fields of the response.
func TestLinesHeaders(t *testing.T) {
	addr := serve(t, serverConfig(newFeed().Registry))
	for _, count := range []string{"0", "1"} {
		res := dialPeer(t, addr).request("GET /feeds/a?do=metadata&count="+count, "")
		if res.Header.Get("X-H") != "1" || res.Header.Get("X-H-Bin") != "/w" {
			t.Errorf("%s messages: headers %v", count, res.Header)
		}
		if _, whole := lines(t, res.Body); !whole {
			t.Error("the body was broken off")
		}
	}
}

// An error before the first message is like that of a unary call.
func TestStreamErrorsBeforeMessages(t *testing.T) {
	addr := serve(t, serverConfig(newFeed().Registry))
	for name, tc := range map[string]struct {
		line, body string
		head       []string
		status     int
		code       string
		detail     string
	}{
		"error":              {"POST /test.Feed/Watch", `{"code":5}`, nil, 404, "NOT_FOUND", "as asked"},
		"error of events":    {"POST /test.Feed/Watch", `{"code":5}`, []string{"Accept: text/event-stream"}, 404, "NOT_FOUND", "as asked"},
		"exit":               {"POST /test.Feed/Watch", `{"do":"exit"}`, nil, 500, "INTERNAL", "ended without a reply"},
		"no such field":      {"GET /feeds/a?none=1", "", nil, 400, "INVALID_ARGUMENT", "none"},
		"no number":          {"GET /feeds/a?count=x", "", nil, 400, "INVALID_ARGUMENT", "count"},
		"no JSON":            {"POST /test.Feed/Watch", `{`, nil, 400, "INVALID_ARGUMENT", "test.Feed/Watch"},
		"another kind":       {"POST /test.Feed/Watch", `{"count":"x"}`, nil, 400, "INVALID_ARGUMENT", "count"},
		"deadline":           {"POST /test.Feed/Watch", `{"do":"silence"}`, []string{"Grpc-Timeout: 10m"}, 504, "DEADLINE_EXCEEDED", ""},
		"malformed timeout":  {"POST /test.Feed/Watch", `{}`, []string{"Grpc-Timeout: x"}, 400, "INVALID_ARGUMENT", "Grpc-Timeout"},
		"not acceptable":     {"POST /test.Feed/Watch", `{}`, []string{"Accept: application/json"}, 406, "INVALID_ARGUMENT", "application/x-ndjson, application/jsonl"},
		"no MessagePack":     {"POST /test.Feed/Watch", `{}`, []string{"Accept: application/msgpack"}, 406, "INVALID_ARGUMENT", "text/event-stream"},
		"client stream":      {"POST /test.Feed/Upload", `{}`, nil, 426, "UNIMPLEMENTED", "WebSocket"},
		"bidi":               {"GET /rooms/a", "", nil, 426, "UNIMPLEMENTED", "bidirectional streaming"},
		"too large, in full": {"POST /test.Feed/Watch", `{"count":1,"pad":5000000}`, nil, 429, "RESOURCE_EXHAUSTED", "larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			r := do(t, addr, tc.line, tc.body, tc.head...)
			if p := checkProblem(t, r); r.status != tc.status || p.Code != tc.code || !strings.Contains(p.Detail, tc.detail) {
				t.Errorf("%d %s", r.status, r.body)
			}
			if r.status == http.StatusUpgradeRequired && r.header.Get("Upgrade") != "websocket" {
				t.Errorf("headers %v", r.header)
			}
		})
	}
}

func TestStreamTypes(t *testing.T) {
	addr := serve(t, serverConfig(newFeed().Registry))
	for accept, want := range map[string]string{
		"":                                       "application/x-ndjson",
		"*/*":                                    "application/x-ndjson",
		"application/*":                          "application/x-ndjson",
		"application/json, */*;q=0.1":            "application/x-ndjson",
		"application/ndjson":                     "application/ndjson",
		"application/JSONL":                      "application/jsonl",
		"text/event-stream":                      "text/event-stream",
		"text/*":                                 "text/event-stream",
		"text/event-stream, */*":                 "application/x-ndjson",
		"text/event-stream, */*;q=0.5":           "text/event-stream",
		"application/x-ndjson;q=0, */*":          "application/jsonl",
		"text/event-stream;q=0.1, text/html":     "text/event-stream",
		"application/jsonl;q=0.2,text/*;q=0.200": "application/jsonl",
	} {
		head := []string{"Accept: " + accept}
		if accept == "" {
			head = nil
		}
		for _, verb := range []string{"GET", "HEAD"} {
			r := do(t, addr, verb+" /feeds/a?count=1", "", head...)
			if got := r.header.Get("Content-Type"); r.status != 200 || got != want || (r.body == "") != (verb == "HEAD") {
				t.Errorf("%s, Accept: %s: %d %s %q, want %s", verb, accept, r.status, got, r.body, want)
			}
			if got := r.header.Get("Vary"); got != "Accept" {
				t.Errorf("%s, Accept: %s: Vary is %q", verb, accept, got)
			}
		}
	}
}

// A message goes out when it is sent, and headers when the handler sends them.
func TestMessagesDoNotWait(t *testing.T) {
	f := newFeed()
	addr := serve(t, serverConfig(f.Registry))
	for _, accept := range []string{"application/x-ndjson", "text/event-stream"} {
		res := dialPeer(t, addr).request("GET /feeds/a?count=3&do=gate", "", "Accept: "+accept)
		body := bufio.NewReader(res.Body)
		for n := range 3 {
			for {
				line, err := body.ReadString('\n')
				if err != nil {
					t.Fatalf("%s: line %d: %v", accept, n, err)
				}
				if data := strings.TrimPrefix(line, "data: "); strings.HasPrefix(data, "{") {
					var e struct{ Number int }
					if err := json.Unmarshal([]byte(data), &e); err != nil || e.Number != n {
						t.Errorf("%s: %q, %v, want number %d", accept, data, err, n)
					}
					break
				}
			}
			f.gate <- struct{}{} // before this no other is sent
		}
		if _, whole := lines(t, body); !whole {
			t.Errorf("%s: broken off", accept)
		}
	}
	res := dialPeer(t, addr).request("GET /feeds/a?count=1&do=header%20first", "")
	if res.Header.Get("X-H") != "1" {
		t.Errorf("headers %v", res.Header)
	}
	close(f.gate)
	if text, whole := lines(t, res.Body); !whole || text == "" {
		t.Errorf("%q", text)
	}
}

// A client that goes away ends the handler's context, whatever it is at.
func TestStreamClientGoes(t *testing.T) {
	f := newFeed()
	addr := serve(t, serverConfig(f.Registry))
	for name, query := range map[string]string{
		"waiting":            "do=silence",
		"between messages":   "count=3&do=gate",
		"while it is held":   "count=100000&pad=10000",
		"behind the headers": "count=1&do=header%20first",
	} {
		for _, accept := range []string{"application/x-ndjson", "text/event-stream"} {
			p := dialPeer(t, addr)
			p.send("GET /feeds/a?" + query + " HTTP/1.1\r\nHost: test\r\nAccept: " + accept + "\r\n\r\n")
			await(t, "the handler's begin", f.began)
			if strings.HasPrefix(name, "behind") {
				if _, err := p.r.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if strings.HasPrefix(name, "behind") {
				f.gate <- struct{}{} // it looks at no context
			}
			if err := await(t, "the handler's end", f.ended); err == nil && !strings.HasPrefix(name, "behind") {
				t.Errorf("%s, %s: the context has not ended", name, accept)
			}
		}
	}
}

// A client that does not read holds its handler back.
func TestStreamClientDoesNotRead(t *testing.T) {
	f := newFeed()
	addr := serve(t, serverConfig(f.Registry))
	const count, pad = 5000, 10_000 // 50 MB
	res := dialPeer(t, addr).request("GET /feeds/a?count="+itoa(count)+"&pad="+itoa(pad), "")
	other := do(t, addr, "GET /feeds/b?count=1", "")
	if other.status != 200 {
		t.Errorf("beside it: %d", other.status)
	}
	if n := f.sent.Load(); n > count/2 {
		t.Errorf("%d messages were sent to a client that does not read", n)
	}
	text, whole := lines(t, res.Body)
	if n := strings.Count(text, "\n"); n != count || !whole {
		t.Errorf("%d messages came, whole: %v", n, whole)
	}
}

// The wire runs the same as a handler of a server of net/http, over HTTP/2 too,
// but for what has HTTP/1.1 only.
func TestStreamsOnNetHTTP(t *testing.T) {
	h, err := NewHandler(serverConfig(newFeed().Registry))
	if err != nil {
		t.Fatal(err)
	}
	for _, http2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(h)
		s.EnableHTTP2 = http2
		s.StartTLS()
		get := func(path string) (*http.Response, string, bool) {
			res, err := s.Client().Get(s.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			b := new(strings.Builder)
			_, err = bufio.NewReader(res.Body).WriteTo(b)
			return res, b.String(), err == nil
		}
		if res, text, whole := get("/feeds/a?count=2"); strings.Count(text, "\n") != 2 || !whole || (res.ProtoMajor == 2) != http2 {
			t.Errorf("%s: %q", res.Proto, text)
		}
		if _, text, whole := get("/feeds/a?count=2&code=14"); strings.Count(text, "\n") != 3 || !whole {
			t.Errorf("HTTP/2 %v: an error: %q, whole %v", http2, text, whole)
		}
		want := map[bool]int{false: 426, true: 501}[http2]
		if res, text, _ := get("/rooms/a"); res.StatusCode != want || !strings.Contains(text, codes.Unimplemented.String()) && !strings.Contains(text, "UNIMPLEMENTED") {
			t.Errorf("HTTP/2 %v: a conversation: %s %s", http2, res.Status, text)
		}
		s.Close()
	}
}
