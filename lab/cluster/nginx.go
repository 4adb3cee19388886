package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/everywire/everywire/lab/proc"
)

// How long NGINX may take to begin, to take up another configuration, and to end.
const (
	readyTimeout = 10 * time.Second
	endTimeout   = 3 * time.Second
)

// An Nginx is one that was started. Its methods may be called by several goroutines.
type Nginx struct {
	program *installation
	addr    string
	cert    *Certificate // nil without TLS
	guard   *guard
	cmd     *exec.Cmd
	done    chan struct{} // closed when it has ended and was reaped
	unwatch func() bool   // of the context

	stop    sync.Once
	stopErr error

	mu     sync.Mutex
	conf   conf
	logged []Entry // once it was stopped
}

// StartNginx starts NGINX in front of the backends, on a free port of the loopback
// address, and returns when it answers. It is ended when ctx ends, by Stop, and with
// this process; no file of it is left then. The error is [ErrNoNginx] if there is
// none, [ErrNoStream] if it has no streams, or NGINX's own text.
func StartNginx(ctx context.Context, c Config) (_ *Nginx, err error) {
	c, err = c.withDefaults()
	if err != nil {
		return nil, err
	}
	if !supported {
		return nil, ErrNoNginx
	}
	n := &Nginx{done: make(chan struct{}), conf: conf{Config: c, Connections: connections, Generation: 1}}
	if n.program, err = find(ctx, usual); err != nil {
		return nil, err
	}
	if !n.program.atLeast(1, 19, 5) {
		return nil, fmt.Errorf("cluster: %s is of version %v: 1.19.5 or newer is needed", n.program.path, n.program.version)
	}
	n.conf.HTTP2Directive = n.program.atLeast(1, 25, 1)
	if c.Protocol == Stream {
		if n.conf.Module, err = n.program.streamModule(); err != nil {
			return nil, err
		}
	}
	if n.conf.User, err = workersUser(); err != nil {
		return nil, fmt.Errorf("cluster: who runs this: %w", err)
	}
	if n.conf.Dir, err = newFolder(); err != nil {
		return nil, err
	}
	if n.guard, err = newGuard(n.conf.Dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(n.conf.Dir))
	}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(err, n.clear())
	}
	if err := n.await(ctx); err != nil {
		return nil, errors.Join(err, n.shut())
	}
	n.unwatch = context.AfterFunc(ctx, func() { _ = n.shut() })
	return n, nil
}

// start writes the files and starts the process.
func (n *Nginx) start(ctx context.Context) error {
	// NGINX takes over the socket, as from an older one of its kind that it replaces:
	// nobody else can take the port in between.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close() //nolint:errcheck // NGINX has it
	n.addr = listener.Addr().String()
	n.conf.Listen = n.addr
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer socket.Close() //nolint:errcheck // the same
	if err := n.writeSecrets(); err != nil {
		return err
	}
	if err := n.configure(ctx, &n.conf); err != nil {
		return err
	}
	n.cmd = n.command(context.WithoutCancel(ctx), "nginx.conf")
	n.cmd.Env = []string{"NGINX=3;"} // the number of the first of ExtraFiles
	n.cmd.ExtraFiles = []*os.File{socket}
	// A file and no pipe: workers whose master was killed would keep that open.
	said, err := os.Create(filepath.Join(n.conf.Dir, "said.log"))
	if err != nil {
		return err
	}
	defer said.Close() //nolint:errcheck // NGINX has it
	n.cmd.Stdout, n.cmd.Stderr = said, said
	if err := proc.Pinned(n.conf.Cores, n.cmd.Start); err != nil {
		if n.cmd.Process == nil {
			return fmt.Errorf("cluster: NGINX did not start: %w", err)
		}
		killGroup(n.cmd.Process.Pid) // it was started; pinning failed after that
		return errors.Join(fmt.Errorf("cluster: NGINX did not start: %w", err), n.cmd.Wait())
	}
	go func() {
		_ = n.cmd.Wait()             // how it ended stands in ProcessState
		killGroup(n.cmd.Process.Pid) // workers whose master was killed go on by themselves
		close(n.done)
	}()
	return nil
}

// command is a call of NGINX with one of its configurations.
func (n *Nginx) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	dir := n.conf.Dir
	args = append([]string{"-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", filepath.Join(dir, name)}, args...)
	cmd := exec.CommandContext(ctx, n.program.path, args...) //nolint:gosec // what was found, and paths that were made here
	cmd.Env = []string{}
	ownGroup(cmd)
	return cmd
}

// writeSecrets writes the certificates.
func (n *Nginx) writeSecrets() error {
	if !n.conf.TLS {
		return nil
	}
	var err error
	if n.cert, err = SelfSigned(); err != nil {
		return err
	}
	return errors.Join(
		write(n.conf.Dir, "cert.pem", n.cert.Cert),
		write(n.conf.Dir, "key.pem", n.cert.Key),
		write(n.conf.Dir, "backends.pem", n.conf.BackendCA))
}

// configure writes a configuration that NGINX has found good.
func (n *Nginx) configure(ctx context.Context, c *conf) error {
	text, err := c.render()
	if err != nil {
		return err
	}
	const draft = "draft.conf"
	if err := write(c.Dir, draft, text); err != nil {
		return err
	}
	if out, err := n.command(ctx, draft, "-t", "-q").CombinedOutput(); err != nil {
		return fmt.Errorf("cluster: NGINX refuses its configuration: %w: %s", err, oneLine(string(out)))
	}
	return os.Rename(filepath.Join(c.Dir, draft), filepath.Join(c.Dir, "nginx.conf"))
}

// await waits until the present configuration is in force.
func (n *Nginx) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("it gave no answer within %v", readyTimeout))
	defer cancel()
	want := fmt.Sprintf("generation %d\n", n.conf.Generation)
	for {
		if text, err := n.ask(ctx); err == nil && strings.HasSuffix(text, want) {
			return nil
		}
		select {
		case <-n.done:
			return fmt.Errorf("cluster: NGINX ended: %v: %s", n.cmd.ProcessState, lastWords(n.conf.Dir))
		case <-ctx.Done():
			return fmt.Errorf("cluster: NGINX: %w: %s", context.Cause(ctx), lastWords(n.conf.Dir))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ask asks the server within NGINX that tells which configuration is in force.
func (n *Nginx) ask(ctx context.Context) (string, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(n.conf.Dir, "ready.sock"))
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // it was asked once
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if n.conf.Protocol != Stream {
		if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
			return "", err
		}
	}
	text, err := io.ReadAll(io.LimitReader(conn, 4096))
	return string(text), err
}

// Addr is where clients find it: host:port.
func (n *Nginx) Addr() string { return n.addr }

// CA is the PEM certificate that clients check NGINX's by, nil without TLS. It is
// for localhost and the loopback addresses.
func (n *Nginx) CA() []byte {
	if n.cert == nil {
		return nil
	}
	return n.cert.Cert
}

// Version is NGINX's, such as "1.22.1".
func (n *Nginx) Version() string {
	v := n.program.version
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

// Configuration is the text of the configuration in force.
func (n *Nginx) Configuration() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, err := n.conf.render()
	return string(text), err
}

// Reload puts other backends in the place of those there are. Calls in flight end
// where they are. It returns when new calls go to the new ones alone. If NGINX
// refuses, the old ones stay.
func (n *Nginx) Reload(ctx context.Context, backends []string) error {
	if err := checkBackends(backends); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old, err := n.workers()
	if err != nil {
		return err
	}
	next := n.conf
	next.Backends = backends
	next.Generation++
	if err := n.configure(ctx, &next); err != nil {
		return err
	}
	n.conf = next
	if err := n.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("cluster: NGINX: %w", err)
	}
	if err := n.await(ctx); err != nil {
		return err
	}
	return n.retired(ctx, old)
}

// Stop ends NGINX and removes its files. Calls in flight are cut off. The error says
// if it had ended before, and why.
func (n *Nginx) Stop() error {
	n.unwatch()
	return n.shut()
}

func (n *Nginx) shut() error {
	n.stop.Do(func() { n.stopErr = errors.Join(n.end(), n.clear()) })
	return n.stopErr
}

// end ends the processes.
func (n *Nginx) end() error {
	select {
	case <-n.done:
		return fmt.Errorf("cluster: NGINX had ended: %v: %s", n.cmd.ProcessState, lastWords(n.conf.Dir))
	default:
	}
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timeout := time.NewTimer(endTimeout)
	defer timeout.Stop()
	select {
	case <-n.done:
	case <-timeout.C:
		killGroup(n.cmd.Process.Pid)
		<-n.done
	}
	return nil
}

// clear reads what will be asked for, and removes the rest.
func (n *Nginx) clear() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.conf.Log && n.cmd != nil {
		n.logged, err = readLog(filepath.Join(n.conf.Dir, "access.log"))
	}
	return errors.Join(err, os.RemoveAll(n.conf.Dir), n.guard.release())
}
