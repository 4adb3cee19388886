package scenario

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/data"
	"github.com/everywire/everywire/lab/plan"
)

func TestParseRate(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		text  string
		total time.Duration
		want  []plan.Stage
	}{
		{"500", 10 * s, []plan.Stage{{For: 10 * s, From: 500, To: 500}}},
		{"500/30s", 0, []plan.Stage{{For: 30 * s, From: 500, To: 500}}},
		{"0.5/1m30s", 90 * s, []plan.Stage{{For: 90 * s, From: 0.5, To: 0.5}}},
		{"100..1000/30s,1000/1m", 0, []plan.Stage{{For: 30 * s, From: 100, To: 1000}, {For: 60 * s, From: 1000, To: 1000}}},
		{"0..1e3/1s,5", 3 * s, []plan.Stage{{For: s, From: 0, To: 1000}, {For: 2 * s, From: 5, To: 5}}},
		{"10..20", 2 * s, []plan.Stage{{For: 2 * s, From: 10, To: 20}}},
	} {
		got, err := ParseRate(c.text, c.total)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s for %v: got %v, %v, want %v", c.text, c.total, got, err, c.want)
		}
	}
}

func TestParseRateErrors(t *testing.T) {
	for _, c := range []struct {
		text  string
		total time.Duration
		want  string
	}{
		{"", 0, "column 1: a rate is missing: a rate is in calls a second"},
		{"x", 0, `--rate x: line 1 column 1: "x" is no rate`},
		{"100..x/1s", 0, `column 6: "x" is no rate`},
		{"100,200", time.Second, "column 1: only the last stage may have no time, which others have behind a slash: 100/30s"},
		{"100/1s,", 0, "column 8: a rate is missing"},
		{"100", 0, "the last stage has no time: add /30s, or --duration"},
		{"100/", 0, "column 5: a time is missing"},
		{"100/30", 0, `column 5: "30" is no time`},
		{"100/-1s", 0, "is not above 0"},
		{"100/9999h", 0, "longer than 30 days"},
		{"-1/1s", 0, "is negative"},
		{"1e9/1s", 0, "more than ten million"},
		{"NaN/1s", 0, "is no rate"},
		{"0x10/1s", 0, "is no rate"},
		{"100/1s", 2 * time.Second, "the stages take 1s, but --duration says 2s"},
		{"100/2s,5", time.Second, "leaves nothing of --duration 1s"},
	} {
		_, err := ParseRate(c.text, c.total)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// FuzzParse holds that any text is either refused, with a place in it, or is what
// the rest of the lab can use: rates that a plan takes, operations that can be called.
func FuzzParse(f *testing.F) {
	f.Add("100..1000/30s,1000/1m", mix)
	f.Add("5", "operations:\n  - method: a\n    body: |\n      {{x}}\n")
	f.Add("1/1s,", "operations: [{method: a, weight: 3, extract: {t: \"a[0]\"}}]")
	f.Fuzz(func(t *testing.T, rate, mix string) {
		var place *data.Error
		if stages, err := ParseRate(rate, time.Second); err == nil {
			if err := (plan.Shape{Stages: stages}).Check(); err != nil {
				t.Fatalf("%q: %v", rate, err)
			}
		} else if !errors.As(err, &place) || place.Line != 1+strings.Count(rate[:min(len(rate), offsetOf(rate, place))], "\n") {
			t.Fatalf("%q: %v", rate, err)
		}
		file, err := Parse("m", []byte(mix))
		if err != nil {
			if !errors.As(err, &place) {
				t.Fatalf("%q: %v", mix, err)
			}
			return
		}
		for _, o := range file.Operations {
			if o.Name == "" || o.Count < 1 || file.Weighted != (o.Weight > 0) {
				t.Fatalf("%q: %+v", mix, o)
			}
		}
	})
}

// offsetOf is where the line of an error ends.
func offsetOf(text string, e *data.Error) int {
	at := 0
	for range e.Line - 1 {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	return at
}
