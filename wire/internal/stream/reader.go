package stream

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	readSize = 16 << 10 // of an idle connection's read buffer
	// progress is how much of a frame must arrive within one read timeout.
	progress = 16 << 10
)

var (
	errStopped = errors.New("reading was stopped")
	errStalled = errors.New("the peer stopped in the middle of a frame")
)

// A reader cuts the bytes of a connection into frames. One goroutine calls
// next; any may call stop.
type reader struct {
	conn    net.Conn
	framer  Framer
	limit   func() int
	timeout time.Duration // while a frame is incomplete

	buf  []byte
	r, w int // buf[r:w] has arrived and is not consumed

	deadline bool // one is set
	renewAt  int  // set it anew when so many bytes of the frame are there

	mu      sync.Mutex // orders stop and the setting of deadlines
	stopped bool
}

// next returns the next frame, valid until the next call. The error is io.EOF
// only between frames.
func (r *reader) next() ([]byte, error) {
	for {
		if r.r < r.w {
			from, to, err := r.framer.Next(r.buf[r.r:r.w])
			if err != nil {
				return nil, err
			}
			if to > 0 {
				frame := r.buf[r.r+from : r.r+to]
				if limit := r.limit(); len(frame) > limit {
					r.r += from
					return nil, &TooLargeError{limit}
				}
				r.r += to
				r.renewAt = 0
				return frame, nil
			}
			r.r += from
		}
		if limit := r.limit(); r.w-r.r > limit {
			return nil, &TooLargeError{limit}
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// unread is what has arrived of the frame that next could not return.
func (r *reader) unread() []byte { return r.buf[r.r:r.w] }

func (r *reader) fill() error {
	r.makeRoom()
	if err := r.setDeadline(); err != nil {
		return err
	}
	n, err := r.conn.Read(r.buf[r.w:])
	r.w += n
	if n > 0 || err == nil {
		return nil // an error comes again
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		if r.isStopped() {
			return errStopped
		}
		return errStalled
	case err == io.EOF && r.r < r.w: //nolint:errorlint // io.Reader promises io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return err
}

// makeRoom makes space behind w. The buffer grows with what has arrived, never
// with what a length field promises.
func (r *reader) makeRoom() {
	switch {
	case r.r == r.w:
		r.r, r.w = 0, 0
		if r.buf == nil || len(r.buf) > keep {
			r.buf = make([]byte, readSize)
		}
	case r.w < len(r.buf):
	case r.r > 0:
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
	default:
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf)
		r.buf = grown
	}
}

// setDeadline sets a deadline while a frame is incomplete, and renews it when
// progress bytes more have come: a peer may be slow, but may not hold a
// connection with a byte now and then.
func (r *reader) setDeadline() error {
	partial := r.w - r.r
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopped:
		return errStopped
	case partial == 0:
		if !r.deadline {
			return nil
		}
		r.deadline = false
		return r.conn.SetReadDeadline(time.Time{})
	case r.deadline && r.renewAt > 0 && partial < r.renewAt:
		return nil
	}
	r.deadline = true
	r.renewAt = partial + progress
	return r.conn.SetReadDeadline(time.Now().Add(r.timeout))
}

// stop makes next return errStopped, now and always.
func (r *reader) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	_ = r.conn.SetReadDeadline(time.Unix(1, 0)) // fails only on a closed connection
}

func (r *reader) isStopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopped
}
