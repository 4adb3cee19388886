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

// machineTime is what the kernel has counted so far. Its resolution is 10 ms a core.
func machineTime() cpuTime {
	data, _ := os.ReadFile("/proc/stat") // as if nobody told
	return parseStat(string(data))
}

// parseStat reads proc(5)'s "cpu user nice system idle iowait irq softirq
// steal …", in ticks of 1/100 s, which is USER_HZ on every architecture of Go.
func parseStat(stat string) (c cpuTime) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return c
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return cpuTime{}
		}
		spent := time.Duration(ticks) * 10 * time.Millisecond
		switch i {
		case 3, 4: // nobody's
		case 7:
			c.stolen = spent
		default:
			c.busy += spent
		}
	}
	return c
}
