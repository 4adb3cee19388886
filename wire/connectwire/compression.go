package connectwire

import (
	"bytes"
	"errors"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/httpbody"
)

// codings are in connect-go's order, which prefers the last.
var codings = []httpbody.Coding{httpbody.Brotli, httpbody.Zstd, httpbody.Gzip}

// newDecompressor and newCompressor are what connect-go makes readers and
// writers of compressed messages by.
func newDecompressor(c httpbody.Coding, limit int) func() connect.Decompressor {
	return func() connect.Decompressor { return &decompressor{coding: c, limit: limit} }
}

func newCompressor(c httpbody.Coding) func() connect.Compressor {
	return func() connect.Compressor { return &compressor{coding: c} }
}

// maxKept is the largest buffer that waits for the next message.
const maxKept = 64 << 10

// A decompressor is connect-go's reader of one message after another. It stops
// at the limit; of a message that is larger connect-go itself would read all, to
// tell how large, and 4 MiB in brotli can become terabytes.
type decompressor struct {
	coding httpbody.Coding
	limit  int
	src    io.Reader
	data   []byte
	rest   []byte // of data
}

func (d *decompressor) Reset(src io.Reader) error {
	d.src, d.rest = src, nil
	if cap(d.data) > maxKept {
		d.data = nil
	}
	return nil
}

func (d *decompressor) Read(p []byte) (int, error) {
	if d.src != nil {
		if err := d.decode(); err != nil {
			return 0, err
		}
	}
	if len(d.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *decompressor) decode() error {
	encoded, err := io.ReadAll(d.src)
	d.src = nil
	if err != nil {
		return err
	}
	d.data, err = d.coding.Decode(d.data[:0], encoded, d.limit)
	if errors.Is(err, httpbody.ErrTooLarge) {
		return connect.NewError(connect.Code(codes.ResourceExhausted), err)
	}
	d.rest = d.data
	return err
}

func (d *decompressor) Close() error { return nil }

// A compressor is connect-go's writer of one message after another.
type compressor struct {
	coding httpbody.Coding
	dst    io.Writer
	src    bytes.Buffer
	out    []byte
}

func (c *compressor) Reset(dst io.Writer) {
	c.dst = dst
	if c.src.Reset(); c.src.Cap()+cap(c.out) > maxKept {
		c.src, c.out = bytes.Buffer{}, nil
	}
}

func (c *compressor) Write(p []byte) (int, error) { return c.src.Write(p) }

func (c *compressor) Close() error {
	c.out = c.coding.Append(c.out[:0], c.src.Bytes())
	_, err := c.dst.Write(c.out)
	return err
}
