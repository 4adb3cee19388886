package http1

import (
	"bytes"
	"io"
	"math"
	"net/http"
)

// What chunks may cost beside their data. Those of honest clients have a few
// bytes each.
const (
	maxChunkLine  = 256      // the size and its extensions
	maxChunkWaste = 16 << 10 // what lines have in excess of 16 bytes and their data, together
	maxTrailers   = 16 << 10 // all lines of the trailer section
)

// chunkState is where the reader of a chunked body is (RFC 9112, section 7.1).
type chunkState struct {
	begun bool // a chunk's data has been read, and CRLF must follow
	waste int
}

var crlf, lastChunk = []byte("\r\n"), []byte("\r\n0\r\n\r\n")

// nextChunk goes to the next byte of data if it is not there. After the last
// chunk it reads the trailer section and returns io.EOF.
func (b *body) nextChunk() error {
	if b.left > 0 {
		return nil
	}
	if b.chunks.begun {
		if err := b.endOfChunk(); err != nil {
			return err
		}
	}
	line, err := b.line(maxChunkLine)
	if err != nil {
		return err
	}
	size, err := parseChunkLine(line)
	if err != nil {
		return err
	}
	b.left, b.chunks.begun = size, true
	b.chunks.waste = max(0, b.chunks.waste+len(line)-16-int(min(size, maxChunkWaste)))
	switch {
	case b.chunks.waste > maxChunkWaste:
		return malformed("the chunks of the body have too much beside their data")
	case size > 0:
		return nil
	}
	return b.trailers()
}

// endOfChunk skips what stands behind a chunk's data.
func (b *body) endOfChunk() error {
	c := b.c
	for c.w-c.r < len(crlf) {
		if err := b.fill(); err != nil {
			return err
		}
	}
	switch {
	case c.in[c.r] == '\n':
		return malformed("a chunk of the body ends without a carriage return")
	case !bytes.HasPrefix(c.in[c.r:c.w], crlf):
		return malformed("a chunk of the body is longer than it says")
	}
	c.r += len(crlf)
	return nil
}

// atLastChunk skips the end of the body if it is in the buffer, behind data, so
// that a reader knows with the last data that it is the last.
func (b *body) atLastChunk() bool {
	c := b.c
	if !bytes.HasPrefix(c.in[c.r:c.w], lastChunk) {
		return false
	}
	c.r += len(lastChunk)
	return true
}

// line reads a line of up to limit bytes, its end included. It returns it
// without the end.
func (b *body) line(limit int) ([]byte, error) {
	c := b.c
	for from := 0; ; {
		unread := c.in[c.r:c.w]
		if i := bytes.IndexByte(unread[from:], '\n'); i >= 0 {
			i += from
			switch {
			case i == 0 || unread[i-1] != '\r':
				return nil, malformed("a line between the chunks of the body ends without a carriage return")
			case i >= limit:
				return nil, malformed("a line between the chunks of the body is longer than %d bytes", limit)
			}
			c.r += i + 1
			return unread[:i-1], nil
		}
		if from = len(unread); from >= limit {
			return nil, malformed("a line between the chunks of the body is longer than %d bytes", limit)
		}
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

// parseChunkLine reads a size in hexadecimal digits, and nothing else but
// extensions, which mean nothing here.
func parseChunkLine(line []byte) (int64, error) {
	var size int64
	i := 0
	for ; i < len(line); i++ {
		d := hexDigit(line[i])
		if d < 0 {
			break
		}
		if size > (math.MaxInt64-15)/16 || i == 16 {
			return 0, malformed("the size of a chunk of the body is too large: %s", show(string(line)))
		}
		size = 16*size + int64(d)
	}
	if i == 0 || i < len(line) && line[i] != ';' {
		return 0, malformed("the size of a chunk of the body is not a hexadecimal number: %s", show(string(line)))
	}
	for _, b := range line[i:] {
		if classes[b]&valueByte == 0 {
			return 0, malformed("an extension of a chunk of the body has a control character: %s", show(string(line)))
		}
	}
	return size, nil
}

func hexDigit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

// trailers reads the trailer section into the request (RFC 9112, section 7.1.2).
func (b *body) trailers() error {
	for room, fields := maxTrailers, 0; ; fields++ {
		line, err := b.line(room)
		switch {
		case err != nil:
			return err
		case len(line) == 0:
			return io.EOF
		case fields == maxFields:
			return malformed("the body has more than %d trailers", maxFields)
		}
		room = max(2, room-len(line)-2)
		name, value, no := parseField(string(line))
		if no != nil {
			return no
		}
		if !mayTrail(name) {
			return malformed("the field %s cannot come behind the body", show(name))
		}
		r := &b.x.req
		if r.Trailer == nil {
			r.Trailer = http.Header{}
		}
		r.Trailer[name] = append(r.Trailer[name], value)
	}
}
