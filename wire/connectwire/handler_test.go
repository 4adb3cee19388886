package connectwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// Requests as a client without any library would make them.
func TestUnary(t *testing.T) {
	h := newTestHandler(t, nil)
	packed, err := msgpack.Codec{}.Append(nil, &note{Text: "a"})
	if err != nil {
		t.Fatal(err)
	}
	inCBOR, err := cbor.Codec{}.Append(nil, &note{Text: "a"})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 2000)
	for name, c := range map[string]struct {
		verb, target, contentType, body string
		header                          []string
		status                          int
		wantType, want                  string // of the body; "" is any
	}{
		"json":         {"POST", "/test.Notes/Echo", "application/json", `{"text":"a"}`, nil, 200, "application/json", `{"text":"a","size":0}`},
		"charset":      {"POST", "/test.Notes/Echo", "application/json; charset=UTF-8", `{"text":"é"}`, nil, 200, "application/json; charset=utf-8", `{"text":"é","size":0}`},
		"proto":        {"POST", "/test.Notes/Echo", "application/proto", "\n\x01a", nil, 200, "application/proto", "\n\x01a"},
		"msgpack":      {"POST", "/test.Notes/Echo", "application/msgpack", string(packed), nil, 200, "application/msgpack", string(packed)},
		"cbor":         {"POST", "/test.Notes/Echo", "application/cbor", string(inCBOR), nil, 200, "application/cbor", string(inCBOR)},
		"get":          {"GET", "/test.Notes/Read?connect=v1&encoding=json&message=" + url.QueryEscape(`{"text":"a"}`), "", "", nil, 200, "application/json", `{"text":"a","size":0}`},
		"get base64":   {"GET", "/test.Notes/Read?connect=v1&encoding=proto&base64=1&message=CgFh", "", "", nil, 200, "application/proto", "\n\x01a"},
		"get too long": {"GET", "/test.Notes/Read?encoding=proto&message=" + strings.Repeat("a", limit+1), "", "", nil, 429, "application/json", ""},
		"get changes":  {"GET", "/test.Notes/Echo?connect=v1&encoding=json&message={}", "", "", nil, 405, "", ""},
		"get codec":    {"GET", "/test.Notes/Read?connect=v1&encoding=xml&message=a", "", "", nil, 415, "", ""},
		"verb":         {"PUT", "/test.Notes/Echo", "application/json", `{}`, nil, 405, "", ""},
		"no type":      {"POST", "/test.Notes/Echo", "", `{}`, nil, 415, "", ""},
		"text":         {"POST", "/test.Notes/Echo", "text/plain", `{}`, nil, 415, "", ""},
		"no method":    {"POST", "/test.Notes/No", "application/json", `{}`, nil, 404, "application/json", `{"code":"unimplemented","message":"unknown method No for service test.Notes"}`},
		"no service":   {"POST", "/x.Y/Z", "application/json", `{}`, nil, 404, "application/json", `{"code":"unimplemented","message":"unknown service x.Y"}`},
		"no path":      {"POST", "/", "application/json", `{}`, nil, 404, "application/json", ""},
		"not json":     {"POST", "/test.Notes/Echo", "application/json", `{`, nil, 400, "application/json", ""},
		"empty json":   {"POST", "/test.Notes/Echo", "application/json", ``, nil, 400, "application/json", ""},
		"version":      {"POST", "/test.Notes/Echo", "application/json", `{}`, []string{"Connect-Protocol-Version", "2"}, 400, "application/json", ""},
		"timeout":      {"POST", "/test.Notes/Echo", "application/json", `{}`, []string{"Connect-Timeout-Ms", "soon"}, 400, "application/json", ""},
		"late":         {"POST", "/test.Notes/Echo", "application/json", `{}`, []string{"Connect-Timeout-Ms", "0"}, 504, "application/json", ""},
		"coding":       {"POST", "/test.Notes/Echo", "application/json", `{}`, []string{"Content-Encoding", "lzma"}, 501, "application/json", ""},
		"not gzip":     {"POST", "/test.Notes/Echo", "application/json", `{}`, []string{"Content-Encoding", "gzip"}, 400, "application/json", ""},
		"metadata":     {"POST", "/test.Notes/Echo", "application/json", `{}`, []string{"X-In-Bin", "a"}, 400, "application/json", ""},
		"stream":       {"POST", "/test.Notes/Repeat", "application/json", `{}`, nil, 415, "", ""},
		"no stream":    {"POST", "/test.Notes/Echo", "application/connect+json", `{}`, nil, 415, "", ""},
		"both ways":    {"POST", "/test.Notes/Talk", "application/connect+json", ``, nil, 505, "", ""},
		"large":        {"POST", "/test.Notes/Echo", "application/json", `{"text":"` + strings.Repeat("a", limit) + `"}`, nil, 429, "application/json", ""},
		"own code":     {"POST", "/test.Notes/Fail", "application/json", `{"text":"m","size":"99"}`, nil, 500, "application/json", `{"code":"unknown","message":"m"}`},
		"compressed": {"POST", "/test.Notes/Echo", "application/proto", string(httpbody.Gzip.Append(nil, []byte("\n\x01a"))),
			[]string{"Content-Encoding", "gzip"}, 200, "application/proto", "\n\x01a"},
		"accepted": {"POST", "/test.Notes/Echo", "application/json", `{"text":"` + long + `"}`,
			[]string{"Accept-Encoding", "zstd"}, 200, "application/json", string(httpbody.Zstd.Append(nil, []byte(`{"text":"`+long+`","size":0}`)))},
	} {
		t.Run(name, func(t *testing.T) {
			header := c.header
			if c.contentType != "" {
				header = append(header, "Content-Type", c.contentType)
			}
			res := do(t, h, c.verb, c.target, strings.NewReader(c.body), header...)
			body := bodyOf(t, res)
			if res.StatusCode != c.status {
				t.Errorf("status %d, want %d", res.StatusCode, c.status)
			}
			if ct := res.Header.Get("Content-Type"); c.wantType != "" && ct != c.wantType {
				t.Errorf("Content-Type %q, want %q", ct, c.wantType)
			}
			if c.want != "" && body != c.want {
				t.Errorf("got %q, want %q", body, c.want)
			}
			if body == "" {
				t.Error("the body does not say what is wrong")
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	h := newTestHandler(t, nil)
	res := do(t, h, "POST", "/test.Notes/Echo", strings.NewReader("{}"), "Content-Type", "application/json", "X-In-Bin", "AP8")
	if got := res.Header.Get("X-Out-Bin"); got != "AP8" {
		t.Errorf("X-Out-Bin %q", got)
	}
	if got := res.Header.Get("Trailer-X-End"); got != "1" {
		t.Errorf("Trailer-X-End %q", got)
	}
	for _, name := range []string{"Grpc-Status", "Content-Encoding"} {
		if v := res.Header.Values(name); v != nil {
			t.Errorf("a handler has set %s to %q", name, v)
		}
	}
}

// What cannot be read of a request is its client's fault.
func TestUnreadable(t *testing.T) {
	h := newTestHandler(t, nil)
	broken := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("a chunk is malformed")))
	res := do(t, h, "POST", "/test.Notes/Echo", broken, "Content-Type", "application/json")
	if body := bodyOf(t, res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "invalid_argument") || !strings.Contains(body, "a chunk is malformed") {
		t.Errorf("a broken body: %d %s", res.StatusCode, body)
	}
	late := iotest.ErrReader(os.ErrDeadlineExceeded)
	res = do(t, h, "POST", "/test.Notes/Echo", late, "Content-Type", "application/json")
	if body := bodyOf(t, res); res.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, "deadline_exceeded") {
		t.Errorf("a late body: %d %s", res.StatusCode, body)
	}
	for message, want := range map[string]int{"!!": 400, "e30=x": 400, "e": 400, "e30==": 400, "e30=e30=": 400, "e30": 200, "e30=": 200, "e30%3D": 200} {
		res := do(t, h, "GET", "/test.Notes/Read?connect=v1&encoding=json&base64=1&message="+message, nil)
		if body := bodyOf(t, res); res.StatusCode != want || want == 400 && !strings.Contains(body, "invalid_argument") {
			t.Errorf("message %s: %d %s", message, res.StatusCode, body)
		}
	}
}

// A body is not read beyond what says that it is too large, in whatever it is
// wrapped.
func TestLimits(t *testing.T) {
	h := newTestHandler(t, nil)
	for name, c := range map[string]struct {
		target, contentType string
		prefix              []byte
		coding              string
	}{
		"unary":     {"/test.Notes/Echo", "application/proto", nil, ""},
		"stream":    {"/test.Notes/Repeat", "application/connect+proto", []byte{0, 0xff, 0xff, 0xff, 0xff}, ""},
		"grpc-web":  {"/test.Notes/Echo", "application/grpc-web", []byte{0, 0xff, 0xff, 0xff, 0xff}, ""},
		"bomb gzip": {"/test.Notes/Echo", "application/proto", httpbody.Gzip.Append(nil, make([]byte, 50*limit)), "gzip"},
		"bomb br":   {"/test.Notes/Echo", "application/proto", httpbody.Brotli.Append(nil, make([]byte, 50*limit)), "br"},
		"bomb zstd": {"/test.Notes/Echo", "application/proto", httpbody.Zstd.Append(nil, make([]byte, 50*limit)), "zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			rest := &counter{}
			var body io.Reader = bytes.NewReader(c.prefix)
			header := []string{"Content-Type", c.contentType}
			if c.coding == "" {
				body = io.MultiReader(body, rest)
			} else {
				header = append(header, "Content-Encoding", c.coding)
			}
			res := do(t, h, "POST", c.target, body, header...)
			text := bodyOf(t, res) + fmt.Sprint(res.Header)
			if !strings.Contains(text, "resource_exhausted") && !strings.Contains(text, "Grpc-Status:[8]") {
				t.Errorf("got %d %.300s", res.StatusCode, text)
			}
			if rest.n > 2*(limit+drained) {
				t.Errorf("%d bytes of a body without end were read", rest.n)
			}
		})
	}
}

// A counter is a body without end.
type counter struct{ n int }

func (c *counter) Read(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

func TestStream(t *testing.T) {
	h := newTestHandler(t, nil)
	request := `{"text":"a","size":"2"}`
	res := do(t, h, "POST", "/test.Notes/Repeat", strings.NewReader("\x00\x00\x00\x00"+string(rune(len(request)))+request), "Content-Type", "application/connect+json")
	if got, want := bodyOf(t, res), strings.Repeat("\x00\x00\x00\x00\x15"+`{"text":"a","size":0}`, 2)+"\x02\x00\x00\x00\x02{}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	// An envelope without content is a message without fields.
	res = do(t, h, "POST", "/test.Notes/Repeat", strings.NewReader("\x00\x00\x00\x00\x00"), "Content-Type", "application/connect+json")
	if got, want := bodyOf(t, res), "\x02\x00\x00\x00\x02{}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCORS(t *testing.T) {
	h := newTestHandler(t, rpc.Options{"origins": "https://a.example"})
	for origin, allowed := range map[string]bool{"https://a.example": true, "https://b.example": false} {
		res := do(t, h, "OPTIONS", "/test.Notes/Echo", nil, "Origin", origin,
			"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "connect-protocol-version,content-type")
		got := res.Header.Get("Access-Control-Allow-Headers")
		if allowed != strings.Contains(got, "connect-protocol-version") {
			t.Errorf("from %s: %d, %v", origin, res.StatusCode, res.Header)
		}
		res = do(t, h, "POST", "/test.Notes/Echo", strings.NewReader("{}"), "Origin", origin, "Content-Type", "application/json")
		if exposed := res.Header.Get("Access-Control-Expose-Headers"); allowed != (exposed == "*") {
			t.Errorf("from %s a call exposes %q", origin, exposed)
		}
	}
	if _, err := NewHandler(&rpc.ServerConfig{Registry: registry(), Codecs: testCodecs, Options: rpc.Options{"origins": "https://"}}); err == nil {
		t.Error("an origin without a host was taken")
	}
}

func TestIsRequest(t *testing.T) {
	for name, c := range map[string]struct {
		verb, target string
		header       []string
		want         bool
	}{
		"version":           {"POST", "/", []string{"Connect-Protocol-Version", "1", "Content-Type", "application/json"}, true},
		"stream":            {"POST", "/", []string{"Content-Type", "application/connect+json"}, true},
		"proto":             {"POST", "/", []string{"Content-Type", "application/Proto; x=y"}, true},
		"grpc-web":          {"POST", "/", []string{"Content-Type", "application/grpc-web+proto"}, true},
		"grpc-web-text":     {"POST", "/", []string{"Content-Type", "Application/Grpc-Web-Text"}, true},
		"get":               {"GET", "/?message={}&encoding=json&connect=v1", nil, true},
		"preflight":         {"OPTIONS", "/", []string{"Access-Control-Request-Headers", "content-type, x-grpc-web"}, true},
		"preflight of REST": {"OPTIONS", "/", []string{"Access-Control-Request-Headers", "content-type, if-match"}, false},
		"REST":              {"POST", "/", []string{"Content-Type", "application/json"}, false},
		"REST get":          {"GET", "/?connect=yes", nil, false},
		"gRPC":              {"POST", "/", []string{"Content-Type", "application/grpc+proto"}, false},
		"delete":            {"DELETE", "/", nil, false},
	} {
		r, err := http.NewRequest(c.verb, c.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.header); i += 2 {
			r.Header.Set(c.header[i], c.header[i+1])
		}
		if got := IsRequest(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
