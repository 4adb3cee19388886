//go:build !linux

package link

import (
	"runtime"
	"time"
)

// spin is the last part of a sleep in which the goroutine only yields. Sleeps
// of systems other than Linux are late by up to a millisecond and more.
const spin = 1500 * time.Microsecond

type fineSleep struct{}

func newFineSleep() fineSleep { return fineSleep{} }

func (fineSleep) sleep(d time.Duration) {
	if d > spin {
		time.Sleep(d - spin) //nolint:forbidigo // this is the implementation of a sleep
		return
	}
	runtime.Gosched()
}
