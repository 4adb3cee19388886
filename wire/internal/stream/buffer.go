package stream

import "sync"

// keep is the capacity up to which buffers go back into the pool. Larger ones
// are left to the garbage collector: a rare large message must not pin memory.
const keep = 64 << 10

// A buffer is a slice of bytes that is reused. Whoever holds it owns it.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 1024)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) free() {
	if cap(b.b) <= keep {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}
