package httpbody

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow is what a decoder must support and need not exceed (RFC 9659,
// section 3).
const maxZstdWindow = 8 << 20

// A decoder decodes one body after another.
type decoder interface {
	io.Reader
	Reset(r io.Reader) error
}

// decoders are kept with the source that they read.
type pooledDecoder struct {
	decoder
	src bytes.Reader
}

// lazyGzip is a gzip.Reader, which cannot be made before there is input.
type lazyGzip struct{ gzip.Reader }

// zstdDecoder runs on the goroutine that reads, and so needs no Close.
type zstdDecoder struct{ *zstd.Decoder }

func newZstdDecoder() decoder {
	// The options are good ones, and there is no stream to fail.
	d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	return zstdDecoder{d}
}

var decoders = [...]*sync.Pool{
	Gzip:   {New: func() any { return &pooledDecoder{decoder: new(lazyGzip)} }},
	Brotli: {New: func() any { return &pooledDecoder{decoder: brotli.NewReader(nil)} }},
	Zstd:   {New: func() any { return &pooledDecoder{decoder: newZstdDecoder()} }},
}

// Decode appends data, decoded, to dst. It fails with [ErrTooLarge] if that is
// more than limit bytes, and also if data is not whole, or is not the only
// thing in data. Members of gzip and frames of zstd that follow each other are
// one body, as RFC 1952 and RFC 8878 have it.
func (c Coding) Decode(dst, data []byte, limit int) ([]byte, error) {
	if c == Identity {
		if len(data) > limit {
			return dst, ErrTooLarge
		}
		return append(dst, data...), nil
	}
	d := decoders[c].Get().(*pooledDecoder)
	defer decoders[c].Put(d)
	d.src.Reset(data)
	defer d.src.Reset(nil)
	err := io.ErrUnexpectedEOF // no coding makes nothing of something
	if len(data) > 0 {
		err = d.Reset(&d.src)
	}
	if err == nil {
		dst, err = ReadAll(dst, d, -1, limit)
	}
	switch {
	case errors.Is(err, ErrTooLarge):
		return dst, err
	case errors.Is(err, zstd.ErrDecoderSizeExceeded): // by what its header announces
		return dst, ErrTooLarge
	case errors.Is(err, io.EOF): // of what has not begun
		err = io.ErrUnexpectedEOF
	case err == nil && d.src.Len() > 0:
		err = errors.New("something follows its end")
	}
	if err != nil {
		return dst, fmt.Errorf("the body is not %s: %w", c, err)
	}
	return dst, nil
}
