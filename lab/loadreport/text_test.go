package loadreport

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
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

// No line is wider than the terminal, whatever it says.
func TestTextFits(t *testing.T) {
	for name := range cases() {
		r, _ := made(t, name)
		for _, width := range []int{0, 100, 80, 60, 200} {
			out := text(t, r, width, false)
			limit := width
			if width == 0 || width > 100 {
				limit = 100
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > limit {
					t.Errorf("%s: a line of %d columns on a terminal of %d: %q", name, n, limit, line)
				}
			}
		}
	}
}

// The figures of the calls stand in the text.
func TestTextSays(t *testing.T) {
	for name, want := range map[string][]string{
		"closed": {
			"everywire load: grpc://shop.example:9090 shop.Orders/Get\n", "Closed loop, 8 callers; 10 s measured after 2s of warm-up", "2026-12-01 09:30 UTC",
			"30,000 calls began: 29,998 right, 0 failed, 2 still open at the end.", "In a closed loop", "All 3 thresholds held.", "0.40 of 2 cores busy, 133µs a call",
		},
		"open": {
			"Open loop, 500 calls/s, at most 100 calls at once", "15,000 calls due: 15,000 right", "service ", "from intended start ", "2 of 2 thresholds failed.",
		},
		"mix": {
			"with orders.yaml", "a due call waits 100ms at most", "search with a name that is longer than a column\n", "get, from intended start", "UNAVAILABLE",
			"The first error: the first error's own text", "of operations", "nonsense: cannot be read, so it has failed", "and 1 more",
		},
		"stages":  {"0 to 1,000 calls/s for 3s, then 1,000 to 2,000 calls/s for 3s", "then 3 further stages", "gaps as of a Poisson process"},
		"few":     {"Nobody counted bytes."},
		"broken":  {"100 % failed.", "There was no right reply"},
		"worst":   {"Void: the generator kept", "The threshold failed."},
		"nothing": {"0 right replies a second; no call ended."},
	} {
		r, _ := made(t, name)
		out := text(t, r, 0, false)
		flat := strings.Join(strings.Fields(out), " ")
		for _, w := range want {
			if !strings.Contains(out, w) && !strings.Contains(flat, w) {
				t.Errorf("%s: no %q in\n%s", name, w, out)
			}
		}
	}
}

// Colours are on top: without them the text is the same.
func TestTextInColour(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9]*m")
	r, _ := made(t, "mix")
	coloured := text(t, r, 0, true)
	if plain := codes.ReplaceAllString(coloured, ""); plain == coloured || plain != text(t, r, 0, false) {
		t.Errorf("with colours:\n%s", coloured)
	}
}

// What is in a record may be anybody's: it does not steer the terminal.
func TestTextIsHarmless(t *testing.T) {
	const evil = "a\x1b]0;title\x07b\r\nc"
	s := cases()["mix"]
	s.ops = []string{evil, "b"}
	s.n = 2000
	s.thresholds = []string{evil}
	run, _ := s.make()
	run.Header.Load.Target, run.Header.Load.Mix, run.Header.Load.Connections = evil, evil, evil
	tr := &run.Trials[0]
	tr.FirstError, tr.Void, tr.Warnings, tr.Errors = evil, evil, []string{evil}, map[string]int64{evil: tr.Errors["UNAVAILABLE"]}
	r, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text(t, r, 0, false)) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
			t.Errorf("%q", line)
		}
	}
}
