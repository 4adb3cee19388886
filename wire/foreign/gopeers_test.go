package foreign

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A goClient is a JSON-RPC 2.0 client in Go.
type goClient struct {
	call   func(ctx context.Context, method string, params, result any) error
	notify func(ctx context.Context, method string, params any) error
	// failure reads an error's parts.
	failure func(error) (code int64, message, data string)
}

// checkClient makes the calls that checks.js makes.
func checkClient(t *testing.T, s *service, c *goClient) {
	t.Helper()
	ctx := testContext(t)
	for _, test := range []struct {
		method string
		params any
		want   int64
	}{
		{"sum", []int64{20, 21}, 41},
		{"sum", []int64{}, 0},
		{"sum", []int64{1<<63 - 2, 1}, 1<<63 - 1},
		{"sum", []int64{-1 << 63}, -1 << 63},
		{"subtract", []int64{42, 23}, 19},
		{"subtract", map[string]int64{"subtrahend": 23, "minuend": 42}, 19},
	} {
		var got int64
		if err := c.call(ctx, test.method, test.params, &got); err != nil || got != test.want {
			t.Fatalf("%s %v: %d, %v", test.method, test.params, got, err)
		}
	}
	for _, want := range []string{"", noteText, strings.Repeat("é", 512<<10)} {
		var got string
		if err := c.call(ctx, "same", []string{want}, &got); err != nil || got != want {
			t.Errorf("same: a text of %d bytes: %v", len(want), err)
		}
	}
	const detail = `"details":[{"type":"google.protobuf.Value","value":"GgdiZWNhdXNl"}]}`
	for _, test := range []struct {
		method        string
		params        any
		code          int64
		message, data string
	}{
		{"fail", []any{5, "no such thing: ü"}, -32005, "no such thing: ü", `{` + detail},
		{"fail", []any{4242, "a code of its own"}, -32000, "a code of its own", `{"code":4242,` + detail},
		{"nope", []int{}, -32601, `unknown method "nope"`, ""},
	} {
		err := c.call(ctx, test.method, test.params, nil)
		if err == nil {
			t.Errorf("%s %v: no error", test.method, test.params)
			continue
		}
		code, message, data := c.failure(err)
		if code != test.code || message != test.message || data != test.data {
			t.Errorf("%s %v: %d, %q, %s", test.method, test.params, code, message, data)
		}
	}
	checkClientInFlight(t, func(result any) error { return c.call(ctx, "meet", []int{100}, result) }, 100)
	if err := c.notify(ctx, "note", []string{noteText}); err != nil {
		t.Errorf("note: %v", err)
	}
	s.wantNotes(t, noteText)
}

// checkClientInFlight makes n calls of meet at once.
func checkClientInFlight(t *testing.T, call func(result any) error, n int) {
	t.Helper()
	answers := make([]int64, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { errs[i] = call(&answers[i]) })
	}
	wg.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		t.Errorf("meet: %v", errs[i])
	}
	slices.Sort(answers)
	if len(slices.Compact(answers)) != n || answers[0] != 1 {
		t.Errorf("answers in flight: %v", answers)
	}
}

// connect opens a connection that is closed when the test ends.
func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // most clients have closed it
	return conn
}

// wantParted checks how a server says that its client has left. A client that
// closes its connection while a reply to a call that it gave up is on its way
// resets it (RFC 9293, section 3.6): that is no fault.
func wantParted(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the server: %v", err)
	}
}

// listen serves every connection by f, which returns when its connection has
// ended, and returns the address.
func listen(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := lis.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				t.Errorf("accept: %v", err)
				return
			}
			wg.Go(func() { f(conn) })
		}
	})
	t.Cleanup(func() {
		if err := lis.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
	return lis.Addr().String()
}

// A goMethods is what methods.js is, for servers in Go.
type goMethods struct {
	mu        sync.Mutex
	noted     []string
	here      int64
	waiting   chan struct{}
	cancelled int64
}

func (m *goMethods) note(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noted = append(m.noted, text)
}

func (m *goMethods) notes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.noted)
}

func (m *goMethods) meet(count int64) int64 {
	m.mu.Lock()
	if m.waiting == nil {
		m.waiting = make(chan struct{})
	}
	m.here++
	mine, waiting := m.here, m.waiting
	if mine == count {
		m.here, m.waiting = 0, nil
		close(waiting)
	}
	m.mu.Unlock()
	<-waiting
	return mine
}

// block waits until it is cancelled.
func (m *goMethods) block(ctx context.Context) {
	<-ctx.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cancelled++
}

func (m *goMethods) cancels() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cancelled
}
