package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// grace is how long a child may take to end by itself.
const grace = 2 * time.Second

// A Child is a process that this one has started, here or on another machine. Its
// methods are for one goroutine at a time, except Done.
type Child struct {
	cmd    *exec.Cmd // nil for one on another machine
	stdin  io.WriteCloser
	stdout lineWriter
	stderr headWriter
	n      int64

	cancel context.CancelFunc
	done   chan struct{}
}

// Start starts exe with args as a child that may run on the given cores only;
// on any if there are none. The child is ended when ctx ends. The caller must
// call Stop.
func Start(ctx context.Context, exe string, args []string, cores []int) (*Child, error) {
	c := &Child{done: make(chan struct{})}
	c.stdout.lines = make(chan []byte, 1)
	ctx, c.cancel = context.WithCancel(ctx)
	c.cmd = exec.CommandContext(ctx, exe, args...) //nolint:gosec // the program itself, started again
	c.cmd.Stdout, c.cmd.Stderr = &c.stdout, &c.stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.stdin = stdin
	// First the gentle way: the child ends with its input. It is killed, by its
	// process handle, when grace is over.
	c.cmd.Cancel = stdin.Close
	c.cmd.WaitDelay = grace
	if err := Pinned(cores, c.cmd.Start); err != nil {
		c.cancel()
		if c.cmd.Process != nil {
			_ = c.cmd.Wait() // it was started; pinning failed after that
		}
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // how it ended stands in ProcessState
		c.cancel()
		close(c.done)
	}()
	return c, nil
}

// PID is the child's process id, 0 if it is on another machine.
func (c *Child) PID() int {
	if c.cmd == nil {
		return 0
	}
	return c.cmd.Process.Pid
}

// Done is closed when the child has ended and was reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Stop ends the child and waits until it is reaped: a few milliseconds, and not
// much more than the grace of two seconds if it does not end by itself.
func (c *Child) Stop() {
	c.cancel()
	<-c.done
}

// A DiedError says how a child ended that should not have.
type DiedError struct{ How string }

func (e *DiedError) Error() string { return "died: " + e.How }

// Call asks the child to do op with arg and decodes its answer into result. An
// error is the child's own text, a [*DiedError], or that the child said
// something that is no reply. If ctx ends first, or after anything but an error
// of the child's own, the child is ended.
func (c *Child) Call(ctx context.Context, op string, arg, result any) error {
	c.n++
	raw, err := json.Marshal(arg)
	if err != nil {
		return err
	}
	line, err := json.Marshal(request{N: c.n, Op: op, Arg: raw})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	if _, err := c.stdin.Write(append(line, '\n')); err != nil {
		c.Stop()
		return c.died(ctx)
	}
	var data []byte
	select {
	case data = <-c.stdout.lines:
	case <-c.done:
		select {
		case data = <-c.stdout.lines: // its last words
		default:
			return c.died(ctx)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err // whatever it said was said because it is being ended
	}
	var rep reply
	if err := json.Unmarshal(data, &rep); err != nil || rep.N != c.n {
		c.Stop()
		return fmt.Errorf("said %s, which is no reply to %s", quote(data), op)
	}
	if rep.Error != "" {
		return errors.New(rep.Error)
	}
	if err := json.Unmarshal(rep.OK, result); err != nil {
		c.Stop()
		return fmt.Errorf("gave a malformed reply to %s: %w", op, err)
	}
	return nil
}

// Usage is the user and system CPU time of the child so far.
func (c *Child) Usage(ctx context.Context) (time.Duration, error) {
	var u usage
	err := c.Call(ctx, usageOp, nil, &u)
	return time.Duration(u.CPU), err
}

// died tells how the child ended; it has.
func (c *Child) died(ctx context.Context) error {
	<-c.done
	if err := context.Cause(ctx); err != nil {
		return err
	}
	how := "it could not be waited for"
	if c.stdout.err != nil {
		how = c.stdout.err.Error()
	} else if c.cmd == nil {
		how = "the connection to its machine ended"
	} else if c.cmd.ProcessState != nil {
		how = c.cmd.ProcessState.String()
	}
	if said := c.stderr.summary(); said != "" {
		how += ": " + said
	}
	return &DiedError{How: how}
}

// lineWriter takes what a child prints and passes it on by lines. There is
// room for one, because there is one request at a time; a child that prints
// more is cut off.
type lineWriter struct {
	buf   []byte
	lines chan []byte
	err   error // read after the child was reaped
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			if len(w.buf)+len(rest) > maxLine {
				w.err = fmt.Errorf("it printed a line of more than %d bytes", maxLine)
				return 0, w.err
			}
			w.buf = append(w.buf, rest...)
			break
		}
		line := slices.Concat(w.buf, rest[:i])
		w.buf, rest = nil, rest[i+1:]
		select {
		case w.lines <- line:
		default:
			w.err = fmt.Errorf("it printed %s without being asked", quote(line))
			return 0, w.err
		}
	}
	return len(p), nil
}

// headWriter keeps the beginning of what a child says on standard error.
type headWriter struct {
	mu  sync.Mutex
	buf []byte
}

const headSize = 64 << 10

func (w *headWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p[:min(len(p), headSize-len(w.buf))]...)
	return len(p), nil
}

// summary is the line that tells the cause: a panic's first, else the last.
func (w *headWriter) summary() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := ""
	for line := range strings.Lines(string(w.buf)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return cut(line)
		}
		if line != "" {
			last = line
		}
	}
	return cut(last)
}

func quote(b []byte) string { return fmt.Sprintf("%q", cut(string(b))) }

func cut(s string) string {
	const limit = 200
	if len(s) > limit {
		return strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
