package sleeper

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A timerfd waits until a timerfd(2) becomes readable. The kernel's
// timer behind it is exact to the nanosecond and has no slack, and Go's poller
// waits for it as for a socket: the goroutine holds neither a thread nor a
// processor meanwhile. That matters where a process has one processor, as the
// ends of a trial do: in nanosleep(2) a goroutine keeps it until the runtime's
// monitor takes it away, and whoever got ready meanwhile has to wait.
type timerfd struct {
	now  func() int64
	file *os.File
	raw  syscall.RawConn
}

// newFine returns nil if the system refuses a timer.
func newFine(now func() int64) Sleeper {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	file := os.NewFile(uintptr(fd), "timerfd")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close() // it was never used
		return nil
	}
	return &timerfd{now: now, file: file, raw: raw}
}

// Until sleeps.
func (s *timerfd) Until(t int64) {
	for {
		left := t - s.now()
		if left <= 0 {
			return
		}
		once := unix.ItimerSpec{Value: unix.NsecToTimespec(left)}
		var setErr error
		// Control fails when the file is closed: stopped.
		err := s.raw.Control(func(fd uintptr) { setErr = unix.TimerfdSettime(int(fd), 0, &once, nil) })
		if err != nil || setErr != nil {
			return
		}
		var expirations [8]byte
		if _, err := s.file.Read(expirations[:]); err != nil {
			return // stopped
		}
	}
}

// Stop ends a Read that waits.
func (s *timerfd) Stop() { _ = s.file.Close() }
