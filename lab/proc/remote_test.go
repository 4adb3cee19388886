package proc

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

type about struct{ Name string }

// agent serves on a port of its own until the test ends.
func agent(t *testing.T, child string) (addr string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{
		Exe: os.Args[0], Args: func(host string) []string {
			if host != "127.0.0.1" {
				t.Errorf("the coordinator sees this machine as %q", host)
			}
			return []string{child}
		},
		Token: "secret", About: about{"far"}, Logger: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx, lis) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}

// A child on another machine answers as one on this does, and its end is told.
func TestRemoteChild(t *testing.T) {
	var who about
	c, err := Dial(t.Context(), agent(t, "child-works"), "secret", &who)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	var sum int
	if err := c.Call(t.Context(), "add", pair{20, 21}, &sum); err != nil || sum != 41 || who.Name != "far" || c.PID() != 0 {
		t.Errorf("got %d, %v from %q, process %d", sum, err, who.Name, c.PID())
	}
	if _, err := c.Usage(t.Context()); err != nil {
		t.Errorf("its CPU time: %v", err)
	}
	if err := c.Call(t.Context(), "fail", nil, &sum); err == nil || err.Error() != "as asked" {
		t.Errorf("its own error: %v", err)
	}
	if err := c.Call(t.Context(), "exit", nil, &sum); err == nil || !strings.Contains(err.Error(), "the connection to its machine ended") {
		t.Errorf("a child that ended: %v", err)
	}
}

// A child that does not answer is given up, and its end does not wait for it.
func TestRemoteChildIsGivenUp(t *testing.T) {
	c, err := Dial(t.Context(), agent(t, "child-works"), "secret", new(about))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := c.Call(ctx, "wait", nil, &struct{}{}); err == nil {
		t.Error("a call that was given up has a result")
	}
	c.Stop()
}

// Whoever says something else than a coordinator gets one line that says what is
// wrong, and no child.
func TestStrangersAreRefused(t *testing.T) {
	addr := agent(t, "child-works")
	if _, err := Dial(t.Context(), addr, "guess", new(about)); err == nil || !strings.Contains(err.Error(), "the token is not that of this agent") {
		t.Errorf("a wrong token: %v", err)
	}
	for says, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":                      "no hello of a coordinator",
		`{"everywire_lab":9,"token":"secret"}` + "\n": "use the same everywire on both machines",
		strings.Repeat("x", 100_000):                  "a line of more than 65536 bytes",
	} {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = nc.Write([]byte(says)) // it may be refused before all was said
		line, err := bufio.NewReader(nc).ReadString('\n')
		if !strings.Contains(line, want) && !strings.Contains(want, "a line of more") {
			t.Errorf("%.20q: answered %q, %v; want %q in it", says, line, err, want)
		}
		_ = nc.Close()
	}
}

// What answers may be anybody.
func TestNoAgent(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	go func() {
		for {
			nc, err := lis.Accept()
			if err != nil {
				return
			}
			_, _ = nc.Write([]byte("220 mail.example\r\n"))
			_ = nc.Close()
		}
	}()
	if _, err := Dial(t.Context(), lis.Addr().String(), "secret", new(about)); err == nil || !strings.Contains(err.Error(), "is no agent") {
		t.Errorf("got %v", err)
	}
	if err := (&Agent{}).Serve(t.Context(), lis); err == nil || !strings.Contains(err.Error(), "needs a token") {
		t.Errorf("an agent without a token: %v", err)
	}
}
