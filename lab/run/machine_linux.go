package run

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// cpuModel is the first "model name" of /proc/cpuinfo. Some architectures have
// none.
func cpuModel() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // no file, no model
	for line := range strings.Lines(string(data)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// stolen is the CPU time that a hypervisor has taken so far, summed over all
// cores; 0 if it does not tell. Its resolution is 10 ms a core.
func stolen() time.Duration {
	data, _ := os.ReadFile("/proc/stat") // as if nobody told
	return parseStolen(string(data))
}

// parseStolen reads proc(5)'s "cpu user nice system idle iowait irq softirq
// steal …", in ticks of 1/100 s, which is USER_HZ on every architecture of Go.
func parseStolen(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks, err := strconv.ParseInt(fields[8], 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
