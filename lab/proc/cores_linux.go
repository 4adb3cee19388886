package proc

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Cores returns the numbers of the cores that this process may run on, sorted;
// nil where processes cannot be pinned.
func Cores() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	var cores []int
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cores = append(cores, i)
		}
	}
	return cores
}

// Pinned runs start, which starts a process, on a thread that may run on the
// given cores only. The process inherits that, and its Go runtime, which looks
// once when it starts, uses as many threads.
func Pinned(cores []int, start func() error) (err error) {
	if len(cores) == 0 {
		return start()
	}
	// While the goroutine holds the thread, the runtime makes no other threads
	// from it, so nobody else of this process inherits the mask.
	runtime.LockOSThread()
	var before, during unix.CPUSet
	for _, c := range cores {
		during.Set(c)
	}
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	if err := unix.SchedSetaffinity(0, &during); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("pinning to cores %s: %w", FormatCores(cores), err)
	}
	err = start()
	if restoreErr := unix.SchedSetaffinity(0, &before); restoreErr != nil {
		// The thread stays locked, so that it ends with this goroutine.
		return errors.Join(err, fmt.Errorf("restoring the CPU affinity: %w", restoreErr))
	}
	runtime.UnlockOSThread()
	return err
}
