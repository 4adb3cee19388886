package stream

import (
	"io"
	"net"
)

// calmReads is how many small reads in a row show that a connection needs no
// large buffer any more.
const calmReads = 32

// A reader cuts the bytes of a connection into frames. It belongs to whoever
// has the lead.
type reader struct {
	framer Framer

	buf  *buffer // nil when nothing is unread, at times
	r, w int     // buf.b[r:w] has arrived and is not consumed
	calm int     // small reads in a row into a large buffer
}

// next returns the next frame of what has arrived, nil if it is not complete.
// The frame stays as it is until detach or the next read.
func (r *reader) next(limit int) ([]byte, error) {
	if r.r == r.w {
		return nil, nil
	}
	from, to, err := r.framer.Next(r.buf.b[r.r:r.w])
	switch {
	case err != nil:
		return nil, err
	case to > 0:
		frame := r.buf.b[r.r+from : r.r+to : r.r+to]
		if len(frame) > limit {
			r.r += from
			return nil, &TooLargeError{limit}
		}
		r.r += to
		return frame, nil
	}
	r.r += from
	if r.w-r.r > limit {
		return nil, &TooLargeError{limit}
	}
	return nil, nil
}

// unread is what has arrived of the frame that next could not return.
func (r *reader) unread() []byte {
	if r.buf == nil {
		return nil
	}
	return r.buf.b[r.r:r.w]
}

// read reads once. The error is io.EOF only between frames.
func (r *reader) read(conn net.Conn) error {
	r.makeRoom()
	n, err := conn.Read(r.buf.b[r.w:])
	r.w += n
	if n > 0 {
		if n > smallRead {
			r.calm = 0
		}
		return nil // an error comes again
	}
	if err == io.EOF && r.r < r.w { //nolint:errorlint // io.Reader promises io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return err
}

// makeRoom makes space behind w. The buffer grows with what has arrived, never
// with what a length field promises.
func (r *reader) makeRoom() {
	size := 0
	if r.buf != nil {
		size = len(r.buf.b)
	}
	switch {
	case r.buf == nil:
		r.buf, r.r, r.w = newReadBuffer(smallRead), 0, 0
	case r.w == size && size < largeRead:
		r.replace(largeRead) // the last read filled it, so there is probably more
	case r.r == r.w:
		r.r, r.w = 0, 0
		switch {
		case size > largeRead:
			r.replace(largeRead)
		case size > smallRead:
			// One that is too large for long is given back.
			if r.calm++; r.calm > calmReads {
				r.calm = 0
				r.replace(smallRead)
			}
		}
	case r.w < size:
	case r.r >= size/2: // mostly consumed: moving the rest is cheap
		r.w = copy(r.buf.b, r.buf.b[r.r:r.w])
		r.r = 0
	default:
		r.replace(max(2*size, largeRead))
	}
}

// replace puts another buffer in the place of buf, with what is unread.
func (r *reader) replace(size int) {
	old := r.detach(size)
	old.free()
}

// detach takes the buffer away, with all frames in it, and goes on with a new
// one of the given size that has what is unread.
func (r *reader) detach(size int) *buffer {
	old := r.buf
	rest := r.unread()
	if len(rest) == 0 && size == 0 {
		r.buf, r.r, r.w = nil, 0, 0
		return old
	}
	r.buf = newReadBuffer(max(size, len(rest)))
	r.w = copy(r.buf.b, rest)
	r.r = 0
	return old
}
