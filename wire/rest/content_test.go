package rest

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
)

// fullItem is an item with something in every field, and what JSON has no form for.
func fullItem() *item {
	limit := int32(-7)
	return &item{
		Key: "a/b", Size: math.MaxInt64, Tags: []string{"x", "é"}, On: true, Ratio: math.Inf(-1), Data: []byte{0, 255, 254},
		At: time.Date(2024, 2, 29, 1, 2, 3, 4000, time.UTC), Sub: &sub{Name: "s"}, Labels: map[string]string{"k": "v"},
		PageSize: 3, Limit: &limit, Numbers: []int64{1, -1 << 63}, Wait: 1500 * time.Millisecond,
	}
}

// Whatever the format, a message arrives as it was, on routes that spread it and
// on routes that answer with one field.
func TestFormats(t *testing.T) {
	reg := itemRegistry()
	everywire.Handle(reg, "test.Items/Data", echoItem, everywire.WithRoute("POST", "/data", "*", everywire.ResponseBody("data")))
	everywire.Handle(reg, "test.Items/At", echoItem, everywire.WithRoute("POST", "/at/{size}", "*", everywire.ResponseBody("at")))
	everywire.Handle(reg, "test.Items/Limit", echoItem, everywire.WithRoute("POST", "/limit", "*", everywire.ResponseBody("limit")))
	everywire.Handle(reg, "test.Items/PutTags", echoItem, everywire.WithRoute("PUT", "/tags/{key}", "tags"))
	addr := serve(t, serverConfig(reg))
	for _, codec := range []string{"json", "msgpack", "cbor", "protobuf"} {
		for _, coding := range []string{"", "gzip", "br", "zstd"} {
			cfg := clientConfig(addr)
			cfg.Methods = reg
			cfg.Options = map[string]string{"codec": codec}
			if coding != "" {
				cfg.Options["compression"] = coding
			}
			conn := dial(t, cfg)
			call := func(name string, in *item) *item {
				t.Helper()
				out, err := everywire.Call[item](t.Context(), conn, "test.Items/"+name, in)
				if err != nil {
					t.Fatalf("%s, %q, %s: %v", codec, coding, name, err)
				}
				return out
			}
			long := fullItem()
			long.Tags = strings.Split(strings.Repeat("tag,", 500), ",")
			for _, in := range []*item{fullItem(), long, {Key: "k"}} {
				for _, name := range []string{"Plain", "Create", "Put"} {
					if out := call(name, in); !reflect.DeepEqual(normal(out), normal(in)) {
						t.Errorf("%s, %q, %s: got %+v", codec, coding, name, out)
					}
				}
				if out := call("Data", in); string(out.Data) != string(in.Data) {
					t.Errorf("%s, %q: data %q", codec, coding, out.Data)
				}
				if out := call("At", in); !out.At.Equal(in.At) {
					t.Errorf("%s, %q: at %v", codec, coding, out.At)
				}
				if out := call("Limit", in); !reflect.DeepEqual(out.Limit, in.Limit) {
					t.Errorf("%s, %q: limit %v", codec, coding, out.Limit)
				}
				if out := call("PutSub", &item{Key: "k", Sub: in.Sub}); !reflect.DeepEqual(out.Sub, in.Sub) {
					t.Errorf("%s, %q: sub %v", codec, coding, out.Sub)
				}
				if out := call("PutTags", &item{Key: "k", Tags: in.Tags}); fmt.Sprint(out.Tags) != fmt.Sprint(in.Tags) || out.Key != "k" {
					t.Errorf("%s, %q: tags %v", codec, coding, out.Tags)
				}
			}
		}
	}
	for option, value := range map[string]string{"codec": "avro", "compression": "deflate"} {
		cfg := clientConfig(addr)
		cfg.Options = map[string]string{option: value}
		if _, err := NewConn(cfg); err == nil || !strings.Contains(err.Error(), value) {
			t.Errorf("option %s=%s: %v", option, value, err)
		}
	}
}

// normal makes nil and empty alike, as the formats do.
func normal(x *item) string {
	y := *x
	y.At = y.At.UTC()
	b, err := plainJSON.Append(nil, &y)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// encoded is a message in a format.
func encoded(t *testing.T, mediaType string, v any) string {
	t.Helper()
	b, err := testFormats.named(mediaType).codec.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestNegotiation(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	const post = "POST /test.Items/Echo"
	doc := &everywire.Document{Value: map[string]any{"a": int64(1)}}
	for _, f := range testFormats.all {
		r := do(t, addr, post, encoded(t, f.mediaType, doc), "Content-Type: "+f.mediaType, "Accept: "+f.mediaType)
		if r.status != 200 || r.header.Get("Content-Type") != f.mediaType || r.body != encoded(t, f.mediaType, doc) {
			t.Errorf("%s: %d %v %q", f.mediaType, r.status, r.header, r.body)
		}
	}
	msgpack := encoded(t, "application/msgpack", doc)
	for _, c := range []struct {
		accept []string
		want   string
	}{
		{nil, jsonType}, // the default, whatever the request is in
		{[]string{"Accept: */*"}, jsonType},
		{[]string{"Accept: text/html, */*;q=0.8"}, jsonType},
		{[]string{"Accept: application/*"}, jsonType},
		{[]string{"Accept: application/cbor"}, "application/cbor"},
		{[]string{"Accept: application/cbor, application/msgpack"}, "application/msgpack"},
		{[]string{"Accept: application/cbor, application/msgpack;q=0.9"}, "application/cbor"},
		{[]string{"Accept: application/json;q=0.5", "Accept: application/vnd.msgpack"}, "application/vnd.msgpack"},
		{[]string{"Accept: application/json;q=0.1, */*;q=0.2"}, "application/msgpack"},
	} {
		r := do(t, addr, post, msgpack, append(c.accept, "Content-Type: application/msgpack")...)
		if r.status != 200 || r.header.Get("Content-Type") != c.want {
			t.Errorf("%q: %d, %s; want %s", c.accept, r.status, r.header.Get("Content-Type"), c.want)
		}
	}
	// What would have been accepted is said.
	r := do(t, addr, post, "x", "Content-Type: text/plain")
	if r.status != 415 || r.header.Get("Accept") != types(testFormats.all) || !strings.Contains(checkProblem(t, r).Detail, "application/cbor") {
		t.Errorf("another type: %d %v %s", r.status, r.header, r.body)
	}
	r = do(t, addr, post, "x", "Content-Encoding: deflate")
	if r.status != 415 || r.header.Get("Accept-Encoding") != "zstd, br, gzip, identity" || !strings.Contains(checkProblem(t, r).Detail, "deflate") {
		t.Errorf("another coding: %d %v %s", r.status, r.header, r.body)
	}
	r = do(t, addr, post, "1", "Accept: text/html")
	if r.status != 406 || !strings.Contains(checkProblem(t, r).Detail, types(testFormats.all)) {
		t.Errorf("another reply: %d %s", r.status, r.body)
	}
	r = do(t, addr, post, "1", "Accept-Encoding: identity;q=0")
	if r.status != 406 || !strings.Contains(checkProblem(t, r).Detail, "zstd, br, gzip, identity") {
		t.Errorf("no coding: %d %s", r.status, r.body)
	}
	// Errors are JSON for whoever asked for anything else.
	r = do(t, addr, "POST /test.Items/Plain", "\xc1", "Content-Type: application/msgpack", "Accept: application/msgpack")
	if p := checkProblem(t, r); r.status != 400 || !strings.Contains(p.Detail, "msgpack") {
		t.Errorf("malformed: %d %s", r.status, r.body)
	}
}

// A body that is joined with a path is read alike in every format.
func TestJoinedBodies(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	in := map[string]any{"data": []byte("\x00\xff"), "ratio": math.NaN(), "at": time.Unix(1, 5).UTC(), "size": int64(math.MaxInt64), "wait": "1s"}
	for _, f := range testFormats.all[1:] {
		if !f.isDocument {
			continue
		}
		body := encoded(t, f.mediaType, &everywire.Document{Value: in})
		r := do(t, addr, "PUT /items/k", body, "Content-Type: "+f.mediaType)
		for _, want := range []string{`"key":"k"`, `"data":"AP8="`, `"ratio":"NaN"`, `"at":"1970-01-01T00:00:01.000000005Z"`, `"size":9223372036854775807`, `"wait":"1s"`} {
			if !strings.Contains(r.body, want) {
				t.Errorf("%s: no %s in %d %s", f.mediaType, want, r.status, r.body)
			}
		}
		twice := encoded(t, f.mediaType, &everywire.Document{Value: map[string]any{"key": "a"}})
		for name, bad := range map[string]string{"both places": twice, "no object": encoded(t, f.mediaType, &everywire.Document{Value: "x"}), "cut": body[:5]} {
			if r := do(t, addr, "PUT /items/k", bad, "Content-Type: "+f.mediaType); r.status != 400 {
				t.Errorf("%s, %s: %d %s", f.mediaType, name, r.status, r.body)
			}
		}
	}
}

func TestCompression(t *testing.T) {
	cfg := serverConfig(itemRegistry())
	cfg.Limits.MaxMessage = 100_000
	addr := serve(t, cfg)
	const post = "POST /test.Items/Echo"
	long, short := `"`+strings.Repeat("compress me ", 200)+`"`, `"short"`
	for _, c := range []struct {
		name, body, accept string
		want               string // the coding
	}{
		{"long", long, "Accept-Encoding: gzip", "gzip"},
		{"long", long, "Accept-Encoding: gzip, deflate, br, zstd", "zstd"},
		{"long", long, "Accept-Encoding: br;q=1, gzip;q=0.5", "br"},
		{"long", long, "Accept-Encoding: gzip;q=0", ""},
		{"long", long, "Accept-Encoding: deflate", ""},
		{"long", long, "Accept-Encoding: identity, gzip;q=0.5", ""},
		{"long", long, "X-No: accept", ""},
		{"short", short, "Accept-Encoding: gzip", ""},
		{"short, but it must be", short, "Accept-Encoding: gzip, identity;q=0", "gzip"},
		{"short, but it must be", short, "Accept-Encoding: br, *;q=0", "br"},
	} {
		r := do(t, addr, post, c.body, c.accept)
		coding, err := httpbody.Encoded(r.header["Content-Encoding"])
		if err != nil {
			t.Fatal(err)
		}
		body, err := coding.Decode(nil, []byte(r.body), len(c.body))
		if r.status != 200 || r.header.Get("Content-Encoding") != c.want || err != nil || string(body) != c.body {
			t.Errorf("%s, %s: %d %v, %d bytes, %v", c.name, c.accept, r.status, r.header, len(body), err)
		}
		if varies := strings.Contains(r.header.Get("Vary"), "Accept-Encoding"); varies != (c.body == long) {
			t.Errorf("%s, %s: Vary %q", c.name, c.accept, r.header["Vary"])
		}
	}
	for _, name := range []string{"gzip", "br", "zstd", "x-gzip"} {
		coding, _ := httpbody.ParseCoding(name)
		send := func(body string, head ...string) response {
			return do(t, addr, post, body, append(head, "Content-Encoding: "+name)...)
		}
		pack := func(s string) string { return string(coding.Append(nil, []byte(s))) }
		if r := send(pack(long)); r.status != 200 || r.body != long {
			t.Errorf("%s: %d %.100s", name, r.status, r.body)
		}
		for what, c := range map[string]struct {
			body   string
			status int
			detail string
		}{
			"not what it says":     {long, 400, "is not " + coding.String()},
			"cut":                  {pack(long)[:20], 400, "is not " + coding.String()},
			"something behind":     {pack(long) + `{"a":1}`, 400, "is not " + coding.String()},
			"too long when whole":  {pack(`"` + strings.Repeat("a", 100_000) + `"`), 413, "100000 bytes"},
			"at the limit":         {pack(`"` + strings.Repeat("a", 100_000-2) + `"`), 200, ""},
			"a bomb":               {pack(strings.Repeat("\x00", 4<<20)), 413, "100000 bytes"},
			"coded twice":          {string(coding.Append(nil, []byte(pack(long)))), 400, "json"},
			"nothing, coded":       {pack(""), 400, ""},
			"no JSON when decoded": {pack("{"), 400, "json"},
		} {
			r := send(c.body)
			if r.status != c.status {
				t.Errorf("%s, %s: %d %.200s", name, what, r.status, r.body)
			} else if r.status != 200 && !strings.Contains(checkProblem(t, r).Detail, c.detail) {
				t.Errorf("%s, %s: %.200s", name, what, r.body)
			}
			if r.close && what == "a bomb" {
				continue // its announced length may be over the limit, too
			}
			if r.close {
				t.Errorf("%s, %s: the connection is closed, but all of the body had come", name, what)
			}
		}
	}
	// Errors are as they are.
	if r := do(t, addr, "POST /test.Items/Plain", `{"`+strings.Repeat("x", 3000)+`":`, "Accept-Encoding: gzip"); r.status != 400 || r.header.Get("Content-Encoding") != "" {
		t.Errorf("an error: %d %v", r.status, r.header)
	}
}

// What a client gets from others in codings and formats, and must not believe.
func TestCodedAnswers(t *testing.T) {
	gzip := func(s string) string { return string(httpbody.Gzip.Append(nil, []byte(s))) }
	for _, c := range []struct {
		name, head, body string
		code             codes.Code
		detail           string
	}{
		{"gzip", "Content-Encoding: gzip", gzip(`{"key":"k"}`), codes.OK, ""},
		{"cbor", "Content-Type: application/cbor", "\xa1\x63key\x61k", codes.OK, ""},
		{"not gzip", "Content-Encoding: gzip", `{"key":"k"}`, codes.Internal, "gzip"},
		{"unknown", "Content-Encoding: deflate", "x", codes.Internal, "deflate"},
		{"a bomb", "Content-Encoding: gzip", gzip(strings.Repeat("\x00", 8<<20)), codes.ResourceExhausted, "larger than max"},
		{"an error in gzip", "Content-Encoding: gzip\r\nX: 404", gzip(`{"code":"NOT_FOUND","detail":"none"}`), codes.NotFound, "none"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", jsonType)
			for line := range strings.SplitSeq(c.head, "\r\n") {
				name, value, _ := strings.Cut(line, ": ")
				w.Header().Set(name, value)
			}
			if w.Header().Get("X") != "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = io.WriteString(w, c.body)
		}))
		conn := dial(t, clientConfig(srv.Listener.Addr().String()))
		out, err := everywire.Call[item](context.Background(), conn, "t.T/M", &item{})
		if status.Code(err) != c.code || c.code == codes.OK && out.Key != "k" || err != nil && !strings.Contains(err.Error(), c.detail) {
			t.Errorf("%s: %v, %v", c.name, out, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	}
}
