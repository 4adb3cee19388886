//go:build !linux

package link

func newFineSleeper(func() int64) sleeper { return nil }
