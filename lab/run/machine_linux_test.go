package run

import (
	"testing"
	"time"
)

func TestParseStolen(t *testing.T) {
	for _, tc := range []struct {
		stat string
		want time.Duration
	}{
		{"cpu  10 20 30 40 50 60 70 123 0 0\ncpu0 1 1 1 1 1 1 1 9 0 0\n", 1230 * time.Millisecond},
		{"cpu  10 20 30 40 50 60 70 0 0 0\n", 0},
		{"cpu  10 20 30 40\n", 0},
		{"cpu0 1 1 1 1 1 1 1 9 0 0\n", 0},
		{"cpu 1 1 1 1 1 1 1 x\n", 0},
		{"", 0},
	} {
		if got := parseStolen(tc.stat); got != tc.want {
			t.Errorf("%q: %v, want %v", tc.stat, got, tc.want)
		}
	}
	if Machine().Kernel == "" {
		t.Error("no kernel release")
	}
}
