package loadreport

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func made(t *testing.T, name string) (*Report, []call) {
	t.Helper()
	s, ok := cases()[name]
	if !ok {
		t.Fatalf("no case %q", name)
	}
	run, calls := s.make()
	r, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	return r, calls
}

func text(t *testing.T, r *Report, width int, colour bool) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b, width, colour); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextFits(t *testing.T) {
	for name := range cases() {
		r, _ := made(t, name)
		out := text(t, r, 0, false)
		t.Logf("%s\n%s", name, out)
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s: a line of %d columns: %q", name, n, line)
			}
		}
	}
}
