package stream

import (
	"fmt"
	"math"
	"time"

	"github.com/everywire/everywire"
)

// A Framer finds frames in the bytes of one connection. It has state: it goes
// on where it stopped, so that bytes which arrive one by one are not scanned
// again each time.
type Framer interface {
	// Next is called with all bytes that have arrived and are not consumed yet,
	// at least one. The frame is buf[from:to], to > 0; buf[:to] is consumed,
	// so that a header before from is dropped.
	//
	// If to is 0 the frame is not complete. Then buf[:from] is dropped, which
	// is for white space between frames: a connection on which nothing but
	// that has arrived is idle, while one that stops inside a frame is closed
	// after a timeout. The next call has the same bytes without those dropped,
	// and more behind them.
	//
	// An error closes the connection. The Framer is not used again after it.
	Next(buf []byte) (from, to int, err error)
}

// A TooLargeError says that a frame is longer than the limit of its connection.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the frame is longer than the limit of %d bytes", e.Limit)
}

// MaxFrame returns the limit of a frame that carries a message of the given
// size: the message, its metadata in any encoding, and the envelope.
func MaxFrame(message int, limits everywire.Limits) int {
	const (
		envelope = 4 << 10
		most     = math.MaxInt / 8 // a limit that stands for none must not overflow
	)
	return min(message, most) + 2*min(limits.MaxMetadata, most) + envelope
}

// DefaultTimeout is what a zero timeout in a configuration means.
const DefaultTimeout = 30 * time.Second

func timeout(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultTimeout
	}
	return d
}
