package httpbody

import (
	"errors"
	"io"
	"sync"
)

// NewReader decodes what r has, for callers who bound what they read themselves: it
// holds no more than the coding's window, which [maxZstdWindow] bounds for zstd. Close
// gives its memory back; it does not close r.
func (c Coding) NewReader(r io.Reader) (io.ReadCloser, error) {
	if c == Identity {
		return io.NopCloser(r), nil
	}
	if c == Zstd {
		r = struct{ io.Reader }{r} // of a buffer the decoder would decode all at once
	}
	pool := decoders[c]
	d := pool.Get().(*pooledDecoder)
	if err := d.Reset(r); err != nil {
		d.give(pool)
		return nil, err
	}
	return &openReader{decoder: d, pool: pool}, nil
}

// An openReader owns its decoder until it is closed.
type openReader struct {
	decoder *pooledDecoder
	pool    *sync.Pool
}

var errClosed = errors.New("the reader is closed")

func (r *openReader) Read(p []byte) (int, error) {
	if r.decoder == nil {
		return 0, errClosed
	}
	return r.decoder.Read(p)
}

func (r *openReader) Close() error {
	if r.decoder != nil {
		r.decoder.give(r.pool)
		r.decoder = nil
	}
	return nil
}

// give puts the decoder back with nothing of what it read.
func (d *pooledDecoder) give(pool *sync.Pool) {
	// What there is to read is empty: gzip's reader says so, which is no matter.
	d.src.Reset(nil)
	_ = d.Reset(&d.src)
	pool.Put(d)
}
