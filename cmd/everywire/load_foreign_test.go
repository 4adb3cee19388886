package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/internal/needs"
)

// foreignPatience bounds what a foreign server does.
const foreignPatience = 60 * time.Second

// nginxAt starts NGINX with a static file of 1 KiB on HTTP/1.1 and on HTTP/2, of which it
// closes each connection after 50 requests. It ends with the test.
func nginxAt(t *testing.T) (http1, http2 string) {
	t.Helper()
	nginx := needs.Program(t, "nginx", "on Debian, apt-get install nginx-light")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(strings.Repeat("x", 1024)), 0o600); err != nil {
		t.Fatal(err)
	}
	http1, http2 = freeAddr(t), freeAddr(t)
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events { worker_connections 256; }
http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen %[2]s; root %[1]s; keepalive_requests 50; }
server { listen %[3]s http2; root %[1]s; keepalive_requests 50; } }`, dir, http1, http2)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	startForeign(t, exec.Command(nginx, "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf")))
	waitFor(t, http1)
	return http1, http2
}

func freeAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

// startForeign starts a process and ends it with the test.
func startForeign(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
		if t.Failed() {
			t.Logf("%s: %s", cmd.Path, out.String())
		}
	})
}

// waitFor waits until somebody listens.
func waitFor(t *testing.T, addr string) {
	t.Helper()
	for end := time.Now().Add(foreignPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if nc, err := net.Dial("tcp", addr); err == nil {
			_ = nc.Close()
			return
		}
	}
	t.Fatalf("nobody listens at %s", addr)
}

// NGINX's static file, by both versions of HTTP: no call is lost when the server
// closes connections that had enough requests, nor with one for each call.
func TestLoadNginx(t *testing.T) {
	http1, http2 := nginxAt(t)
	for _, args := range [][]string{
		{"http://" + http1 + "/f.txt"},
		{"http://" + http1 + "/f.txt", "HEAD"},
		{"http://" + http1 + "/f.txt", "--conn-per-call"},
		{"http://" + http2 + "/f.txt", "--http2"},
		{"http://" + http2 + "/f.txt", "--http2", "--connections", "2"},
		{"http://" + http2 + "/f.txt", "--http2", "--conn-per-call"},
	} {
		d := loaded(t, exitOK, append(args, "-c", "5", "--calls", "150")...)
		if d.Total.Right != 750 || d.Total.Failed != 0 {
			t.Errorf("%q: %d right, %d failed: %s", args, d.Total.Right, d.Total.Failed, d.FirstError)
		}
		if *d.Total.AverageBytes < 1024 && args[len(args)-1] != "HEAD" {
			t.Errorf("%q: %g bytes a reply of 1 KiB", args, *d.Total.AverageBytes)
		}
	}
	if d := loaded(t, exitFailure, "http://"+http1+"/none", "--calls", "3", "-c", "1"); d.Total.Errors["HTTP 404"] != 3 {
		t.Errorf("%v", d.Total.Errors)
	}
}

// jayson's server, by JSON-RPC over HTTP and TCP: params by position, results checked.
func TestLoadJayson(t *testing.T) {
	node := needs.Program(t, "node", "on Debian, apt-get install nodejs npm")
	folder := filepath.Join("..", "..", "wire", "foreign", "testdata", "node")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "jayson")); err != nil {
		needs.Missing(t, "the npm package jayson is not installed: npm ci --prefix wire/foreign/testdata/node")
	}
	for _, transport := range []string{"http", "tcp"} {
		argument, err := json.Marshal(map[string]any{"transport": transport, "version": 2})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), foreignPatience)
		defer cancel()
		server := exec.CommandContext(ctx, node, "jayson-server.js", string(argument))
		server.Dir = folder
		stdin, err := server.StdinPipe() // it ends when this does
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := server.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		var at struct{ Addr string }
		line, err := bufio.NewReader(stdout).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &at)
		}
		if err != nil {
			t.Fatal(err)
		}
		to := "jsonrpc+" + transport + "://" + at.Addr
		if transport == "http" {
			to += "/"
		}
		d := loaded(t, exitOK, to, "sum", "-b", "[{{n}},{{int 1 99}},{{m}}]", "--set", "n=20", "--set", "m=-20", "-c", "4", "--calls", "50")
		if d.Total.Right != 200 {
			t.Errorf("%s: %+v %s", to, d.Total, d.FirstError)
		}
		d = loaded(t, exitOK, to, "sum", "-b", "[20,21]", "--expect-json", ".=41", "-c", "2", "--calls", "20", "--conn-per-call")
		if d.Total.Right != 40 {
			t.Errorf("%s: %+v %s", to, d.Total, d.FirstError)
		}
		if d = loaded(t, exitFailure, to, "nope", "-b", "[1]", "-c", "1", "--calls", "3"); d.Total.Errors["UNIMPLEMENTED"] != 3 {
			t.Errorf("%s: an unknown method gave %v: %s", to, d.Total.Errors, d.FirstError)
		}
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// interopService is the service of gRPC's interoperability tests, as far as loads need
// it.
type interopService struct {
	grpc_testing.UnimplementedTestServiceServer
}

func (interopService) UnaryCall(ctx context.Context, in *grpc_testing.SimpleRequest) (*grpc_testing.SimpleResponse, error) {
	if s := in.GetResponseStatus(); s.GetCode() != 0 {
		return nil, status.Error(codes.Code(s.GetCode()), s.GetMessage()) //nolint:gosec // a test's
	}
	if _, ok := ctx.Deadline(); !ok {
		return nil, status.Error(codes.FailedPrecondition, "no deadline")
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return &grpc_testing.SimpleResponse{
		Payload: &grpc_testing.Payload{Body: make([]byte, in.GetResponseSize())}, Username: strings.Join(md.Get("x-user"), ","),
	}, nil
}

// A server of grpc-go: the types of its methods come from its reflection, from a .proto
// file, or from a set of descriptors.
func TestLoadGRPCGo(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_testing.RegisterTestServiceServer(s, interopService{})
	reflection.Register(s)
	go s.Serve(lis) // it ends with the test
	t.Cleanup(s.Stop)
	to, method := "grpc://"+lis.Addr().String(), "grpc.testing.TestService/UnaryCall"
	proto := filepath.Join(t.TempDir(), "some.proto")
	if err := os.WriteFile(proto, []byte(`syntax = "proto3"; package grpc.testing;
service TestService { rpc UnaryCall(SimpleRequest) returns (SimpleResponse); rpc Nope(SimpleRequest) returns (SimpleRequest); }
message SimpleRequest { int32 response_size = 2; EchoStatus response_status = 7; }
message EchoStatus { int32 code = 1; }
message SimpleResponse { string username = 2; }`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, types := range [][]string{nil, {"--proto", proto}} {
		for _, how := range [][]string{{"-c", "8"}, {"-c", "8", "--connections", "4"}, {"-c", "2", "--conn-per-call"}} {
			args := append([]string{to, method, "-b", `{"responseSize":{{int 1 1000}}}`, "--meta", "x-user: u{{caller}}", "--calls", "25"}, append(types, how...)...)
			d := loaded(t, exitOK, args...)
			if d.Total.Right != int64(25*d.Callers) {
				t.Errorf("%q: %+v %s", args, d.Total, d.FirstError)
			}
		}
		d := loaded(t, exitOK, append([]string{to, method, "-b", `{"response_status":{"code":5}}`, "--expect", "NOT_FOUND", "-c", "1", "--calls", "5"}, types...)...)
		if d.Total.Right != 5 {
			t.Errorf("%+v %s", d.Total, d.FirstError)
		}
		d = loaded(t, exitOK, append([]string{to, method, "-b", `{}`, "-H", "x-user:Ada", "--expect-json", "username=Ada", "-c", "1", "--calls", "5"}, types...)...)
		if d.Total.Right != 5 {
			t.Errorf("%+v %s", d.Total, d.FirstError)
		}
	}
	if d := loaded(t, exitFailure, to, method, "-b", `{}`, "--timeout", "0", "-c", "1", "--calls", "2"); d.Total.Errors["FAILED_PRECONDITION"] != 2 {
		t.Errorf("without --timeout: %v", d.Total.Errors)
	}
	if d := loaded(t, exitFailure, to, "grpc.testing.TestService/Nope", "--proto", proto, "-c", "1", "--calls", "2"); d.Total.Errors["UNIMPLEMENTED"] != 2 {
		t.Errorf("a method that the server has not: %v", d.Total.Errors)
	}
}

// Python's own server, of HTTP/1.0: it closes each connection.
func TestLoadPython(t *testing.T) {
	python := needs.Program(t, "python3", "on Debian, apt-get install python3")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	addr := freeAddr(t)
	_, port, _ := net.SplitHostPort(addr)
	startForeign(t, exec.Command(python, "-m", "http.server", port, "--bind", "127.0.0.1", "--directory", dir))
	waitFor(t, addr)
	d := loaded(t, exitOK, "http://"+addr+"/a.txt?x={{int 1 9}}", "-c", "2", "--calls", "20")
	if d.Total.Right != 40 {
		t.Errorf("%+v %s", d.Total, d.FirstError)
	}
	d = loaded(t, exitFailure, "http://"+addr+"/a.txt", "POST", "-b", "x", "-c", "1", "--calls", "3")
	if d.Total.Errors["HTTP 501"] != 3 {
		t.Errorf("%v", d.Total.Errors)
	}
}

// net/http over TLS, with a certificate of its own authority and one of the client.
func TestLoadTLS(t *testing.T) {
	for _, protocol := range []string{"", "--http2"} {
		server, ca := tlsServer(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"proto":%q}`, r.Proto) })
		want := map[string]string{"": "HTTP/1.1", "--http2": "HTTP/2.0"}[protocol]
		args := []string{server, "-c", "2", "--calls", "5", "--expect-json", "proto=" + want}
		if protocol != "" {
			args = append(args, protocol)
		}
		for _, trust := range [][]string{{"--cacert", ca}, {"--insecure"}} {
			if d := loaded(t, exitOK, append(args, trust...)...); d.Total.Right != 10 {
				t.Errorf("%q %q: %+v %s", protocol, trust, d.Total, d.FirstError)
			}
		}
		if d := loaded(t, exitFailure, args...); d.Total.Errors["UNAVAILABLE"] != 10 || !strings.Contains(d.FirstError, "certificate") {
			t.Errorf("%q: an unknown authority: %v %s", protocol, d.Total.Errors, d.FirstError)
		}
	}
}
