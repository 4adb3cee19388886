package proc

import (
	"time"

	"golang.org/x/sys/windows"
)

// CPUTime is the user and kernel CPU time of this process so far.
func CPUTime() (time.Duration, error) {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0, err
	}
	return ticks(kernel) + ticks(user), nil
}

// ticks reads a Filetime that holds a duration in units of 100 ns. Its own
// Nanoseconds method takes it for a date.
func ticks(f windows.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}
