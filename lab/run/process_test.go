package run

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
)

var cpuSeconds = float64(runtime.NumCPU()) // of one second

// pidsIn are the children that have announced themselves.
func pidsIn(dir string) []int {
	entries, _ := os.ReadDir(dir)
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitForPIDs waits until n children run, or for half a minute.
func waitForPIDs(dir string, n int) bool {
	for range 3000 {
		if len(pidsIn(dir)) >= n {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// noneLeft checks that every child that announced itself has ended and was
// reaped.
func noneLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pid := range pidsIn(dir) {
		if exists(pid) {
			t.Errorf("child %d is left", pid)
		}
	}
}

// When the coordinator is killed, its children end by themselves.
func TestKilledCoordinator(t *testing.T) {
	pids := t.TempDir()
	cmd := exec.Command(os.Args[0], "test-coordinator")
	cmd.Env = append(os.Environ(), pidsEnv+"="+pids)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started := waitForPIDs(pids, 2)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the coordinator ended by itself")
	}
	if !started {
		t.Fatalf("the coordinator started %d children", len(pidsIn(pids)))
	}
	for _, pid := range pidsIn(pids) {
		ended := false
		for range 3000 { // half a minute
			if ended = !running(pid); ended {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !ended {
			t.Errorf("child %d outlived its coordinator", pid)
		}
	}
}
