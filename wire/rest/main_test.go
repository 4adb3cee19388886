package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is a message with a field of every form.
type item struct {
	Key      string            `wire:"1"`
	Size     int64             `wire:"2"`
	Tags     []string          `wire:"3"`
	On       bool              `wire:"4"`
	Ratio    float64           `wire:"5"`
	Data     []byte            `wire:"6"`
	At       time.Time         `wire:"7"`
	Sub      *sub              `wire:"8"`
	Labels   map[string]string `wire:"9"`
	PageSize uint32            `wire:"10"`
	Limit    *int32            `wire:"11"`
	Numbers  []int64           `wire:"12"`
	Wait     time.Duration     `wire:"13"`
}

type sub struct {
	Name string `wire:"1"`
}

func echoItem(_ context.Context, in *item) (*item, error) { return in, nil }

func withRoute(r everywire.Route) everywire.MethodOption {
	return func(m *everywire.Method) { m.Routes = append(m.Routes, r) }
}

// itemRegistry has one method for each way of a route to fill a request.
func itemRegistry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	everywire.Handle(reg, "test.Items/Plain", echoItem)
	everywire.Handle(reg, "test.Items/Get", echoItem, everywire.WithRoute("GET", "/items/{key}", ""))
	everywire.Handle(reg, "test.Items/List", echoItem, everywire.WithRoute("GET", "/items", ""))
	everywire.Handle(reg, "test.Items/Create", echoItem, everywire.WithRoute("POST", "/items", "*"))
	everywire.Handle(reg, "test.Items/Put", echoItem, everywire.WithRoute("PUT", "/items/{key=*}", "*"))
	everywire.Handle(reg, "test.Items/PutSub", echoItem,
		withRoute(everywire.Route{Verb: "PUT", Pattern: "/items/{key}/sub", Body: "sub", ResponseBody: "sub"}))
	everywire.Handle(reg, "test.Items/Resize", echoItem, everywire.WithRoute("DELETE", "/items/{key}/sizes/{size}/{on}", ""))
	everywire.Handle(reg, "test.Items/Tags", echoItem,
		withRoute(everywire.Route{Verb: "GET", Pattern: "/items/{key}/tags", ResponseBody: "tags"}))
	everywire.Handle(reg, "test.Items/Echo", func(_ context.Context, in *everywire.Document) (*everywire.Document, error) { return in, nil })
	return reg
}

var discard = slog.New(slog.DiscardHandler)

// testCodecs are those of every server and connection.
var testCodecs = func() *rpc.Codecs {
	set, err := rpc.NewCodecs(plainJSON, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{})
	if err != nil {
		panic(err)
	}
	return set
}()

var testFormats = func() *formats {
	fs, err := newFormats(testCodecs)
	if err != nil {
		panic(err)
	}
	return fs
}()

func serverConfig(reg *everywire.Registry) *rpc.ServerConfig {
	return &rpc.ServerConfig{Registry: reg, Codecs: testCodecs, Limits: everywire.Limits{}.WithDefaults(), Logger: discard}
}

// serve serves until the test ends, and returns the address.
func serve(t testing.TB, cfg *rpc.ServerConfig) string {
	t.Helper()
	srv, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return lis.Addr().String()
}

// A response is what came back for a raw request.
type response struct {
	status int
	header http.Header
	body   string
	close  bool // the server says that it closes the connection
}

// raw sends bytes as they are and reads one response to the given method.
func raw(t testing.TB, addr, method, request string) response {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no response to %.200q: %v", request, err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("response to %.200q: %v", request, err)
	}
	_ = res.Body.Close()
	return response{res.StatusCode, res.Header, string(body), res.Close}
}

// do sends a request with a head of lines "Name: value" and a body.
func do(t testing.TB, addr, line, body string, head ...string) response {
	t.Helper()
	method, _, _ := strings.Cut(line, " ")
	return raw(t, addr, method, requestText(line, body, head...))
}

// requestText is what do sends.
func requestText(line, body string, head ...string) string {
	var b strings.Builder
	b.WriteString(line + " HTTP/1.1\r\nHost: test\r\n")
	for _, h := range head {
		b.WriteString(h + "\r\n")
	}
	if body != "" {
		if !strings.Contains(strings.ToLower(b.String()), "content-type:") {
			b.WriteString("Content-Type: application/json\r\n")
		}
		b.WriteString("Content-Length: " + itoa(len(body)) + "\r\n")
	}
	return b.String() + "\r\n" + body
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// checkProblem checks that a response is a whole problem document, and returns
// it.
func checkProblem(t testing.TB, r response) problem {
	t.Helper()
	var p problem
	dec := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		t.Fatalf("status %d: the body is no problem document: %v\n%s", r.status, err, r.body)
	}
	if ct := r.header.Get("Content-Type"); ct != problemType {
		t.Errorf("Content-Type %q", ct)
	}
	if p.Type != "about:blank" || p.Title == "" || p.Status != r.status || p.Detail == "" || p.Code == "" {
		t.Errorf("status %d: incomplete problem document %s", r.status, r.body)
	}
	return p
}
