//go:build unix

package proc

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime is the user and system CPU time of this process so far.
func CPUTime() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
