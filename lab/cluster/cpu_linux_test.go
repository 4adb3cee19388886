package cluster

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	s, err := parseStat([]byte("12 (a) b (c)) S 7 12 12 0 -1 4194560 1 2 3 4 50 60 150 250 20 0 1 0 99 1 1"))
	if err != nil || s.parent != 7 || s.ofChildren != 4*time.Second {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, text := range []string{"", "12", "12 (a", "12 (a)", "12 (a) S 7", "12 (a) S x 12 12 0 -1 4194560 1 2 3 4 50 60 150 250 20"} {
		if s, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
	if s, err := statOf(os.Getpid()); err != nil || s.parent != os.Getppid() {
		t.Errorf("of this process: %+v, %v", s, err)
	}
}

// The clock of a process's CPU time goes on while it works.
func TestClockOf(t *testing.T) {
	before, err := clockOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after < before+5*time.Millisecond; {
		if after, err = clockOf(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := clockOf(1 << 22); err == nil { // more than there are
		t.Error("a process that is not there has CPU time")
	}
}
