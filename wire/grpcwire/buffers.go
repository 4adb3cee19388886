package grpcwire

import (
	"sync"
	"sync/atomic"
)

// A bufferPool holds the buffers that messages are encoded into, and those in
// which the pieces of a received one are put together. grpc-go's own default
// pool clears a buffer whenever it gives it out, and one of a MiB for every
// message of more than 32 KiB.
//
// Its tiers hold buffers of at least 5, 20, 80 and 320 KiB. The quarter more is
// for what stands around a payload of 4, 16 or 64 KiB.
type bufferPool struct{ tiers [4]sync.Pool }

const (
	// Above 1 KiB, up to which grpc-go does not give buffers back.
	minBuffer = 5 << 10
	maxBuffer = 5 << 20
)

func capacity(tier int) int { return minBuffer << (2 * tier) }

var buffers bufferPool

// take returns an empty buffer for about n bytes. Large ones come from the last
// tier, whose buffers have room for some messages and must grow for others.
func (p *bufferPool) take(n int) *[]byte {
	tier := 0
	for tier < len(p.tiers)-1 && capacity(tier) < n {
		tier++
	}
	if b, ok := p.tiers[tier].Get().(*[]byte); ok {
		*b = (*b)[:0]
		return b
	}
	b := make([]byte, 0, capacity(tier))
	return &b
}

// Get is half of mem.BufferPool. What is in the buffer is not cleared.
func (p *bufferPool) Get(n int) *[]byte {
	b := p.take(n)
	if cap(*b) < n {
		p.Put(b)
		large := make([]byte, n)
		return &large
	}
	*b = (*b)[:n]
	return b
}

// Put is called by grpc-go when it has written the buffer. One that has grown
// goes to the tier that it has reached.
func (p *bufferPool) Put(b *[]byte) {
	n := cap(*b)
	if n > maxBuffer {
		return
	}
	for tier := len(p.tiers) - 1; tier >= 0; tier-- {
		if capacity(tier) <= n {
			p.tiers[tier].Put(b)
			return
		}
	}
}

// A sizeHint remembers how large messages were, so that the next is mostly
// written into a buffer that need not grow. It rises at once and falls slowly,
// for small messages and large ones often take turns.
type sizeHint struct{ bytes atomic.Int64 }

func (h *sizeHint) get() int { return int(h.bytes.Load()) }

func (h *sizeHint) saw(n int) {
	old := h.get()
	switch {
	case n > old:
		h.bytes.Store(int64(n))
	case n < old && old > minBuffer:
		h.bytes.Store(int64(old - (old-n+15)/16))
	}
}
