package grpcwire

import (
	"testing"

	"google.golang.org/grpc/mem"
)

var _ mem.BufferPool = &bufferPool{}

func TestBufferPool(t *testing.T) {
	var p bufferPool
	for _, n := range []int{0, 1, minBuffer, minBuffer + 1, 64<<10 + 8, 1 << 20, maxBuffer, maxBuffer + 1} {
		for range 3 { // new, and used before
			b := p.Get(n)
			if len(*b) != n {
				t.Fatalf("%d bytes were asked for, and %d came", n, len(*b))
			}
			p.Put(b)
		}
		if b := p.take(n); len(*b) != 0 {
			t.Errorf("a buffer for %d bytes has %d already", n, len(*b))
		}
	}
	for _, n := range []int{1, minBuffer - 1, maxBuffer + 1} { // not of this pool
		b := make([]byte, n)
		p.Put(&b)
	}
	if b := p.take(1); cap(*b) < minBuffer {
		t.Errorf("a buffer of %d bytes was kept", cap(*b))
	}
}

func TestSizeHint(t *testing.T) {
	var h sizeHint
	h.saw(64 << 10)
	if h.get() != 64<<10 {
		t.Errorf("after one of 64 KiB: %d", h.get())
	}
	h.saw(10)
	if got := h.get(); got <= 32<<10 || got >= 64<<10 {
		t.Errorf("after one small message: %d", got)
	}
	for range 1000 {
		h.saw(10)
	}
	if h.get() > minBuffer {
		t.Errorf("after many small messages: %d", h.get())
	}
}
