package run

import (
	"testing"

	"github.com/everywire/everywire/lab/record"
)

// Trials that others disturbed are made again, if that is asked for, and no more than a
// quarter of the run's.
func TestSpare(t *testing.T) {
	r := &runner{config: Config{Spare: true}, progress: Progress{Total: 8}}
	for _, want := range []bool{true, true, false, false} {
		if got := r.spare(record.MaxOthers + 0.01); got != want {
			t.Fatalf("%v after %d", got, r.spared)
		}
	}
	r = &runner{config: Config{Spare: true}, progress: Progress{Total: 8}}
	if r.spare(record.MaxOthers) || r.spared != 0 {
		t.Error("a trial is made again that was not disturbed")
	}
	r.config.Spare = false
	if r.spare(1) {
		t.Error("a trial is made again though nobody asked for that")
	}
}
