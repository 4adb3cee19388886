package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/everywire/everywire/lab/proc"
)

// machine is where servers and generators run.
type machine struct {
	dir              string
	pin              bool
	servers, callers string // cores, as taskset has them; "" for any
}

// split divides the cores, if that can be.
func (m *machine) split() {
	if _, err := exec.LookPath("taskset"); err != nil {
		m.pin = false
	}
	server, client := proc.Split(proc.Cores())
	if !m.pin || len(server) == 0 {
		m.pin = false
		return
	}
	m.servers, m.callers = proc.FormatCores(server), proc.FormatCores(client)
}

func (m *machine) String() string {
	if !m.pin {
		return fmt.Sprintf("%d cores for servers and generators together", runtime.NumCPU())
	}
	return fmt.Sprintf("servers on core %s, generators on core %s", m.servers, m.callers)
}

// command is a process on some cores.
func (m *machine) command(ctx context.Context, cores, name string, args ...string) *exec.Cmd {
	if cores != "" {
		name, args = "taskset", append([]string{"-c", cores, name}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	return cmd
}

// serve starts a server that prints nothing that anybody reads, and waits until it
// listens at all addresses.
func (m *machine) serve(ctx context.Context, cmd *exec.Cmd, addrs ...string) (stop func(), err error) {
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // who looks for it finds nobody
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
	}
	until, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, addr := range addrs {
		for {
			nc, err := new(net.Dialer).DialContext(until, "tcp", addr)
			if err == nil {
				_ = nc.Close()
				break
			}
			select {
			case <-ended:
				return nil, fmt.Errorf("%s ended: %s", cmd.Path, text.String())
			case <-until.Done():
				stop()
				return nil, fmt.Errorf("nobody listens at %s: %s", addr, text.String())
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	return stop, nil
}

func freeAddr(ctx context.Context) (string, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return lis.Addr().String(), lis.Close()
}

// nginx serves a file of 1 KiB, and never closes a connection that is used.
func (m *machine) nginx(ctx context.Context, http2 string) (url string, stop func(), err error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} { // not in every PATH
			if _, statErr := os.Stat(filepath.Join(dir, "nginx")); statErr == nil {
				path, err = filepath.Join(dir, "nginx"), nil
			}
		}
	}
	if err != nil {
		return "", nil, errors.New("nginx is not installed: on Debian, apt-get install nginx-light")
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(m.dir, "nginx-")
	if err != nil {
		return "", nil, err
	}
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr crit;
events { worker_connections 2048; }
http { access_log off; sendfile on; tcp_nopush on; open_file_cache max=10; keepalive_requests 1000000000; keepalive_timeout 1h;
client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen %[2]s %[3]s; root %[1]s; } }`, dir, addr, http2)
	err = errors.Join(os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(conf), 0o600), os.WriteFile(filepath.Join(dir, "f.txt"), make([]byte, 1024), 0o600))
	if err != nil {
		return "", nil, err
	}
	cmd := m.command(context.WithoutCancel(ctx), m.servers, path, "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
	stop, err = m.serve(ctx, cmd, addr)
	return "http://" + addr + "/f.txt", stop, err
}

// buildEverywire builds the command of this checkout.
func buildEverywire(ctx context.Context, dir string) (string, error) {
	exe := filepath.Join(dir, "everywire")
	build := exec.CommandContext(ctx, "go", "build", "-o", exe, "./cmd/everywire")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building everywire, which is in ../.. of bench/load: %w: %s", err, out)
	}
	return exe, nil
}
