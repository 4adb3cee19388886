package ref

import (
	"context"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/sample"
)

func TestMain(m *testing.M) {
	// After a refused body net/http waits half a second for the client to read
	// the reply, and Close does not end that.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

func tcp(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// start serves and dials; both end with the test unless it stops the server.
func start(t *testing.T, name string, o Options) (conn Conn, addr string, stop func()) {
	t.Helper()
	addr, stopServer, err := Serve(t.Context(), name, Loopback(), o)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := stopServer(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	t.Cleanup(stop)
	conn, err = Dial(t.Context(), name, addr, tcp, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
			t.Errorf("close: %v", err)
		}
	})
	return conn, addr, stop
}

// withMessages are the implementations that carry messages.
func withMessages() []string {
	return []string{NetHTTP, NetHTTPOurJSON, GRPCGo, GRPCGoOurProtobuf, JRPC2}
}

// underLoad calls from eight callers, for longer where the machine is so busy
// that no call has ended in time.
func underLoad(t *testing.T, conn Conn, w load.Workload) *load.Result {
	t.Helper()
	for d := 50 * time.Millisecond; ; d *= 4 {
		r, err := load.Run(t.Context(), load.Config{Conn: conn, Workload: w, Callers: 8, For: d})
		if err != nil {
			t.Fatal(err)
		}
		if r.Latency.Count() > 0 || r.Errors != nil || d > 10*time.Second {
			return r
		}
	}
}

func TestSumUnderLoad(t *testing.T) {
	for _, name := range withMessages() {
		t.Run(name, func(t *testing.T) {
			conn, _, _ := start(t, name, Options{Service: "arith"})
			r := underLoad(t, conn, load.Sum())
			if r.Latency.Count() == 0 || r.Errors != nil {
				t.Errorf("%d calls, errors %v: %s", r.Latency.Count(), r.Errors, r.FirstError)
			}
		})
	}
}

func TestPingUnderLoad(t *testing.T) {
	conn, _, _ := start(t, Ping, Options{})
	r := underLoad(t, conn, load.Ping())
	if r.Latency.Count() == 0 || r.Errors != nil {
		t.Errorf("%d calls, errors %v: %s", r.Latency.Count(), r.Errors, r.FirstError)
	}
	if n := len(conn.(*pingConn).idle); n < 1 || n > 8 {
		t.Errorf("%d sockets for 8 callers", n)
	}
}

func TestPingChecksTheEcho(t *testing.T) {
	near, far := net.Pipe()
	conn, err := Dial(t.Context(), Ping, "", func(context.Context, string) (net.Conn, error) { return near, nil }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		buf := make([]byte, pingBytes)
		_, _ = io.ReadFull(far, buf)
		buf[5] ^= 1
		_, _ = far.Write(buf)
	}()
	if err := conn.Invoke(t.Context(), "", nil, nil); status.Code(err) != codes.DataLoss {
		t.Errorf("error %v", err)
	}
}

func TestEcho(t *testing.T) {
	documents := map[string]any{
		"null":   nil,
		"string": "é\u2028<&>\x00",
		"number": int64(42),
		"object": map[string]any{"a": []any{true, nil, 1.5, "x"}, "": map[string]any{}},
		"array":  []any{},
		"large":  strings.Repeat("0123456789", 100_000),
	}
	for _, name := range withMessages() {
		conn, _, _ := start(t, name, Options{Service: "echo"})
		for what, doc := range documents {
			t.Run(name+"/"+what, func(t *testing.T) {
				c := load.Echo(&everywire.Document{Value: doc}).Caller(0, 0)
				_, in, out := c.Next()
				if err := conn.Invoke(t.Context(), "/echo.Echo/Echo", in, out); err != nil {
					t.Fatal(err)
				}
				if wrong := c.Check(); wrong != "" {
					t.Error(wrong)
				}
			})
		}
	}
}

// Messages of a given type, with a list, a map and a document in them.
func TestTypedEcho(t *testing.T) {
	type item struct {
		Name *string `wire:"1" json:"name,omitempty"`
		N    float64 `wire:"2" json:"n"`
	}
	type message struct {
		ID    int64            `wire:"1" json:"id"`
		Items []item           `wire:"2" json:"items"`
		Tags  map[string]int64 `wire:"3" json:"tags"`
		Rest  any              `wire:"4" json:"rest"`
	}
	name := "é"
	in := &message{ID: 1<<53 + 1, Items: []item{{&name, 1.5}, {}}, Tags: map[string]int64{"a": -1}, Rest: []any{"x", 1.5, nil}}
	o := Options{Service: "echo", Type: reflect.TypeFor[message]()}
	for _, name := range withMessages() {
		if err := Serves(name, o); err != nil {
			if name != GRPCGo || !strings.Contains(err.Error(), GRPCGoOurProtobuf) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		conn, _, _ := start(t, name, o)
		c := load.Echo(in, &message{ID: 2}).Caller(0, 0)
		for range 3 {
			_, in, out := c.Next()
			if err := conn.Invoke(t.Context(), "/"+echo.Echo, in, out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if wrong := c.Check(); wrong != "" {
				t.Errorf("%s: %s", name, wrong)
			}
		}
	}
}

// The store is the same behind both references that have it.
func TestKV(t *testing.T) {
	for _, name := range withMessages() {
		o := Options{Service: "kv"}
		if Serves(name, o) != nil {
			continue
		}
		conn, _, _ := start(t, name, o)
		call := func(method string, in, out any) error { return conn.Invoke(t.Context(), "/"+method, in, out) }
		created, updated, got := new(kv.CreateResponse), new(kv.UpdateResponse), new(kv.RetrieveResponse)
		if err := call(kv.Create, &kv.CreateRequest{Key: []byte("k"), Value: []byte("v")}, created); err != nil || created.Version == 0 {
			t.Fatalf("%s: %v, %v", name, created, err)
		}
		if err := call(kv.Create, &kv.CreateRequest{Key: []byte("k")}, new(kv.CreateResponse)); status.Code(err) != codes.AlreadyExists {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(kv.Update, &kv.UpdateRequest{Key: []byte("k"), Value: []byte("w")}, updated); err != nil || updated.Version <= created.Version {
			t.Errorf("%s: %v, %v", name, updated, err)
		}
		if err := call(kv.Retrieve, &kv.RetrieveRequest{Key: []byte("k")}, got); err != nil || string(got.Value) != "w" || got.Version != updated.Version {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if err := call(kv.Delete, &kv.DeleteRequest{Key: []byte("k")}, new(kv.DeleteResponse)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(kv.Retrieve, &kv.RetrieveRequest{Key: []byte("k")}, got); status.Code(err) != codes.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMessageLimit(t *testing.T) {
	big := &everywire.Document{Value: strings.Repeat("x", 2000)}
	for _, name := range []string{NetHTTP, NetHTTPOurJSON, GRPCGo} {
		conn, _, _ := start(t, name, Options{Service: "echo", MaxMessage: 1000})
		if err := conn.Invoke(t.Context(), "", big, &everywire.Document{}); err == nil {
			t.Errorf("%s: 2000 bytes passed a limit of 1000", name)
		}
		small, out := &everywire.Document{Value: "x"}, &everywire.Document{}
		if err := conn.Invoke(t.Context(), "", small, out); err != nil || out.Value != "x" {
			t.Errorf("%s: after a refused message: %v, %v", name, err, out.Value)
		}
	}
}

func TestOtherMessages(t *testing.T) {
	for _, name := range withMessages() {
		conn, _, _ := start(t, name, Options{Service: "arith"})
		if err := conn.Invoke(t.Context(), "", new(int), new(int)); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: error %v", name, err)
		}
		// The server serves arith only.
		if err := conn.Invoke(t.Context(), "", &everywire.Document{}, &everywire.Document{}); err == nil {
			t.Errorf("%s: arith answers echo", name)
		}
		if _, err := conn.NewStream(t.Context(), nil, ""); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: stream: %v", name, err)
		}
	}
}

func TestServerGone(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			conn, _, stop := start(t, name, Options{Service: "arith"})
			in, out := &arith.SumRequest{Numbers: []int64{1, 2}}, &arith.SumReply{}
			if err := conn.Invoke(t.Context(), "", in, out); err != nil {
				t.Fatal(err)
			}
			stop()
			if err := conn.Invoke(t.Context(), "", in, out); status.Code(err) != codes.Unavailable {
				t.Errorf("error %v, want Unavailable", err)
			}
		})
	}
}

func TestCancelledCall(t *testing.T) {
	for _, name := range Names() {
		conn, _, _ := start(t, name, Options{Service: "arith"})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := conn.Invoke(ctx, "", &arith.SumRequest{}, &arith.SumReply{})
		// jrpc2 sends first and then looks at the context: the reply may win.
		if status.Code(err) != codes.Canceled && (name != JRPC2 || err != nil) {
			t.Errorf("%s: error %v, want Canceled", name, err)
		}
		if err := conn.Invoke(t.Context(), "", &arith.SumRequest{}, &arith.SumReply{}); err != nil {
			t.Errorf("%s: after a cancelled call: %v", name, err)
		}
	}
}

func TestHTTPStatus(t *testing.T) {
	for _, name := range []string{NetHTTP, NetHTTPOurJSON} {
		_, addr, _ := start(t, name, Options{Service: "arith", MaxMessage: 100})
		for _, tc := range []struct {
			verb, path, body string
			code             int
			reply            string
		}{
			{"POST", "/sum", `{"numbers":[20,21]}`, 200, `{"sum":41}`},
			{"POST", "/sum", `{"numbers":`, 400, "*"},
			{"POST", "/sum", `{"numbers":[` + strings.Repeat("1,", 100) + `1]}`, 413, "*"},
			{"GET", "/sum", "", 405, "*"},
			{"POST", "/echo", "1", 404, "*"},
		} {
			req, err := http.NewRequestWithContext(t.Context(), tc.verb, "http://"+addr+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tc.code || tc.reply != "*" && string(body) != tc.reply {
				t.Errorf("%s: %s %s %s: %d %s", name, tc.verb, tc.path, tc.body, resp.StatusCode, body)
			}
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

func TestUnknownNames(t *testing.T) {
	for _, tc := range []struct{ name, service, want string }{
		{"jrpc3", "arith", `unknown reference implementation "jrpc3"; known are ["net/http"`},
		{"jrpc2", "auth", `serve arith, echo, kv and relay, not "auth"`},
		{"jrpc2", "kv", `jrpc2 does not serve kv; grpc-go and grpc-go+protobuf do`},
	} {
		if _, _, err := Serve(t.Context(), tc.name, Loopback(), Options{Service: tc.service}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Serve: %v", err)
		}
		if _, err := Dial(t.Context(), tc.name, "", nil, Options{Service: tc.service}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Dial: %v", err)
		}
	}
	if diff := cmp.Diff(len(Names()), len(implementations)); diff != "" {
		t.Errorf("Names and implementations differ: %s", diff)
	}
}

// The service behind relay is what two of them serve, after its delay.
func TestSample(t *testing.T) {
	for _, name := range []string{NetHTTP, GRPCGo} {
		t.Run(name, func(t *testing.T) {
			conn, _, _ := start(t, name, Options{Service: "relay", Delay: time.Millisecond})
			out, err := everywire.Call[sample.SampleData](t.Context(), conn, sample.GetSampleData, &sample.Empty{})
			if err != nil || *out != sample.Data() {
				t.Errorf("got %+v, %v", out, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := everywire.Call[sample.SampleData](ctx, conn, sample.GetSampleData, &sample.Empty{}); status.Code(err) != codes.Canceled {
				t.Errorf("a cancelled call: %v", err)
			}
		})
	}
	if err := Serves(JRPC2, Options{Service: "relay"}); err == nil || !strings.Contains(err.Error(), "does not serve relay") {
		t.Errorf("jrpc2 serves relay: %v", err)
	}
}
