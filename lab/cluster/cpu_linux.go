package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is the unit of times in /proc: USER_HZ, which is 100 on every
// architecture that Go runs on.
const ticksPerSecond = 100

// CPU is the user and system time of all of NGINX's processes so far: the master,
// the workers, and workers that have ended.
func (n *Nginx) CPU() (time.Duration, error) {
	pid := n.cmd.Process.Pid
	master, err := statOf(pid)
	if err != nil {
		return 0, fmt.Errorf("cluster: NGINX's CPU time: %w", err)
	}
	workers, err := n.workers()
	if err != nil {
		return 0, err
	}
	sum := master.ofChildren
	for _, p := range append(workers, pid) {
		t, err := clockOf(p)
		switch {
		case errors.Is(err, unix.EINVAL) && p != pid: // it has ended meanwhile
		case err != nil:
			return 0, fmt.Errorf("cluster: the CPU time of process %d: %w", p, err)
		}
		sum += t
	}
	return sum, nil
}

// clockOf reads the clock of a process's CPU time, to the nanosecond. The number of
// the clock is what clock_getcpuclockid(3) makes of the process's.
func clockOf(pid int) (time.Duration, error) {
	const cpuClockSched = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuClockSched), &t); err != nil { //nolint:gosec // process ids have 22 bits
		return 0, err
	}
	return time.Duration(t.Nano()), nil
}

// A stat is what is needed of /proc/PID/stat.
type stat struct {
	parent     int
	ofChildren time.Duration // the CPU time of children that have ended
}

func statOf(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// parseStat reads a line of proc(5). The name may contain anything, also spaces and
// brackets, so that fields are counted from its end.
func parseStat(text []byte) (stat, error) {
	_, rest, _ := strings.Cut(string(text), "(")
	i := strings.LastIndexByte(rest, ')')
	if i < 0 {
		return stat{}, fmt.Errorf("no process's state: %.200q", text)
	}
	fields := strings.Fields(rest[i+1:])
	const parent, childUser, childSystem = 1, 13, 14 // numbers 4, 16 and 17 of proc(5)
	if len(fields) <= childSystem {
		return stat{}, fmt.Errorf("no process's state: %.200q", text)
	}
	var values [3]int64
	for i, at := range []int{parent, childUser, childSystem} {
		v, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return stat{}, fmt.Errorf("no process's state: %w", err)
		}
		values[i] = v
	}
	return stat{parent: int(values[0]), ofChildren: time.Duration(values[1]+values[2]) * (time.Second / ticksPerSecond)}, nil
}

// workers are the processes of NGINX but the master.
func (n *Nginx) workers() ([]int, error) {
	all, err := filepath.Glob("/proc/[1-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if s, err := statOf(pid); err == nil && s.parent == n.cmd.Process.Pid { // else it has ended
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// retired waits until old workers take no more calls: they have ended, or say in
// their title that they are about to.
func (n *Nginx) retired(ctx context.Context, old []int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		old = slices.DeleteFunc(old, func(pid int) bool {
			title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			return err != nil || len(title) == 0 || bytes.Contains(title, []byte("shutting down"))
		})
		if len(old) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cluster: NGINX's workers %v go on with the old backends: %w", old, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}
