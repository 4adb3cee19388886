package rest

import (
	"io"
	"math"
	"sync"
)

// maxPooled is the largest buffer that is kept for reuse. The pool itself is
// emptied by the garbage collector.
const maxPooled = 4 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func getBuffer() *[]byte { return buffers.Get().(*[]byte) }

func putBuffer(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// readAll appends what r has, to its end, but stops after more than limit
// bytes: a longer result means that there was more than the limit. size is
// the length that was announced, -1 if none was; memory is reserved for what
// has come, not for what was announced, beyond a first step.
func readAll(dst []byte, r io.Reader, size int64, limit int) ([]byte, error) {
	const firstStep = 64 << 10
	limit = min(limit, math.MaxInt-1)
	if want := int(min(size, firstStep)) + 1; want > cap(dst)-len(dst) && size > 0 {
		grown := make([]byte, len(dst), len(dst)+want)
		copy(grown, dst)
		dst = grown
	}
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		free := dst[len(dst):cap(dst)]
		if most := limit + 1 - (len(dst) - start); len(free) > most {
			free = free[:most]
		}
		n, err := r.Read(free)
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil || len(dst)-start > limit {
			return dst, err
		}
	}
}
