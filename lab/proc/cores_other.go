//go:build !linux

package proc

// Cores returns nil: processes are pinned on Linux only.
func Cores() []int { return nil }

// Pinned runs start, which starts a process.
func Pinned(_ []int, start func() error) error { return start() }
