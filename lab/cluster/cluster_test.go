package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/lab/cluster"
	"github.com/everywire/everywire/service/sample"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// replicas serves sample n times on targets of a shape, such as "grpc", and returns
// where. With a certificate they have TLS.
func replicas(t *testing.T, n int, scheme string, opts ...wire.ServeOption) []string {
	t.Helper()
	var addrs []string
	for range n {
		reg := everywire.NewRegistry()
		sample.Register(reg, sample.Options{})
		server, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{scheme + "://127.0.0.1:0"}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := server.Shutdown(ctx); err != nil {
				t.Error(err)
			}
		})
		addrs = append(addrs, server.Targets()[0].Addrs[0])
	}
	return addrs
}

// start starts NGINX for the test, which is left out where there is none.
func start(t *testing.T, c cluster.Config) *cluster.Nginx {
	t.Helper()
	n, err := cluster.StartNginx(context.WithoutCancel(t.Context()), c)
	if errors.Is(err, cluster.ErrNoNginx) || errors.Is(err, cluster.ErrNoStream) {
		needs.Missing(t, err.Error()+": apt-get install nginx libnginx-mod-stream")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func dial(t *testing.T, target string, opts ...wire.DialOption) *wire.Conn {
	t.Helper()
	methods := everywire.NewRegistry()
	sample.Register(methods, sample.Options{})
	conn, err := wire.Dial(target, append(opts, wire.WithMethods(methods))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func call(t *testing.T, conn *wire.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := everywire.Call[sample.SampleData](ctx, conn, sample.GetSampleData, &sample.Empty{})
	if err != nil || *out != sample.Data() {
		t.Fatalf("over %v: %v, %v", conn.Target(), out, err)
	}
}

// counts waits until NGINX has logged as many calls or connections.
func counts(t *testing.T, n *cluster.Nginx, want int64) map[string]int64 {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		got, err := n.Counts()
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, c := range got {
			sum += c
		}
		if sum == want {
			return got
		}
		if sum > want || time.Now().After(deadline) {
			t.Fatalf("NGINX has logged %v, %d in all; want %d", got, sum, want)
		}
	}
}

// By HTTP and by gRPC NGINX balances each call, also those of one connection.
func TestBalancesCalls(t *testing.T) {
	for _, c := range []struct {
		protocol  cluster.Protocol
		scheme    string
		keepAlive int
	}{
		{cluster.HTTP, "rest", 0},
		{cluster.HTTP, "rest", 8},
		{cluster.GRPC, "grpc", 0},
		{cluster.GRPC, "grpc", 8},
	} {
		t.Run(fmt.Sprint(c.protocol, " ", c.keepAlive), func(t *testing.T) {
			behind := replicas(t, 3, c.scheme)
			n := start(t, cluster.Config{Protocol: c.protocol, Backends: behind, KeepAlive: c.keepAlive, Log: true})
			conn := dial(t, c.scheme+"://"+n.Addr())
			for range 30 {
				call(t, conn)
			}
			got := counts(t, n, 30)
			for _, b := range behind {
				if got[b] != 10 {
					t.Errorf("of 30 calls over one connection each backend should have 10: %v", got)
				}
			}
		})
	}
}

// A stream wire's connection sticks to one backend, however many calls it carries;
// NGINX spreads connections.
func TestStreamPinsConnections(t *testing.T) {
	for _, scheme := range []string{"jsonrpc+tcp", "msgpackrpc+tcp", "grpc"} {
		t.Run(scheme, func(t *testing.T) {
			behind := replicas(t, 3, scheme)
			n := start(t, cluster.Config{Protocol: cluster.Stream, Backends: behind, Log: true})
			var seen []string
			for range 6 {
				conn := dial(t, scheme+"://"+n.Addr())
				for range 20 {
					call(t, conn)
				}
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
				counts(t, n, int64(len(seen)+1)) // 20 calls are one connection
				log, err := n.Log()
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, log[len(log)-1].Backends...)
			}
			if !slices.Equal(seen[:3], seen[3:]) || seen[0] == seen[1] || seen[1] == seen[2] || seen[0] == seen[2] {
				t.Errorf("six connections went to %v; want each backend in turn", seen)
			}
		})
	}
}

// With TLS in front and behind, the certificates are checked at both.
func TestTLS(t *testing.T) {
	for protocol, scheme := range map[cluster.Protocol]string{cluster.HTTP: "rest+http+tls", cluster.GRPC: "grpc+tls"} {
		t.Run(string(protocol), func(t *testing.T) {
			cert, err := cluster.SelfSigned()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			file := func(name string, text []byte) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			reg := everywire.NewRegistry()
			sample.Register(reg, sample.Options{})
			server, err := wire.Serve(context.WithoutCancel(t.Context()), reg,
				[]string{scheme + "://127.0.0.1:0?cert=" + file("cert", cert.Cert) + "&key=" + file("key", cert.Key)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Shutdown(context.Background()) })
			backends := server.Targets()[0].Addrs

			n := start(t, cluster.Config{Protocol: protocol, Backends: backends, KeepAlive: 4, TLS: true, BackendCA: cert.Cert})
			target := scheme + "://" + n.Addr() + "?ca="
			call(t, dial(t, target+file("front", n.CA())))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = everywire.Call[sample.SampleData](ctx, dial(t, target+file("other", cert.Cert)), sample.GetSampleData, &sample.Empty{})
			if err == nil {
				t.Error("a client took NGINX's certificate, which is not of the authority that it knows")
			}

			other, err := cluster.SelfSigned()
			if err != nil {
				t.Fatal(err)
			}
			wrong := start(t, cluster.Config{Protocol: protocol, Backends: backends, TLS: true, BackendCA: other.Cert})
			_, err = everywire.Call[sample.SampleData](ctx, dial(t, scheme+"://"+wrong.Addr()+"?ca="+file("wrong", wrong.CA())), sample.GetSampleData, &sample.Empty{})
			if err == nil {
				t.Error("NGINX took a backend's certificate, which is not of the authority that it knows")
			}
		})
	}
}

// Other backends take the place of those there were, and nothing fails meanwhile.
func TestReload(t *testing.T) {
	behind := replicas(t, 4, "grpc")
	n := start(t, cluster.Config{Protocol: cluster.GRPC, Backends: behind[:2], KeepAlive: 8, Log: true})
	conn := dial(t, "grpc://"+n.Addr())
	for range 4 {
		call(t, conn)
	}
	if err := n.Reload(t.Context(), behind[2:]); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		call(t, conn)
	}
	got := counts(t, n, 8)
	for _, b := range behind {
		if got[b] != 2 {
			t.Errorf("of four calls before and four after, each backend should have two: %v", got)
		}
	}
	if err := n.Reload(t.Context(), []string{"nonsense"}); err == nil {
		t.Error("NGINX was given the backend nonsense")
	}
	call(t, conn) // the backends are those of before
}

// The CPU time is that of all processes, also of workers that have ended.
func TestCPU(t *testing.T) {
	behind := replicas(t, 1, "rest")
	n := start(t, cluster.Config{Protocol: cluster.HTTP, Backends: behind, KeepAlive: 4, Workers: 2})
	conn := dial(t, "rest://"+n.Addr())
	var last time.Duration
	for range 3 {
		for range 50 {
			call(t, conn)
		}
		cpu, err := n.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if cpu <= last || cpu > time.Minute {
			t.Errorf("CPU time went from %v to %v", last, cpu)
		}
		last = cpu
		if err := n.Reload(t.Context(), behind); err != nil {
			t.Fatal(err)
		}
		last -= 100 * time.Millisecond // the system keeps less of processes that have ended than of others
	}
}

// Whatever ends, nothing is left: no process, no file.
func TestNothingIsLeft(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	left := func() []string {
		entries, err := filepath.Glob(filepath.Join(tmp, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	gone := func(addr, when string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			conn, err := net.Dial("tcp", addr)
			if err == nil {
				conn.Close()
			}
			if err != nil && len(left()) == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: something listens: %v; files: %v", when, err == nil, left())
			}
		}
	}
	behind := []string{"127.0.0.1:1"}

	n := start(t, cluster.Config{Protocol: cluster.HTTP, Backends: behind})
	if len(left()) == 0 {
		t.Fatal("NGINX has no folder")
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if files := left(); len(files) > 0 {
		t.Errorf("after Stop there are %v", files)
	}

	ctx, cancel := context.WithCancel(t.Context())
	n, err := cluster.StartNginx(ctx, cluster.Config{Protocol: cluster.HTTP, Backends: behind})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	gone(n.Addr(), "the context ended")
	if err := n.Stop(); err != nil {
		t.Error(err)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cluster.StartNginx(ended, cluster.Config{Protocol: cluster.HTTP, Backends: behind}); err == nil {
		t.Error("it started with a context that had ended")
	}
	if files := left(); len(files) > 0 {
		t.Errorf("a start that failed left %v", files)
	}

	// A program that is killed.
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperIsKilled$", "-test.v")
	cmd.Env = append(os.Environ(), "EVERYWIRE_CLUSTER_HELPER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var addr string
	for buf := make([]byte, 4096); ; {
		k, err := out.Read(buf)
		if _, after, ok := strings.Cut(string(buf[:k]), "at "); ok {
			addr = strings.TrimSpace(after)
			break
		}
		if err != nil {
			t.Fatalf("the other process said %q, %v", buf[:k], err)
		}
	}
	if len(left()) == 0 {
		t.Error("NGINX of another process has no folder")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	gone(addr, "the program was killed")
}

// TestHelperIsKilled is what TestNothingIsLeft runs in a process of its own.
func TestHelperIsKilled(t *testing.T) {
	if os.Getenv("EVERYWIRE_CLUSTER_HELPER") == "" {
		return
	}
	n, err := cluster.StartNginx(context.WithoutCancel(t.Context()), cluster.Config{Protocol: cluster.HTTP, Backends: []string{"127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stdout, "at %s\n", n.Addr())
	select {} // until it is killed
}

// NGINX that ends by itself is told of, with its own words.
func TestEndsByItself(t *testing.T) {
	n, err := cluster.StartNginx(t.Context(), cluster.Config{Protocol: cluster.HTTP, Backends: []string{"127.0.0.1:1"}})
	if errors.Is(err, cluster.ErrNoNginx) {
		needs.Missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	cluster.KillMaster(n)
	if err := n.Stop(); err == nil || !strings.Contains(err.Error(), "NGINX had ended: signal: killed") {
		t.Errorf("Stop: %v", err)
	}
}

// To clients of gRPC it is a status.
func TestNoBackendOfGRPC(t *testing.T) {
	n := start(t, cluster.Config{Protocol: cluster.GRPC, Backends: []string{"127.0.0.1:1"}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := everywire.Call[sample.SampleData](ctx, dial(t, "grpc://"+n.Addr()), sample.GetSampleData, &sample.Empty{})
	if s := status.Convert(err); s.Code() != codes.Unavailable || s.Message() != "the proxy got no answer" {
		t.Errorf("without a backend: %v", err)
	}
}

// A backend that is not there is an error of HTTP that says so.
func TestNoBackend(t *testing.T) {
	n := start(t, cluster.Config{Protocol: cluster.HTTP, Backends: []string{"127.0.0.1:1", "127.0.0.1:2"}, Log: true})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.Addr()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway {
		t.Errorf("GET / is %s", resp.Status)
	}
	if got := counts(t, n, 2); got["127.0.0.1:1"] != 1 || got["127.0.0.1:2"] != 1 {
		t.Errorf("each backend should have been tried: %v", got)
	}
}
