package flow_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parsed reads a file that is to have no errors.
func parsed(t *testing.T, text string, set ...flow.Assignment) *flow.File {
	t.Helper()
	file, err := flow.Parse("f.yaml", []byte(text), set...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// made makes an app of a text.
func made(t *testing.T, text string, o flow.Options) *flow.App {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a, err := flow.New(parsed(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A fakeConn answers calls by a function. It sees messages as values: in and out are
// structs that the flow has made of the file, whose fields are in the file's order.
type fakeConn struct {
	answer func(ctx context.Context, method string, in, out reflect.Value) error
	mu     sync.Mutex
	closed int
}

func (c *fakeConn) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	return c.answer(ctx, method, reflect.ValueOf(in).Elem(), reflect.ValueOf(out).Elem())
}

func (*fakeConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("a flow makes no streams")
}

func (c *fakeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	return nil
}

func (c *fakeConn) dial(string, *everywire.Registry) (flow.Conn, error) { return c, nil }

// A diary notes what an observer is told, with the time since it began.
type diary struct {
	mu    sync.Mutex
	begun time.Time
	lines []string
}

func newDiary() *diary { return &diary{begun: time.Now()} }

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.begun))+fmt.Sprintf(format, args...))
}

func (d *diary) FlowStarted(f *flow.FlowInfo) { d.note("%s begins", f.Flow) }

func (d *diary) FlowEnded(f *flow.FlowInfo, took time.Duration, err error) {
	d.note("%s ends after %v: %v", f.Flow, took, err)
}
func (*diary) ActivityStarted(*flow.ActivityInfo)                     {}
func (*diary) ActivityEnded(*flow.ActivityInfo, time.Duration, error) {}
func (d *diary) TickSkipped(t *flow.TriggerInfo)                      { d.note("%s skipped", t.Trigger) }

// text is all lines.
func (d *diary) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

// logText is a logger without times, and what it has written.
func logText() (*slog.Logger, *safeText) {
	text := new(safeText)
	return slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{ReplaceAttr: withoutTime, Level: slog.LevelDebug})), text
}

type safeText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
