//go:build unix

package run

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// exists says whether there is a process, if only an unreaped one.
func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// running is false also for a process that has ended and that its new parent
// has not reaped.
func running(pid int) bool {
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		return !bytes.Contains(stat, []byte(") Z "))
	}
	return exists(pid)
}
