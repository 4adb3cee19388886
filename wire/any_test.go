package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

// noLeaks checks in the end that no goroutine is left, when all else that was to
// be cleaned up is.
func noLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// quiet keeps the log of connections that are refused out of the tests' output.
var quiet = wire.WithLogger(slog.New(slog.DiscardHandler))

// serveAny serves reg on target, and checks that the end is clean.
func serveAny(t *testing.T, reg *everywire.Registry, target string, opts ...wire.ServeOption) *wire.Server {
	t.Helper()
	server, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{target}, append(opts, quiet)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return server
}

func dial(t *testing.T, target string, opts ...wire.DialOption) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(target, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// onOnePort are targets of every wire, with an address to be filled in.
var onOnePort = []string{
	"rest://%s", "rest://%s?reconnect", "jsonrpc+http://%s/rpc", "jsonrpc+ws://%s/rpc", "jsonrpc+tcp://%s", "jsonrpc+tcp://%s?framing=header",
	"jsonrpc+tcp://%s?framing=netstring", "jsonrpc+tcp://%s?framing=concat", "msgpackrpc+tcp://%s",
	"msgpackrpc+tcp://%s?meta=on", "msgpackrpc+tcp://%s?envelope=map", "grpc://%s", "grpc://%s?codec=json", "connect://%s",
	"connect://%s?protocol=grpc-web", "connect://%s?http=1.1",
}

// Clients of every wire call at the same time, and each reads what the others
// have written.
func TestEveryWireOnOnePort(t *testing.T) {
	noLeaks(t)
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", secure), func(t *testing.T) {
			server, client := certificates(t)
			target := "any://127.0.0.1:0"
			if secure {
				target = "any+tls://127.0.0.1:0"
			}
			addr := serveAny(t, kvRegistry(), target, wire.WithTLSConfig(server)).Targets()[0].Addrs[0]
			var wg sync.WaitGroup
			var writers sync.WaitGroup
			writers.Add(len(onOnePort))
			for i, format := range onOnePort {
				to := fmt.Sprintf(format, addr)
				if secure {
					to = strings.Replace(to, "://", "+tls://", 1)
				}
				conn := dial(t, to, wire.WithTLSConfig(client))
				wg.Go(func() {
					key := []byte{byte(i)}
					_, err := everywire.Call[kv.CreateResponse](t.Context(), conn, kv.Create, &kv.CreateRequest{Key: key, Value: []byte(format)})
					writers.Done()
					if err != nil {
						t.Errorf("%s: %v", to, err)
						return
					}
					writers.Wait()
					for j, other := range onOnePort {
						out, err := everywire.Call[kv.RetrieveResponse](t.Context(), conn, kv.Retrieve, &kv.RetrieveRequest{Key: []byte{byte(j)}})
						if err != nil || string(out.Value) != other {
							t.Errorf("%s: what %s wrote is %v, %v", to, other, out, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

type nothing struct{}

// counted has one method, which counts its calls.
func counted() (*everywire.Registry, *atomic.Int32) {
	reg, calls := everywire.NewRegistry(), new(atomic.Int32)
	everywire.Handle(reg, "x.X/Count", func(_ context.Context, in *nothing) (*nothing, error) {
		calls.Add(1)
		return in, nil
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "count"}))
	return reg, calls
}

// exchange sends bytes to addr, in pieces of the given size, and returns what
// comes back until the server closes or want has come.
func exchange(t *testing.T, addr, send string, piece int, want string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for rest := send; rest != ""; {
		n := min(piece, len(rest))
		if _, err := io.WriteString(conn, rest[:n]); err != nil {
			break // the server has closed; what it said is there to be read
		}
		rest = rest[n:]
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		n, err := conn.Read(buf)
		got = append(got, buf[:n]...)
		var op net.Error
		switch {
		case errors.As(err, &op) && op.Timeout():
			t.Errorf("after %q the server neither answers nor closes; it sent %q", send, got)
			return string(got)
		case err != nil, want != "" && strings.Contains(string(got), want):
			return string(got)
		}
	}
}

// Bytes of foreign clients are answered in their own wire, however they are cut.
func TestOnePortRaw(t *testing.T) {
	reg, calls := counted()
	addr := serveAny(t, reg, "any://127.0.0.1:0").Targets()[0].Addrs[0]
	call := `{"jsonrpc":"2.0","method":"count","id":1}`
	for _, test := range []struct{ send, want string }{
		{call + "\n", `"id":1}`},
		{"\r\n " + call, `"id":1}`},
		{"[" + call + "]", `"id":1}]`},
		{fmt.Sprintf("%d:%s,", len(call), call), `"id":1},`},
		{fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(call), call), `"id":1}`},
		{fmt.Sprintf("content-type: application/json\r\nCONTENT-LENGTH:%d\r\n\r\n%s", len(call), call), `"id":1}`},
		{"\x94\x00\x07\xa5count\x90", "\x94\x01\x07"},
		{"\x83\xa7jsonrpc\xa32.0\xa6method\xa5count\xa2id\x07", "jsonrpc"},
		{"\x91\x83\xa7jsonrpc\xa32.0\xa6method\xa5count\xa2id\x07", "jsonrpc"},
		{fmt.Sprintf("POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(call), call), `"id":1}`},
		{"POST /x.X/Count HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 20"},
		{"POST /x.X/Count HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnect-Protocol-Version: 1\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 200"},
	} {
		for _, piece := range []int{1, 7, 1000} {
			before := calls.Load()
			if got := exchange(t, addr, test.send, piece, test.want); !strings.Contains(got, test.want) {
				t.Errorf("%q in pieces of %d is answered %q, want %q", test.send, piece, got, test.want)
			}
			if n := calls.Load() - before; n != 1 {
				t.Errorf("%q ran %d calls", test.send, n)
			}
		}
	}
}

// What a browser can be made to send to a port that is not its page's, and what
// other programs send by mistake, runs nothing, on a port of every wire or of one.
func TestOtherProtocolsRunNothing(t *testing.T) {
	reg, calls := counted()
	body := `{"jsonrpc":"2.0","method":"count","id":1}` + "\n\x94\x00\x07\xa5count\x90"
	form := func(path, contentType string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: victim\r\nOrigin: http://evil.example\r\nContent-Type: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
			path, contentType, len(body), body)
	}
	for _, target := range []string{"any://127.0.0.1:0", "jsonrpc+tcp://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0"} {
		addr := serveAny(t, reg, target).Targets()[0].Addrs[0]
		for _, send := range []string{
			form("/", "text/plain"), form("/", "application/x-www-form-urlencoded"), form("/", "multipart/form-data; boundary=x"),
			form("/rpc", "text/plain"), form("/rpc", "application/x-www-form-urlencoded"), form("/rpc", "multipart/form-data; boundary=x"),
			form("/x.X/Count", "text/plain"),
			"GET /" + strings.Repeat("a", 100) + body,
			"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + body,
			"\x0d\x0a\x0d\x0a\x00\x0d\x0aQUIT\x0a" + body,
			"SSH-2.0-x\r\n" + body,
			"EHLO x\r\n" + body,
			"\x16\x03\x01\x00\x01" + body,
			"\x00" + body,
			"Content-Disposition: form-data\r\n\r\n" + body,
			"PRI * HTTP/1.1\r\n\r\n" + body + strings.Repeat(" ", 100),
			"\xff" + body,
		} {
			_ = exchange(t, addr, send, 1000, "") // returns when the server has closed
			if n := calls.Swap(0); n != 0 {
				t.Errorf("%s: %q ran %d calls", target, send, n)
			}
		}
	}
}

// A thousand clients of every wire at a time.
func TestOnePortManyConnections(t *testing.T) {
	if testing.Short() {
		t.Skip("opens 1,000 connections")
	}
	reg, calls := counted()
	addr := serveAny(t, reg, "any://127.0.0.1:0").Targets()[0].Addrs[0]
	call := `{"jsonrpc":"2.0","method":"count","id":1}` + "\n"
	const count = 1000
	conns := make([]net.Conn, 0, count)
	for i := range count {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() {
			send, want := call, byte('\n')
			switch i % 3 {
			case 1:
				send, want = "\x94\x00\x07\xa5count\x90", 0x07
			case 2:
				send, want = "POST /x.X/Count HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", '\n'
			}
			if _, err := io.WriteString(conn, send); err != nil {
				t.Error(err)
			}
			if _, err := bufio.NewReader(conn).ReadBytes(want); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := calls.Load(); n != count {
		t.Errorf("%d calls ran", n)
	}
}

// waiting has a method that runs until it is let go.
type waiting struct {
	started chan struct{}
	let     chan struct{}
}

func (w *waiting) registry() *everywire.Registry {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "x.X/Wait", func(ctx context.Context, in *nothing) (*nothing, error) {
		w.started <- struct{}{}
		select {
		case <-w.let:
			return in, nil
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	})
	return reg
}

// Shutdown with connections in every state: the calls under way finish, and
// nothing else is waited for.
func TestOnePortShutdown(t *testing.T) {
	noLeaks(t)
	serverTLS, clientTLS := certificates(t)
	w := &waiting{make(chan struct{}, len(onOnePort)), make(chan struct{})}
	server, err := wire.Serve(t.Context(), w.registry(), []string{"any://127.0.0.1:0", "any+tls://127.0.0.1:0?cleartext"}, wire.WithTLSConfig(serverTLS), quiet)
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := server.Targets()[0].Addrs[0], server.Targets()[1].Addrs[0]
	for _, addr := range []string{plain, secure} {
		for _, said := range []string{
			"", "P", "\x16", "\x16\x03\x01\x00\xff\x01", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
			"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "{", "12", "Content-Length: 3\r\n", "\x94\x00",
		} {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, said); err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }() // until the server closes
		}
	}
	var ended sync.WaitGroup
	for i, format := range onOnePort {
		to := fmt.Sprintf(format, plain)
		if i%2 == 1 {
			to = strings.Replace(fmt.Sprintf(format, secure), "://", "+tls://", 1)
		}
		busy := dial(t, to, wire.WithTLSConfig(clientTLS))
		ended.Go(func() {
			if _, err := everywire.Call[nothing](t.Context(), busy, "x.X/Wait", &nothing{}); err != nil {
				t.Errorf("%s: the call in flight: %v", to, err)
			}
		})
	}
	for range onOnePort {
		<-w.started
	}
	done := make(chan error, 1)
	go func() { done <- server.Shutdown(context.WithoutCancel(t.Context())) }()
	waitUntilRefused(t, plain)
	select {
	case err := <-done:
		t.Errorf("Shutdown did not wait for the calls: %v", err)
	default:
	}
	close(w.let)
	ended.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// waitUntilRefused waits until nobody accepts connections at addr.
func waitUntilRefused(t *testing.T, addr string) {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		conn.Close()
		if t.Context().Err() != nil {
			t.Fatal("the server goes on accepting")
		}
	}
}

// Shutdown cuts off what does not end in time, on every wire.
func TestOnePortShutdownInTime(t *testing.T) {
	noLeaks(t)
	w := &waiting{make(chan struct{}, len(onOnePort)), make(chan struct{})}
	server, err := wire.Serve(t.Context(), w.registry(), []string{"any://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var ended sync.WaitGroup
	for _, format := range onOnePort {
		to := fmt.Sprintf(format, server.Targets()[0].Addrs[0])
		busy := dial(t, to)
		ended.Go(func() {
			if _, err := everywire.Call[nothing](t.Context(), busy, "x.X/Wait", &nothing{}); err == nil {
				t.Errorf("%s: the call went well", to)
			}
		})
	}
	for range onOnePort {
		<-w.started
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	ended.Wait()
}

// Calls of gRPC that come in while the port is shut down either run and are
// answered, or did not run.
func TestOnePortDrainsGRPC(t *testing.T) {
	noLeaks(t)
	for range 5 {
		reg, calls := counted()
		server, err := wire.Serve(t.Context(), reg, []string{"any://127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var good, begun atomic.Int32
		for range 8 {
			conn := dial(t, "grpc://"+server.Targets()[0].Addrs[0])
			for range 4 {
				wg.Go(func() {
					for {
						_, err := everywire.Call[nothing](t.Context(), conn, "x.X/Count", &nothing{})
						if err != nil {
							if status.Code(err) != codes.Unavailable {
								t.Error(err)
							}
							return
						}
						good.Add(1)
						begun.Add(1)
					}
				})
			}
		}
		for begun.Load() < 200 {
			if t.Context().Err() != nil {
				t.Fatal(t.Context().Err())
			}
		}
		if err := server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if good.Load() != calls.Load() {
			t.Errorf("%d calls ran, %d were answered", calls.Load(), good.Load())
		}
	}
}

// A connection that began with another request carries gRPC too, and drains.
func TestOnePortMixedConnection(t *testing.T) {
	noLeaks(t)
	w := &waiting{make(chan struct{}, 1), make(chan struct{})}
	server, err := wire.Serve(t.Context(), w.registry(), []string{"any://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	var dialled atomic.Int32
	transport := &http.Transport{
		Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dialled.Add(1)
			return new(net.Dialer).DialContext(ctx, network, addr)
		},
	}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	do := func(method, path, contentType string, body []byte) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+server.Targets()[0].Addrs[0]+path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return nil, ""
		}
		if contentType != "" {
			req.Header.Set("Content-Type", contentType)
			req.Header.Set("Te", "trailers")
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
			return nil, ""
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Errorf("%s %s: %v", method, path, err)
		}
		return res, string(text)
	}
	if res, text := do(http.MethodGet, "/nothing", "", nil); res == nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("a path that is not there: %v, %s", res, text)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		res, text := do(http.MethodPost, "/x.X/Wait", "application/grpc+json", []byte("\x00\x00\x00\x00\x02{}"))
		if res != nil && (res.Trailer.Get("Grpc-Status") != "0" || text != "\x00\x00\x00\x00\x02{}") {
			t.Errorf("the call of gRPC: %v, %q", res.Trailer, text)
		}
	}()
	<-w.started
	if n := dialled.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	done := make(chan error, 1)
	go func() { done <- server.Shutdown(context.WithoutCancel(t.Context())) }()
	waitUntilRefused(t, server.Targets()[0].Addrs[0])
	close(w.let)
	<-ended
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOnePortErrors(t *testing.T) {
	for target, want := range map[string]string{
		"any://h:1":         "names one wire, such as rest://h:1, grpc://h:1, jsonrpc+tcp://h:1",
		"any+tls://h:1":     "rest+tls://h:1",
		"any+unix:///s":     "rest+unix:///s, grpc+unix:///s",
		"any://h:1?idle=5m": "names one wire",
	} {
		if _, err := wire.Dial(target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Dial(%q): %v, want %q", target, err, want)
		}
	}
	server, _ := certificates(t)
	for target, want := range map[string]string{
		"any://127.0.0.1:0?framing=line":              `any has no option "framing"`,
		"any://127.0.0.1:0?cleartext":                 "for any+tls",
		"any+tls://127.0.0.1:0?cleartext&ca=../x.pem": "option ca",
		"any://127.0.0.1:0?idle=soon":                 "option idle",
		"any://127.0.0.1:0?origins=a/b":               "option origins",
		"any://127.0.0.1:0/path":                      "any has no path",
		"any://127.0.0.1:0?reconnect":                 `any has no option "reconnect"`,
	} {
		if _, err := wire.Serve(t.Context(), kvRegistry(), []string{target}, wire.WithTLSConfig(server)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Serve(%q): %v, want %q", target, err, want)
		}
	}
}

// If the listener fails, so does the server, and says why.
func TestOnePortListenerFails(t *testing.T) {
	noLeaks(t)
	server, err := wire.Serve(t.Context(), kvRegistry(), []string{"any://127.0.0.1:0"}, wire.WithListener(
		func(ctx context.Context, network, addr string) (net.Listener, error) {
			lis, err := new(net.ListenConfig).Listen(ctx, network, addr)
			return failedListener{lis}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err == nil || !strings.Contains(err.Error(), "no more connections") {
		t.Errorf("Wait returned %v", err)
	}
}

// A client of TLS that agrees on a protocol must speak it.
func TestOnePortALPN(t *testing.T) {
	serverTLS, clientTLS := certificates(t)
	reg, calls := counted()
	addr := serveAny(t, reg, "any+tls://127.0.0.1:0", wire.WithTLSConfig(serverTLS)).Targets()[0].Addrs[0]
	call := `{"jsonrpc":"2.0","method":"count","id":1}` + "\n"
	post := fmt.Sprintf("POST /rpc HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(call), call)
	for _, test := range []struct {
		offers []string
		send   string
		runs   int32
	}{
		{nil, call, 1}, {nil, post, 1}, {nil, "\x94\x00\x07\xa5count\x90", 1},
		{[]string{"jsonrpc"}, call, 1}, {[]string{"http/1.1"}, post, 1}, {[]string{"http/1.1", "jsonrpc"}, post, 1},
		{[]string{"jsonrpc"}, post, 0}, {[]string{"http/1.1"}, call, 0}, {[]string{"h2"}, post, 0}, {[]string{"h2"}, call, 0},
		{[]string{"http/1.1"}, "\x94\x00\x07\xa5count\x90", 0}, {nil, "\x16\x03\x01", 0}, {nil, "\x00", 0},
	} {
		cfg := clientTLS.Clone()
		cfg.NextProtos = test.offers
		conn, err := tls.Dial("tcp", addr, cfg)
		if err != nil {
			t.Fatalf("%q: %v", test.offers, err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, test.send) // the server may have closed
		n, err := conn.Read(make([]byte, 1))
		if (n == 1) != (test.runs == 1) {
			t.Errorf("%q and %q: read %d, %v", test.offers, test.send, n, err)
		}
		if got := calls.Swap(0); got != test.runs {
			t.Errorf("%q and %q: %d calls ran", test.offers, test.send, got)
		}
		_ = conn.Close() // the server may have done so
	}
	cfg := clientTLS.Clone()
	cfg.NextProtos = []string{"smtp"}
	if conn, err := tls.Dial("tcp", addr, cfg); err == nil {
		conn.Close()
		t.Error("a client that offers another protocol was taken")
	}
}
