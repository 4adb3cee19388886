package roundtrip

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// response makes a response whose body reads from the connection, with the
// framing of RFC 9112, section 6.3.
func (c *conn) response(r *http.Request, head string, written bool, writing <-chan error, release func() bool) (*http.Response, error) {
	res, err := parseHead(head)
	if err != nil {
		return nil, err
	}
	res.Request = r
	b := &body{conn: c, response: res, writing: writing, release: release}
	b.reuse = written && c.transport.MaxIdle > 0 && res.ProtoMinor == 1 && !httpguts.HeaderValuesContainsToken(res.Header["Connection"], "close")
	length := res.Header["Content-Length"]
	switch coding := res.Header["Transfer-Encoding"]; {
	case r.Method == http.MethodHead || res.StatusCode < 200 || res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotModified:
		res.ContentLength = 0
		if n, err := parseLength(length); err == nil {
			res.ContentLength = n // of what would have been sent
		}
		b.reuse = b.reuse && res.StatusCode >= 200
	case len(coding) > 0:
		if len(coding) > 1 || !strings.EqualFold(coding[0], "chunked") {
			return nil, fmt.Errorf("the response has the transfer coding %q: only chunked is known", strings.Join(coding, ", "))
		}
		b.reuse = b.reuse && length == nil
		b.chunked = true
		res.ContentLength = -1
		res.TransferEncoding = []string{"chunked"}
	case length != nil:
		n, err := parseLength(length)
		if err != nil {
			return nil, err
		}
		res.ContentLength, b.left = n, n
	default:
		res.ContentLength, b.toEnd, b.reuse = -1, true, false
	}
	if !b.chunked && !b.toEnd && b.left == 0 {
		b.finish()
		res.Body = http.NoBody
		return res, nil
	}
	res.Body = b
	return res, nil
}

// parseLength reads Content-Length. Several must be the same (RFC 9110, section
// 8.6).
func parseLength(values []string) (int64, error) {
	if len(values) == 0 {
		return 0, errors.New("the response has no length")
	}
	first := ""
	for i, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part = strings.Trim(part, " \t")
			if i == 0 && first == "" {
				first = part
			}
			if part != first || part == "" {
				return 0, fmt.Errorf("the response has the lengths %q", values)
			}
		}
	}
	n, err := strconv.ParseUint(first, 10, 63)
	if err != nil || first[0] == '+' {
		return 0, fmt.Errorf("the response has the length %q", first)
	}
	return int64(n), nil
}

// A body reads a response's body from its connection.
type body struct {
	conn     *conn
	response *http.Response
	writing  <-chan error // of the request's body, nil if it was written before
	release  func() bool
	reuse    bool // the connection can be used again

	chunked bool
	toEnd   bool  // it ends with the connection
	left    int64 // of the body, or of the chunk
	within  bool  // a chunk has begun
	err     error // io.EOF at the end
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n, err := b.read(p)
	if err != nil {
		b.fail(err)
	}
	return n, b.endOf(n)
}

// endOf is the error that Read returns with n bytes: none, as long as there are
// any, but for the end, which spares the reader a call.
func (b *body) endOf(n int) error {
	if n > 0 && b.err != io.EOF { //nolint:errorlint // it is stored as it is
		return nil
	}
	return b.err
}

func (b *body) read(p []byte) (int, error) {
	if b.chunked && b.left == 0 {
		if err := b.nextChunk(); err != nil {
			return 0, err
		}
		if b.left == 0 {
			return 0, nil // it was the last
		}
	}
	if !b.toEnd && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	c := b.conn
	var n int
	if c.r < c.w {
		n = copy(p, c.in[c.r:c.w])
		c.r += n
	} else {
		var err error
		if n, err = c.Read(p); n == 0 {
			if err == io.EOF && b.toEnd { //nolint:errorlint // io.Reader promises io.EOF itself
				err = nil
				b.finish()
			}
			return 0, unexpected(err)
		}
	}
	if b.toEnd {
		return n, nil
	}
	if b.left -= int64(n); b.left == 0 && !b.chunked {
		b.finish()
	}
	return n, nil
}

func unexpected(err error) error {
	if err == io.EOF { //nolint:errorlint // io.Reader promises io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return err
}

// nextChunk reads the line that begins a chunk (RFC 9112, section 7.1), and the
// trailers after the last.
func (b *body) nextChunk() error {
	if b.within {
		if line, err := b.conn.readLine(); err != nil || line != "" {
			return malformedChunk(line, err)
		}
	}
	line, err := b.conn.readLine()
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(line, ";")
	size = strings.TrimRight(size, " \t")
	n, err := strconv.ParseUint(size, 16, 63)
	if err != nil || size[0] == '+' || strings.Contains(size, "_") {
		return malformedChunk(line, nil)
	}
	b.left, b.within = int64(n), true
	if n > 0 {
		return nil
	}
	var trailer strings.Builder
	for {
		line, err := b.conn.readLine()
		if err != nil {
			return err
		}
		trailer.WriteString(line)
		trailer.WriteByte('\n')
		if line == "" {
			break
		}
		if trailer.Len() > b.conn.transport.MaxHead {
			return errTooLong
		}
	}
	if trailer.Len() > 1 {
		if b.response.Trailer, err = parseFields(trailer.String()); err != nil {
			return err
		}
	}
	b.finish()
	return nil
}

func malformedChunk(line string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("the chunk line %.40q is malformed", line)
}

// maxLine bounds the lines between chunks.
const maxLine = 8 << 10

// readLine reads a line, without its end.
func (c *conn) readLine() (string, error) {
	for seen := 0; ; {
		unread := c.in[c.r:c.w]
		for i := seen; i < len(unread); i++ {
			if unread[i] == '\n' {
				c.r += i + 1
				return strings.TrimSuffix(string(unread[:i]), "\r"), nil
			}
		}
		if seen = len(unread); seen > maxLine {
			return "", errors.New("a line between chunks is too long")
		}
		if err := c.fill(maxLine + smallBuffer); err != nil {
			return "", unexpected(err)
		}
	}
}

// settle is how long the rest of a request may take to be written after its
// response was read.
const settle = 100 * time.Millisecond

// finish ends a body that was read whole.
func (b *body) finish() {
	b.err = io.EOF
	if b.writing != nil {
		// Most servers answer when they have read all. Of one that does not and does
		// not go on reading the connection is of no use.
		_ = b.conn.SetWriteDeadline(time.Now().Add(settle)) // fails only on a closed one
		err := <-b.writing
		b.writing = nil
		b.reuse = b.reuse && err == nil && b.conn.SetWriteDeadline(time.Time{}) == nil
	}
	b.conn.done(b.release() && b.reuse)
}

// giveUp closes the connection, and waits until nothing reads the request's
// body any more.
func (b *body) giveUp() {
	b.release()
	b.conn.close()
	if b.writing != nil {
		<-b.writing //nolint:errcheck // the call is over, whatever came of it
	}
}

func (b *body) fail(err error) {
	b.err = b.conn.transport.cause(b.response.Request.Context(), err)
	b.giveUp()
}

// Close gives up what is left of the body, and with it the connection.
func (b *body) Close() error {
	if b.err == nil {
		b.err = errors.New("the body is closed")
		b.giveUp()
	}
	return nil
}
