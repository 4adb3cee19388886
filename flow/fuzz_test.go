package flow_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
)

// FuzzParse: whatever a file says, it is read, or all that is wrong has its place in
// it; and what is read can be made an app of.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(examples + "*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	text, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(text), "\n=== ") {
		file, _, _ := strings.Cut(part, "--- said\n")
		_, file, _ = strings.Cut(file, "\n")
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := flow.Parse("f.yaml", text)
		if file == nil {
			t.Fatal("no file")
		}
		if err != nil {
			for _, e := range asErrors(t, err) {
				if e.Text == "" || e.Detail() == "" {
					t.Errorf("an error without a text: %#v", e)
				}
			}
		}
		// What is not whole can be looked at as well.
		_ = flow.Check(file, func(string, bool) error { return nil })
		a, newErr := flow.New(file, flow.Options{
			Serve: neverServed, Logger: slog.New(slog.DiscardHandler),
			Dial: func(string, *everywire.Registry) (flow.Conn, error) { panic("not dialled") },
		})
		if err == nil && newErr != nil {
			asErrors(t, newErr)
		}
		if (err != nil) == (a != nil) && newErr == nil {
			t.Errorf("errors: %v, and an app: %v", err, a != nil)
		}
	})
}
