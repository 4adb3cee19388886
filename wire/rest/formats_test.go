package rest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire/internal/rpc"
)

type count struct {
	N uint16 `wire:"1"`
}

// countCodec has a form for one type.
func countCodec(name string, mediaTypes ...string) *everywire.OwnCodec {
	c := everywire.NewCodec(name, mediaTypes...)
	everywire.Encode(c,
		func(dst []byte, m *count) ([]byte, error) { return binary.BigEndian.AppendUint16(dst, m.N), nil },
		func(data []byte, m *count) error {
			if len(data) != 2 {
				return errors.New("want two bytes")
			}
			m.N = binary.BigEndian.Uint16(data)
			return nil
		})
	return c
}

// with is the codecs of every server, and others.
func with(t *testing.T, more ...everywire.Codec) *rpc.Codecs {
	t.Helper()
	set, err := rpc.NewCodecs(append(append([]everywire.Codec{}, testCodecs.All()...), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A format that is for whole messages of some types is read and written where
// that is what is there, and refused before the handler runs where it is not.
func TestFormatsOfWholeMessages(t *testing.T) {
	reg := itemRegistry()
	var ran atomic.Bool
	echo := func(_ context.Context, in *count) (*count, error) { ran.Store(true); return in, nil }
	everywire.Handle(reg, "test.Counts/Echo", echo)
	everywire.Handle(reg, "test.Counts/Place", echo, everywire.WithRoute("PUT", "/counts/{n}", "*"))
	everywire.Handle(reg, "test.Counts/Part", echo, everywire.WithRoute("POST", "/part", "*", everywire.ResponseBody("n")))
	everywire.Handle(reg, "test.Counts/Long", func(_ context.Context, in *count) (*item, error) {
		ran.Store(true)
		return &item{Size: int64(in.N)}, nil
	})
	everywire.Handle(reg, "test.Counts/Short", func(context.Context, *item) (*count, error) { ran.Store(true); return &count{}, nil })
	cfg := serverConfig(reg)
	cfg.Codecs = with(t, countCodec("count", "application/count", "x/count"))
	addr := serve(t, cfg)

	const own, wants = "Content-Type: x/count", "Accept: application/count"
	for name, tc := range map[string]struct {
		line, body string
		head       []string
		status     int
		code       codes.Code
		says       string // in the body, or in the problem's detail
	}{
		"whole":                      {"POST /test.Counts/Echo", "\x00\x07", []string{own, wants}, 200, codes.OK, "\x00\x07"},
		"the name asked for":         {"POST /test.Counts/Echo", "\x00\x07", []string{own, "Accept: x/*"}, 200, codes.OK, "\x00\x07"},
		"JSON for it":                {"POST /test.Counts/Echo", "\x00\x07", []string{own}, 200, codes.OK, `{"n":7}`},
		"it for JSON":                {"PUT /counts/8", "{}", []string{wants}, 200, codes.OK, "\x00\x08"},
		"malformed":                  {"POST /test.Counts/Echo", "\x00", []string{own}, 400, codes.InvalidArgument, "count: reading a *rest.count: want two bytes"},
		"joined with a path":         {"PUT /counts/8", "\x00\x07", []string{own}, 415, codes.Unimplemented, "x/count is for a whole one"},
		"joined with a query":        {"POST /test.Counts/Echo?n=1", "\x00\x07", []string{own}, 415, codes.Unimplemented, "x/count is for a whole one"},
		"a part of the reply":        {"POST /part", "\x00\x07", []string{own, wants}, 406, codes.Unimplemented, "application/count is for a whole one"},
		"a part, JSON will do":       {"POST /part", "\x00\x07", []string{own, wants + ", */*;q=0.1"}, 200, codes.OK, "7"},
		"a reply that it has not":    {"POST /test.Counts/Long", "\x00\x07", []string{own, wants}, 406, codes.Unimplemented, "rest.item has no form"},
		"the next best":              {"POST /test.Counts/Long", "\x00\x07", []string{own, wants + ", application/json;q=0.5"}, 200, codes.OK, `"size":7`},
		"a request that it has not":  {"POST /test.Counts/Short", "\x00\x07", []string{own}, 415, codes.Unimplemented, "rest.item has no form"},
		"protobuf, joined":           {"PUT /items/k", "\x0a\x01a", []string{"Content-Type: application/protobuf"}, 415, codes.Unimplemented, "want one of application/json, application/msgpack, application/x-msgpack, application/vnd.msgpack, application/cbor"},
		"protobuf, part of a reply":  {"PUT /items/k/sub", `{"name":"a"}`, []string{"Accept: application/x-protobuf"}, 406, codes.Unimplemented, "application/x-protobuf is for a whole one"},
		"protobuf, whole":            {"POST /test.Items/Plain", "\x10\x05", []string{"Content-Type: application/x-protobuf", "Accept: application/protobuf"}, 200, codes.OK, "\x10\x05"},
		"protobuf, cut off":          {"POST /test.Items/Plain", "\x0a\x05a", []string{"Content-Type: application/protobuf"}, 400, codes.InvalidArgument, "protobuf: "},
		"no codec of the server":     {"POST /test.Counts/Echo", "x", []string{"Content-Type: application/none"}, 415, codes.InvalidArgument, "application/count, x/count"},
		"no codec that it can write": {"POST /test.Counts/Echo", "{}", []string{"Accept: application/none"}, 406, codes.InvalidArgument, "application/count, x/count"},
	} {
		t.Run(name, func(t *testing.T) {
			ran.Store(false)
			r := do(t, addr, tc.line, tc.body, tc.head...)
			if tc.status == 200 {
				if r.status != 200 || !strings.Contains(r.body, tc.says) {
					t.Fatalf("%d %q", r.status, r.body)
				}
				return
			}
			p := checkProblem(t, r)
			if r.status != tc.status || p.Code != strings.ToUpper(codeName(tc.code)) || !strings.Contains(p.Detail, tc.says) {
				t.Errorf("%d %s", r.status, r.body)
			}
			if ran.Load() {
				t.Error("the handler ran")
			}
			if tc.status == 415 && !strings.Contains(r.header.Get("Accept"), jsonType) {
				t.Errorf("Accept: %q", r.header.Get("Accept"))
			}
		})
	}
}

func codeName(c codes.Code) string {
	return map[codes.Code]string{codes.InvalidArgument: "INVALID_ARGUMENT", codes.Unimplemented: "UNIMPLEMENTED"}[c]
}

// A client with such a format uses JSON where a message is in several places.
func TestClientOfWholeMessages(t *testing.T) {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	echo := func(_ context.Context, in *count) (*count, error) { return in, nil }
	everywire.Handle(reg, "test.Counts/Echo", echo)
	everywire.Handle(reg, "test.Counts/Place", echo, everywire.WithRoute("PUT", "/counts/{n}", "*"))
	everywire.Handle(reg, "test.Counts/Part", echo, everywire.WithRoute("POST", "/part", "*", everywire.ResponseBody("n")))
	codecs := with(t, countCodec("count"))
	h, err := NewHandler(&rpc.ServerConfig{Registry: reg, Codecs: codecs, Limits: everywire.Limits{}.WithDefaults(), Logger: discard})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan [2]string, 1) // the types of request and reply
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		seen <- [2]string{r.Header.Get("Content-Type"), w.Header().Get("Content-Type")}
	}))
	defer srv.Close()
	cfg := clientConfig(srv.Listener.Addr().String())
	cfg.Methods, cfg.Codecs, cfg.Options = reg, codecs, rpc.Options{"codec": "count"}
	conn := dial(t, cfg)
	for name, want := range map[string][2]string{
		"Echo":  {"application/count", "application/count"},
		"Place": {jsonType, "application/count"},
		"Part":  {"application/count", jsonType},
	} {
		out, err := everywire.Call[count](t.Context(), conn, "test.Counts/"+name, &count{N: 7})
		if err != nil || out.N != 7 {
			t.Errorf("%s: %v, %v", name, out, err)
		}
		if got := await(t, "the types", seen); got != want {
			t.Errorf("%s: a request of %s and a reply of %s", name, got[0], got[1])
		}
	}
	if _, err := everywire.Call[count](t.Context(), conn, "test.Counts/Echo", &item{}); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "rest.item has no form") {
		t.Errorf("a request without a form: %v", err)
	}
}

// Arrays of numbers are JSON's form of bytes on a connection that says so.
func TestBytesAsArrays(t *testing.T) {
	reg := itemRegistry()
	cfg := serverConfig(reg)
	cfg.Codecs = with(t, json.Codec{BytesAsArray: true})
	addr := serve(t, cfg)
	for _, body := range []string{`{"data":"AP8="}`, `{"data":[0,-1]}`, `{"data":[0,255]}`} {
		if r := do(t, addr, "POST /test.Items/Plain", body); r.status != 200 || !strings.Contains(r.body, `"data":[0,-1]`) {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	if r := do(t, addr, "PUT /items/k", `{"data":[0,-1]}`); r.status != 200 || !strings.Contains(r.body, `"data":[0,-1]`) {
		t.Errorf("joined: %d %s", r.status, r.body)
	}
}

func TestFormatsRefused(t *testing.T) {
	for mediaType, want := range map[string]string{sseType: "that of streams", "application/jsonl": "that of streams", problemType: "that of errors", "text/plain": "any web page"} {
		cfg := serverConfig(itemRegistry())
		cfg.Codecs = with(t, countCodec("count", mediaType))
		if _, err := NewHandler(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", mediaType, err)
		}
		client := clientConfig("127.0.0.1:1")
		client.Codecs = cfg.Codecs
		if _, err := NewConn(client); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s, a client: %v", mediaType, err)
		}
	}
}

type blob struct {
	Data []byte `wire:"1"`
}

// A message may be no bytes at all, and its codec reads it all the same.
func TestEmptyMessages(t *testing.T) {
	own := everywire.NewCodec("blob")
	everywire.Encode(own,
		func(dst []byte, m *blob) ([]byte, error) {
			return append(dst, strings.TrimPrefix(string(m.Data), "none")...), nil
		},
		func(data []byte, m *blob) error {
			m.Data = bytes.Clone(data)
			if len(data) == 0 {
				m.Data = []byte("none")
			}
			return nil
		})
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	everywire.Handle(reg, "test.Blobs/Echo", func(_ context.Context, in *blob) (*blob, error) { return in, nil })
	cfg := serverConfig(reg)
	cfg.Codecs = with(t, own)
	addr := serve(t, cfg)
	for head, body := range map[string]string{"Content-Length: 0": "", "Transfer-Encoding: chunked": "0\r\n\r\n"} {
		request := requestText("POST /test.Blobs/Echo", "", head, "Content-Type: application/blob") + body
		if r := raw(t, addr, "POST", request); r.status != 200 || r.body != `{"data":"bm9uZQ=="}` {
			t.Errorf("%s: %d %q", head, r.status, r.body)
		}
	}
	client := clientConfig(addr)
	client.Codecs, client.Options = cfg.Codecs, rpc.Options{"codec": "blob"}
	out, err := everywire.Call[blob](t.Context(), dial(t, client), "test.Blobs/Echo", &blob{})
	if err != nil || string(out.Data) != "none" {
		t.Errorf("%v, %v", out, err)
	}
}
