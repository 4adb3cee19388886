package proc

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"sync"
	"time"
)

// A coordinator reaches an agent on another machine by TCP. It says one line, a
// hello with a secret that both were given, and is answered one, which says what
// the agent is or what is wrong. From then on the connection is the standard input
// and output of a child that the agent has started for it. The child ends with the
// connection. Nothing is encrypted: the secret keeps strangers and mistakes out, not
// whoever can listen on the network.

// The bounds of an agent.
const (
	// MaxRemote is how many children an agent has at once.
	MaxRemote = 32
	// helloTimeout is how long the two lines may take, helloSize how long one is.
	helloTimeout = 10 * time.Second
	helloSize    = 64 << 10
)

// hello is what a coordinator says first.
type hello struct {
	Lab   int    `json:"everywire_lab"` // the version of this protocol
	Token string `json:"token"`
}

// protocolVersion is that of the lines that the two ends exchange.
const protocolVersion = 1

// welcome is the answer.
type welcome struct {
	About json.RawMessage `json:"about,omitempty"`
	Error string          `json:"error,omitempty"`
}

// An Agent starts children for coordinators on other machines.
type Agent struct {
	// Exe with Args is what it starts. What Args returns for the address of this
	// machine, as the coordinator sees it, is its words.
	Exe  string
	Args func(host string) []string
	// Token is the secret that coordinators must know. It is not empty.
	Token string
	// About says what this machine and program are.
	About any
	// Logger is told who comes and goes.
	Logger *slog.Logger
}

// Serve serves coordinators until ctx ends, and then ends their children. It closes
// the listener.
func (a *Agent) Serve(ctx context.Context, lis net.Listener) error {
	if a.Token == "" {
		return errors.Join(errors.New("proc: an agent needs a token"), lis.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = lis.Close() })()
	free := make(chan struct{}, MaxRemote)
	for {
		nc, err := lis.Accept()
		if err != nil {
			_ = lis.Close() // it is, if ctx has ended
			if ctx.Err() != nil {
				return nil // it was asked to stop
			}
			return err
		}
		wg.Go(func() {
			defer nc.Close() //nolint:errcheck // the child was told, or never was
			a.serve(ctx, nc, free)
		})
	}
}

// serve is one coordinator's connection.
func (a *Agent) serve(ctx context.Context, nc net.Conn, free chan struct{}) {
	defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
	from := slog.String("from", nc.RemoteAddr().String())
	_ = nc.SetDeadline(time.Now().Add(helloTimeout)) // a connection that cannot is closed below
	in := bufio.NewReader(nc)
	err := a.greet(in)
	if err == nil {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		default:
			err = fmt.Errorf("this agent serves %d trials already", MaxRemote)
		}
	}
	answer := welcome{}
	if err != nil {
		answer.Error = err.Error()
	} else if answer.About, err = json.Marshal(a.About); err != nil {
		answer.Error = err.Error()
	}
	line, _ := json.Marshal(answer) // raw JSON and a text
	if _, writeErr := nc.Write(append(line, '\n')); writeErr != nil || err != nil {
		a.Logger.Warn("lab: a coordinator was refused", from, "error", errors.Join(err, writeErr))
		return
	}
	_ = nc.SetDeadline(time.Time{})
	host, _, _ := net.SplitHostPort(nc.LocalAddr().String())
	a.Logger.Info("lab: a server is started", from)
	if err := forward(ctx, nc, in, a.Exe, a.Args(host)); err != nil {
		a.Logger.Warn("lab: a server ended", from, "error", err)
	}
}

// greet reads the hello.
func (a *Agent) greet(in *bufio.Reader) error {
	line, err := readLine(in)
	if err != nil {
		return err
	}
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		return errors.New("what came is no hello of a coordinator")
	}
	switch {
	case h.Lab != protocolVersion:
		return fmt.Errorf("the coordinator speaks version %d of the lab's protocol, this agent %d: use the same everywire on both machines", h.Lab, protocolVersion)
	case subtle.ConstantTimeCompare([]byte(h.Token), []byte(a.Token)) != 1:
		return errors.New("the token is not that of this agent: it printed it when it began")
	}
	return nil
}

// forward runs a child whose input and output is the connection.
func forward(ctx context.Context, nc net.Conn, in io.Reader, exe string, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, args...) //nolint:gosec // the program itself, started again
	var said headWriter
	cmd.Stdout, cmd.Stderr = nc, &said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = stdin.Close, grace
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(stdin, in) // until the coordinator goes, or the child does
		cancel()
	}()
	err = cmd.Wait()
	_ = nc.Close() // ends the copying
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %s", err, said.summary())
	}
	return nil
}

// Dial starts a child by the agent at host:port, which is told the token, and reads
// into about what the agent is. The child ends when ctx does. The caller must call
// Stop.
func Dial(ctx context.Context, addr, token string, about any) (*Child, error) {
	dialing, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(dialing, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("the agent: %w", err)
	}
	in := bufio.NewReader(nc)
	if err := introduce(nc, in, token, about); err != nil {
		return nil, errors.Join(fmt.Errorf("the agent at %s: %w", addr, err), nc.Close())
	}
	c := &Child{stdin: nc, done: make(chan struct{})}
	c.stdout.lines = make(chan []byte, 1)
	ctx, c.cancel = context.WithCancel(ctx)
	context.AfterFunc(ctx, func() { _ = nc.Close() })
	go func() {
		_, _ = io.Copy(&c.stdout, in) // until either side goes
		c.cancel()
		close(c.done)
	}()
	return c, nil
}

func introduce(nc net.Conn, in *bufio.Reader, token string, about any) error {
	if err := nc.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return err
	}
	line, err := json.Marshal(hello{Lab: protocolVersion, Token: token})
	if err != nil {
		return err
	}
	if _, err := nc.Write(append(line, '\n')); err != nil {
		return err
	}
	if line, err = readLine(in); err != nil {
		return err
	}
	var w welcome
	if err := json.Unmarshal(line, &w); err != nil {
		return errors.New("what answers there is no agent: start one with everywire serve --lab")
	}
	if w.Error != "" {
		return errors.New(w.Error)
	}
	if err := json.Unmarshal(w.About, about); err != nil {
		return fmt.Errorf("what it says of itself: %w", err)
	}
	return nc.SetDeadline(time.Time{})
}

// readLine reads a line of bounded length.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("no whole line came: %w", err)
		case len(line) > helloSize:
			return nil, fmt.Errorf("a line of more than %d bytes", helloSize)
		}
	}
}
