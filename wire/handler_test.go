package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// A program's own server has a page of its own and, beside it, a service on every
// wire that HTTP carries.
func ExampleNewHandler() {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	handler, err := wire.NewHandler(reg, "any")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /about", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "what this is") })
	mux.Handle("/", handler)
	server := httptest.NewServer(mux)

	for _, request := range []struct{ path, body string }{
		{"/rpc", `{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}`},
		{"/arith.Arith/Sum", `{"numbers":[20,21]}`},
	} {
		res, err := http.Post(server.URL+request.path, "application/json", strings.NewReader(request.body))
		if err != nil {
			panic(err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			panic(err)
		}
		_ = res.Body.Close() // it has been read
		fmt.Println(strings.TrimSpace(string(text)))
	}

	// With an http.Server call its Shutdown and the handler's at the same time.
	server.Close()
	if err := handler.Shutdown(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// {"jsonrpc":"2.0","result":41,"id":1}
	// {"sum":41}
}

// serveHandler serves a shape's handler with net/http, over HTTP/1.1 and HTTP/2,
// in cleartext or with TLS.
func serveHandler(t *testing.T, reg *everywire.Registry, shape string, cfg *tls.Config) (addr string, h *wire.Handler, shutdown func(context.Context) error) {
	t.Helper()
	h, err := wire.NewHandler(reg, shape, quiet)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, Protocols: new(http.Protocols), TLSConfig: cfg, ReadHeaderTimeout: time.Minute}
	server.Protocols.SetHTTP1(true)
	serve := server.Serve
	if cfg == nil {
		server.Protocols.SetUnencryptedHTTP2(true)
	} else {
		server.Protocols.SetHTTP2(true)
		serve = func(lis net.Listener) error { return server.ServeTLS(lis, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- serve(lis) }()
	return lis.Addr().String(), h, func(ctx context.Context) error {
		var httpErr error
		var wg sync.WaitGroup
		wg.Go(func() { httpErr = server.Shutdown(ctx) })
		err := h.Shutdown(ctx)
		wg.Wait()
		if httpErr != nil {
			_ = server.Close() // the error of Shutdown is the one to tell
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return errors.Join(err, httpErr)
	}
}

// Our clients call handlers in a server of net/http.
func TestNewHandler(t *testing.T) {
	noLeaks(t)
	serverTLS, clientTLS := certificates(t)
	for shape, formats := range map[string][]string{
		"rest":         {"rest://%s"},
		"jsonrpc+http": {"jsonrpc+http://%s/rpc", "jsonrpc+http://%s/anywhere"},
		"jsonrpc+ws":   {"jsonrpc+ws://%s/anywhere"},
		"connect":      {"connect://%s", "connect://%s?protocol=grpc-web", "connect://%s?http=1.1"},
		"any":          {"rest://%s", "jsonrpc+http://%s/rpc", "jsonrpc+ws://%s/rpc", "connect://%s", "connect://%s?protocol=grpc-web", "grpc://%s"},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s tls=%v", shape, secure), func(t *testing.T) {
				reg := everywire.NewRegistry()
				arith.Register(reg)
				cfg := serverTLS
				if !secure {
					cfg = nil
				}
				addr, _, shutdown := serveHandler(t, reg, shape, cfg)
				for _, format := range formats {
					target := fmt.Sprintf(format, addr)
					if secure {
						target = strings.Replace(target, "://", "+tls://", 1)
					}
					conn, err := wire.Dial(target, wire.WithTLSConfig(clientTLS))
					if err != nil {
						t.Fatal(err)
					}
					out, err := everywire.Call[arith.SumReply](t.Context(), conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}})
					if err != nil || out.Sum != 41 {
						t.Errorf("%s: %v, %v", target, out, err)
					}
					if err := conn.Close(); err != nil {
						t.Error(err)
					}
				}
				if err := shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A handler's Shutdown waits for calls on WebSockets and on gRPC, ends the watches
// of its health, and is bounded.
func TestHandlerShutdown(t *testing.T) {
	noLeaks(t)
	for _, inTime := range []bool{true, false} {
		w := &waiting{make(chan struct{}, 2), make(chan struct{})}
		addr, _, shutdown := serveHandler(t, w.registry(), "any", nil)
		var calls sync.WaitGroup
		for _, target := range []string{"jsonrpc+ws://" + addr + "/rpc", "grpc://" + addr} {
			conn := dial(t, target)
			calls.Go(func() {
				if _, err := everywire.Call[nothing](t.Context(), conn, "x.X/Wait", &nothing{}); (err == nil) != inTime {
					t.Errorf("%s: %v", target, err)
				}
			})
			<-w.started
		}
		watch, err := healthpb.NewHealthClient(dial(t, "grpc://"+addr)).Watch(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := watch.Recv(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- shutdown(ctx) }()
		for err == nil { // NOT_SERVING, then the end
			_, err = watch.Recv()
		}
		select {
		case err := <-done:
			t.Errorf("Shutdown did not wait: %v", err)
		default:
		}
		if inTime {
			close(w.let)
			calls.Wait()
			if err := <-done; err != nil {
				t.Error(err)
			}
		} else {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Shutdown: %v", err)
			}
			calls.Wait()
		}
		cancel()
	}
}

// After its Shutdown a handler refuses calls of gRPC.
func TestHandlerAfterShutdown(t *testing.T) {
	reg, calls := counted()
	addr, h, shutdown := serveHandler(t, reg, "any", nil)
	if err := h.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := everywire.Call[nothing](t.Context(), dial(t, "grpc://"+addr), "x.X/Count", &nothing{})
	if status.Code(err) != codes.Unavailable || calls.Load() != 0 {
		t.Errorf("%v, and %d calls ran", err, calls.Load())
	}
	if err := shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNewHandlerErrors(t *testing.T) {
	for shape, want := range map[string]string{
		"soap":               "no wire",
		"grpc":               "is not served within HTTP: what is: rest, jsonrpc+http, jsonrpc+ws, connect, any",
		"msgpackrpc+tcp":     "is not served within HTTP",
		"rest+unix":          "is not served within HTTP",
		"rest://:80":         "without an address",
		"rest+tls":           "are its server's",
		"rest?reconnect":     "for the client, not the server",
		"jsonrpc+ws?x=y":     `no option "x"`,
		"any?cleartext":      "are its server's",
		"any?idle=yesterday": "option idle",
	} {
		if _, err := wire.NewHandler(kvRegistry(), shape); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewHandler(%q): %v, want %q", shape, err, want)
		}
	}
	if _, err := wire.NewHandler(kvRegistry(), "rest", wire.WithTLSConfig(&tls.Config{})); err == nil || !strings.Contains(err.Error(), "its server's") {
		t.Errorf("with a configuration of TLS: %v", err)
	}
}

// Requests on one port go to the wire that they are of.
func TestRequestsOnOnePort(t *testing.T) {
	reg, _ := counted()
	h, err := wire.NewHandler(reg, "any", quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method, path, header, value string
		// want is the status, and what is particular about the wire's answer.
		status        int
		header2, want string
	}{
		{"POST", "/x.X/Count", "Content-Type", "application/json", 204, "", ""},
		{"POST", "/x.X/Count", "Content-Type", "application/grpc", 505, "", ""}, // over HTTP/1.1
		{"POST", "/x.X/Count", "Content-Type", "application/grpc-web+json", 200, "Content-Type", "application/grpc-web+json"},
		{"POST", "/x.X/Count", "Content-Type", "application/proto", 400, "Content-Type", "application/json"}, // "{}" is none
		{"POST", "/x.X/Count", "Content-Type", "Application/Connect+JSON", 415, "", ""},
		{"GET", "/x.X/Count?connect=v1&encoding=json&message=%7B%7D", "", "", 405, "", ""},
		{"GET", "/rpc", "", "", 405, "Allow", "POST"},
		{"GET", "/rpc", "Upgrade", "websocket", 426, "Upgrade", "websocket"},
		{"POST", "/rpc", "Content-Type", "text/plain", 415, "", ""},
		{"POST", "/rpc", "Content-Type", "application/grpc", 415, "", ""},
		{"GET", "/", "", "", 404, "Content-Type", "application/problem+json"},
		{"GET", "/rpc/", "", "", 404, "Content-Type", "application/problem+json"},
	} {
		var body io.Reader
		if test.method == "POST" {
			body = strings.NewReader("{}")
		}
		r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, body)
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.status || w.Header().Get(test.header2) != test.want {
			t.Errorf("%s %s with %s %q: status %d, %s %q, %q", test.method, test.path, test.header, test.value,
				w.Code, test.header2, w.Header().Get(test.header2), w.Body)
		}
	}
	if err := h.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
