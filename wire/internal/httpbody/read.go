package httpbody

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// ErrTooLarge is the error for a body, as it came or when decoded, that is
// larger than the limit.
var ErrTooLarge = errors.New("the body is larger than the limit")

// firstStep is how much memory an announced length can reserve.
const firstStep = 64 << 10

// ReadAll appends to dst what r has, to its end, but fails with [ErrTooLarge]
// after limit bytes. size is the length that was announced, -1 if none was;
// memory is reserved for what has come, not for what was announced, beyond a
// first step.
func ReadAll(dst []byte, r io.Reader, size int64, limit int) ([]byte, error) {
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
		switch {
		case len(dst)-start > limit:
			return dst[:start+limit], ErrTooLarge
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, err
		}
	}
}

// ErrCoding is the error for a body that is not in the coding that it says.
var ErrCoding = errors.New("content coding")

// Read appends to dst what r has, as [ReadAll] does, without the codings that
// the lines of a Content-Encoding header name.
func Read(dst []byte, r io.Reader, size int64, encoded []string, limit int) ([]byte, error) {
	if len(encoded) == 0 {
		return ReadAll(dst, r, size, limit)
	}
	coding, err := Encoded(encoded)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrCoding, err)
	}
	raw := Buffer()
	defer Free(raw)
	if *raw, err = ReadAll(*raw, r, size, limit); err != nil || len(*raw) == 0 {
		return dst, err
	}
	if dst, err = coding.Decode(dst, *raw, limit); err != nil && !errors.Is(err, ErrTooLarge) {
		return dst, fmt.Errorf("%w: %w", ErrCoding, err)
	}
	return dst, err
}

// maxPooled is the largest buffer that is kept for reuse. The pool itself is
// emptied by the garbage collector.
const maxPooled = 4 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Buffer returns an empty buffer, to be given back to [Free].
func Buffer() *[]byte { return buffers.Get().(*[]byte) }

// Free takes back a buffer that nothing refers to any more.
func Free(b *[]byte) {
	if cap(*b) <= maxPooled {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}
