package stream

import "sync"

// keep is the capacity up to which buffers go back into the pools. Larger ones
// are left to the garbage collector: a rare large message must not pin memory.
const keep = 256 << 10

// A buffer is a slice of bytes that is reused. Whoever holds it owns it.
type buffer struct{ b []byte }

var units = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 1024)} }}

// newBuffer returns an empty buffer to append to.
func newBuffer() *buffer { return units.Get().(*buffer) }

// free gives the buffer back. A nil buffer is fine.
func (b *buffer) free() {
	if b == nil {
		return
	}
	for i, size := range readSizes {
		if cap(b.b) == size {
			b.b = b.b[:size]
			readBuffers[i].Put(b)
			return
		}
	}
	if cap(b.b) <= keep {
		b.b = b.b[:0]
		units.Put(b)
	}
}

// The sizes of read buffers. A connection begins, and ends a busy time, with a
// small one: it has the buffer while it waits, and there may be thousands that
// wait. They are a little more than powers of two, which buffers that grow by
// append never have.
const (
	smallRead = 512
	largeRead = 16<<10 + 8
)

var (
	readSizes   = [...]int{smallRead, largeRead, 64<<10 + 8, keep}
	readBuffers [len(readSizes)]sync.Pool
)

// newReadBuffer returns a buffer with a length of at least n bytes to read into.
func newReadBuffer(n int) *buffer {
	for i, size := range readSizes {
		if n <= size {
			if b, ok := readBuffers[i].Get().(*buffer); ok {
				return b
			}
			return &buffer{make([]byte, size)}
		}
	}
	return &buffer{make([]byte, n)}
}
