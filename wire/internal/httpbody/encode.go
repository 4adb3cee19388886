package httpbody

import (
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MinSize is the size from which a body is worth compressing: below it there
// is little to save in a packet that must be sent anyway.
const MinSize = 1 << 10

// Replies are compressed while somebody waits for them, so the levels are
// those that cost about as little time as the network saves.
const (
	gzipLevel     = gzip.BestSpeed
	brotliQuality = 3
	// brotliWindow is the base-2 logarithm of an encoder's window. Messages are
	// seldom longer, and its tables grow with it.
	brotliWindow = 18
)

// An encoder encodes one body after another into out.
type encoder struct {
	w interface {
		io.WriteCloser
		Reset(w io.Writer)
	}
	out output
}

// An output is where an encoder writes.
type output struct{ b []byte }

func (o *output) Write(p []byte) (int, error) {
	o.b = append(o.b, p...)
	return len(p), nil
}

var encoders = [...]*sync.Pool{
	Gzip: {New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzipLevel) // a level that there is
		return &encoder{w: w}
	}},
	Brotli: {New: func() any {
		return &encoder{w: brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: brotliQuality, LGWin: brotliWindow})}
	}},
}

// zstdEncoder has a pool of its own.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true)) // options that there are
	return e
})

// Append appends src, encoded, to dst.
func (c Coding) Append(dst, src []byte) []byte {
	switch c {
	case Identity:
		return append(dst, src...)
	case Zstd:
		return zstdEncoder().EncodeAll(src, dst)
	}
	e := encoders[c].Get().(*encoder)
	e.out.b = dst
	e.w.Reset(&e.out)
	// Writing to memory does not fail.
	_, _ = e.w.Write(src)
	_ = e.w.Close()
	dst, e.out.b = e.out.b, nil
	encoders[c].Put(e)
	return dst
}
