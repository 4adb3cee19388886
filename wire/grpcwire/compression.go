package grpcwire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync"

	"google.golang.org/grpc/encoding"

	"github.com/everywire/everywire/wire/internal/httpbody"
)

// compressors are gzip and zstd. grpc-go finds compressors in a table of the whole
// program, which it reads without a lock: it may be written while the program's
// variables get their values, and never again. This is the only such thing in the
// module. Whoever has registered the name keeps it, and whoever registers it
// afterwards gets it; every one of them writes the same format.
var _, _ = register(httpbody.Gzip), register(httpbody.Zstd)

// register reports whether the name was free.
func register(c httpbody.Coding) bool {
	if encoding.GetCompressor(c.String()) != nil {
		return false
	}
	encoding.RegisterCompressor(compressor{c})
	return true
}

// A compressor is grpc-go's of one coding.
type compressor struct{ coding httpbody.Coding }

// Name is [encoding.Compressor]'s.
func (c compressor) Name() string { return c.coding.String() }

// Decompress is [encoding.Compressor]'s. grpc-go reads one byte more than the limit
// on messages, at most.
func (c compressor) Decompress(r io.Reader) (io.Reader, error) { return c.coding.NewReader(r) }

// Compress is [encoding.Compressor]'s.
func (c compressor) Compress(w io.Writer) (io.WriteCloser, error) {
	m := uncompressed.Get().(*message)
	m.coding, m.to = c.coding, w
	return m, nil
}

// A message is one that is being compressed. A call has a compressor for all of its
// messages or for none, so those that are too small to gain are stored in the
// coding's format as they are.
type message struct {
	coding  httpbody.Coding
	to      io.Writer
	text    bytes.Buffer
	encoded []byte
}

// uncompressed has messages that are not in use.
var uncompressed = sync.Pool{New: func() any { return new(message) }}

// maxKept is the largest message whose memory waits for the next one.
const maxKept = 64 << 10

func (m *message) Write(b []byte) (int, error) { return m.text.Write(b) }

// Close is called once; the message is another's then.
func (m *message) Close() error {
	if text := m.text.Bytes(); len(text) < httpbody.MinSize {
		m.encoded = store(m.coding, m.encoded[:0], text)
	} else {
		m.encoded = m.coding.Append(m.encoded[:0], text)
	}
	_, err := m.to.Write(m.encoded)
	m.to = nil
	if m.text.Reset(); m.text.Cap() > maxKept {
		m.text, m.encoded = bytes.Buffer{}, nil
	}
	uncompressed.Put(m)
	return err
}

// store appends a short text in the format of gzip or zstd without compressing it.
func store(c httpbody.Coding, dst, text []byte) []byte {
	n := len(text)
	if c == httpbody.Gzip {
		// RFC 1952, section 2.3: deflate, no flags, no time, no system; then one
		// block that is the last and stored (RFC 1951, section 3.2.4).
		dst = append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))  //nolint:gosec // less than MinSize
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(n)) //nolint:gosec // as above
		dst = append(dst, text...)
		dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(text))
		return binary.LittleEndian.AppendUint32(dst, uint32(n)) //nolint:gosec // as above
	}
	// RFC 8878, section 3.1.1: a frame of one segment and without a checksum, with its
	// size in one byte or, less 256, in two; then one raw block that is the last.
	dst = binary.LittleEndian.AppendUint32(dst, 0xfd2fb528)
	if n < 256 {
		dst = append(dst, 0x20, byte(n))
	} else {
		dst = append(dst, 0x60)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n-256)) //nolint:gosec // as above
	}
	block := n<<3 | 1
	dst = append(dst, byte(block), byte(block>>8), byte(block>>16)) //nolint:gosec // 24 bits
	return append(dst, text...)
}
