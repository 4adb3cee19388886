package run

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	for _, tc := range []struct {
		stat string
		want cpuTime
	}{
		{"cpu  10 20 30 40 50 60 70 123 0 0\ncpu0 1 1 1 1 1 1 1 9 0 0\n", cpuTime{1900 * time.Millisecond, 1230 * time.Millisecond}},
		{"cpu  10 20 30 40 50 60 70 0 0 0\n", cpuTime{busy: 1900 * time.Millisecond}},
		{"cpu  10 20 30 40\n", cpuTime{}},
		{"cpu0 1 1 1 1 1 1 1 9 0 0\n", cpuTime{}},
		{"cpu 1 1 1 1 1 1 1 x\n", cpuTime{}},
		{"", cpuTime{}},
	} {
		if got := parseStat(tc.stat); got != tc.want {
			t.Errorf("%q: %v, want %v", tc.stat, got, tc.want)
		}
	}
	if Machine().Kernel == "" {
		t.Error("no kernel release")
	}
}
