package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire/internal/needs"
)

// The test program is its own child: the first argument says which.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if child, ok := children[os.Args[1]]; ok {
			child()
			return
		}
	}
	// Children of a test with -race would sleep for a second before they end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

func say(s string) { _, _ = os.Stdout.WriteString(s) }

type pair struct{ A, B int }

var children = map[string]func(){
	"child-works": func() {
		IgnoreInterrupt()
		err := Serve(os.Stdin, os.Stdout, map[string]Handler{
			"add":   Handle(func(_ context.Context, p pair) (int, error) { return p.A + p.B, nil }),
			"cores": Handle(func(context.Context, any) ([]int, error) { return append(Cores(), runtime.NumCPU()), nil }),
			"fail":  Handle(func(context.Context, any) (any, error) { return nil, errors.New("as asked") }),
			"mute":  Handle(func(context.Context, any) (any, error) { return nil, errors.New("") }),
			"panic": Handle(func(context.Context, any) (any, error) { panic("on purpose") }),
			"exit":  Handle(func(context.Context, any) (any, error) { os.Exit(7); panic("not reached") }),
			"wait": Handle(func(ctx context.Context, _ any) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}),
			"interrupt": Handle(func(context.Context, any) (bool, error) {
				self, err := os.FindProcess(os.Getpid())
				if err != nil {
					return false, err
				}
				return signal.Ignored(os.Interrupt), self.Signal(os.Interrupt)
			}),
			"spin": Handle(func(_ context.Context, ns int64) (any, error) {
				begin, err := CPUTime()
				for now := begin; err == nil && now-begin < time.Duration(ns); {
					now, err = CPUTime()
				}
				return nil, err
			}),
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
	"child-garbage":  func() { say("hello\n"); _, _ = io.Copy(io.Discard, os.Stdin) },
	"child-chatty":   func() { say("one\ntwo\nthree\n"); _, _ = io.Copy(io.Discard, os.Stdin) },
	"child-wrong-n":  func() { say(`{"n":99,"ok":1}` + "\n"); _, _ = io.Copy(io.Discard, os.Stdin) },
	"child-not-int":  func() { say(`{"n":1,"ok":"x"}` + "\n"); _, _ = io.Copy(io.Discard, os.Stdin) },
	"child-exits":    func() {},
	"child-complain": func() { fmt.Fprintln(os.Stderr, "first\nno such thing"); os.Exit(3) },
	"child-deaf":     func() { time.Sleep(time.Hour) },
}

func start(t *testing.T, name string, cores []int) *Child {
	t.Helper()
	c, err := Start(t.Context(), os.Args[0], []string{name}, cores)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Stop()
		if c.cmd.ProcessState == nil {
			t.Error("the child was not reaped")
		}
	})
	return c
}

func TestCalls(t *testing.T) {
	c := start(t, "child-works", nil)
	for i := range 3 {
		var sum int
		if err := c.Call(t.Context(), "add", pair{i, 40}, &sum); err != nil || sum != i+40 {
			t.Errorf("%d, %v", sum, err)
		}
	}
	for _, tc := range []struct {
		op   string
		arg  any
		want string
	}{
		{"fail", nil, "as asked"},
		{"mute", nil, "*errors.errorString"},
		{"add", "text", "malformed argument: "},
		{"fly", nil, `unknown operation "fly"`},
	} {
		if err := c.Call(t.Context(), tc.op, tc.arg, new(any)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.op, err, tc.want)
		}
	}
	var sum int
	if err := c.Call(t.Context(), "add", pair{1, 1}, &sum); err != nil || sum != 2 {
		t.Errorf("after errors: %d, %v", sum, err)
	}
}

func TestUsage(t *testing.T) {
	c := start(t, "child-works", nil)
	before, err := c.Usage(t.Context())
	if err != nil || before <= 0 {
		t.Fatal(before, err)
	}
	const spin = 30 * time.Millisecond
	if err := c.Call(t.Context(), "spin", spin, new(any)); err != nil {
		t.Fatal(err)
	}
	after, err := c.Usage(t.Context())
	if err != nil || after-before < spin {
		t.Errorf("used %v of CPU time, want at least %v; %v", after-before, spin, err)
	}
}

func TestPinning(t *testing.T) {
	all := Cores()
	if len(all) < 2 {
		needs.Missing(t, "there is no second core, or no pinning of processes to cores")
	}
	for _, core := range all[:2] {
		c := start(t, "child-works", []int{core})
		var got []int
		if err := c.Call(t.Context(), "cores", nil, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0] != core || got[1] != 1 {
			t.Errorf("pinned to %d: the child's cores and their number are %v", core, got)
		}
	}
	if now := Cores(); FormatCores(now) != FormatCores(all) {
		t.Errorf("starting pinned children changed this process's cores from %v to %v", all, now)
	}
	if _, err := Start(t.Context(), os.Args[0], []string{"child-works"}, []int{1023}); err == nil {
		t.Error("pinned to a core that does not exist")
	}
}

func TestInterruptIsIgnored(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	c := start(t, "child-works", nil)
	var ignored bool
	if err := c.Call(t.Context(), "interrupt", nil, &ignored); err != nil || !ignored {
		t.Fatal(ignored, err)
	}
	var sum int
	if err := c.Call(t.Context(), "add", pair{1, 2}, &sum); err != nil || sum != 3 {
		t.Errorf("after SIGINT: %d, %v", sum, err)
	}
}

func TestDeath(t *testing.T) {
	for _, tc := range []struct{ child, op, want string }{
		{"child-works", "panic", "died: exit status 2: panic: on purpose"},
		{"child-works", "exit", "died: exit status 7"},
		{"child-exits", "add", "died: exit status 0"},
		{"child-complain", "add", "died: exit status 3: no such thing"},
	} {
		c := start(t, tc.child, nil)
		err := c.Call(t.Context(), tc.op, pair{}, new(any))
		if _, ok := errors.AsType[*DiedError](err); !ok || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s %s: %v, want %s", tc.child, tc.op, err, tc.want)
		}
		if err := c.Call(t.Context(), tc.op, pair{}, new(any)); err == nil {
			t.Errorf("%s %s: a dead child answered", tc.child, tc.op)
		}
	}
}

func TestGarbage(t *testing.T) {
	for _, tc := range []struct{ child, want string }{
		{"child-garbage", `said "hello", which is no reply to add`},
		{"child-chatty", `said "one", which is no reply to add`},
		{"child-wrong-n", `which is no reply to add`},
		{"child-not-int", `gave a malformed reply to add`},
	} {
		c := start(t, tc.child, nil)
		if err := c.Call(t.Context(), "add", pair{}, new(int)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.child, err, tc.want)
		}
		<-c.Done() // such a child is ended
	}
}

func TestCallIsBounded(t *testing.T) {
	for _, child := range []string{"child-works", "child-deaf"} {
		c := start(t, child, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := c.Call(ctx, "wait", nil, new(any)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", child, err)
		}
		cancel()
		<-c.Done()
	}
}

func TestStartContextEndsTheChild(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Start(ctx, os.Args[0], []string{"child-works"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-c.Done()
}

func TestStartFails(t *testing.T) {
	if _, err := Start(t.Context(), "/no/such/program", nil, nil); err == nil {
		t.Error("started a program that does not exist")
	}
}

func TestServeRawLines(t *testing.T) {
	in := strings.NewReader("nonsense\n" + `{"n":2,"op":"add","arg":{"A":1,"B":2}}` + "\n" + `{"n":3,"op":"add"}` + "\n" + `{"n":4,"op":"nan"}`)
	var out strings.Builder
	err := Serve(in, &out, map[string]Handler{
		"add": Handle(func(_ context.Context, p pair) (int, error) { return p.A + p.B, nil }),
		"nan": func(context.Context, json.RawMessage) (any, error) { return make(chan int), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{`"error":"malformed request: `, `{"n":2,"ok":3}`, `{"n":3,"error":"malformed argument: `, `{"n":4,"error":"json: unsupported type`}
	if len(lines) != len(want) {
		t.Fatalf("replies %q", lines)
	}
	for i, w := range want {
		if !strings.Contains(lines[i], w) {
			t.Errorf("reply %s, want %s", lines[i], w)
		}
	}
}

func TestServeCannotAnswer(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	if err := Serve(strings.NewReader("{}\n"), w, nil); err == nil {
		t.Error("no error though nobody reads")
	}
}

func TestCores(t *testing.T) {
	for _, tc := range []struct {
		cores          []int
		server, client string
	}{
		{nil, "", ""},
		{[]int{3}, "", ""},
		{[]int{0, 1}, "0", "1"},
		{[]int{0, 1, 2}, "0", "1-2"},
		{[]int{0, 1, 2, 3, 8, 9, 12, 14}, "0-3", "8-9,12,14"},
	} {
		s, c := Split(tc.cores)
		if FormatCores(s) != tc.server || FormatCores(c) != tc.client {
			t.Errorf("%v: %q and %q", tc.cores, FormatCores(s), FormatCores(c))
		}
	}
}

// Whatever comes in, Serve ends with its input and answers each line with one
// reply that is JSON.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"n":1,"op":"add","arg":{"A":1,"B":2}}` + "\n"))
	f.Add([]byte(`{"n":1,"op":"usage"}` + "\n\n[]\nnull"))
	f.Add([]byte("{\"n\":1e99}\r\n\x00\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		err := Serve(bytes.NewReader(in), &out, map[string]Handler{
			"add": Handle(func(_ context.Context, p pair) (int, error) { return p.A + p.B, nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		replies := strings.Count(out.String(), "\n")
		requests := bytes.Count(in, []byte("\n"))
		if len(in) > 0 && in[len(in)-1] != '\n' {
			requests++
		}
		if replies != requests {
			t.Errorf("%d replies to %d lines", replies, requests)
		}
		for line := range strings.Lines(out.String()) {
			var rep reply
			if err := json.Unmarshal([]byte(line), &rep); err != nil || (rep.Error == "") == (rep.OK == nil) {
				t.Errorf("reply %s: %v", line, err)
			}
		}
	})
}
