package needs_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/everywire/everywire/internal/needs"
)

// A recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	how string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatal(args ...any) { r.end("failed: ", args) }
func (r *recorder) Skip(args ...any)  { r.end("skipped: ", args) }

func (r *recorder) end(how string, args []any) {
	r.how = how + args[0].(string)
	runtime.Goexit()
}

// ended is how a test ends that does f.
func ended(f func(t testing.TB)) string {
	r, done := new(recorder), make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.how
}

func TestProgram(t *testing.T) {
	lacks := func(t testing.TB) { needs.Program(t, "no-such-program", "by magic") }
	t.Setenv("CI", "")
	if how := ended(lacks); how != "skipped: SKIPPED: no-such-program is not installed: by magic" {
		t.Error(how)
	}
	t.Setenv("CI", "true")
	if how := ended(lacks); !strings.HasPrefix(how, "failed: no-such-program is not installed: by magic") {
		t.Error(how)
	}
	if path := needs.Program(t, os.Args[0], ""); path != os.Args[0] {
		t.Error(path)
	}
}
