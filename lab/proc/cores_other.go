//go:build !linux

package proc

// Cores returns nil: processes are pinned on Linux only.
func Cores() []int { return nil }

func pinned(_ []int, start func() error) error { return start() }
