package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"mime"
	"strconv"
	"strings"

	"github.com/everywire/everywire/wire/internal/stream"
)

// Bounds of a header block. Peers send one or two fields of some 20 bytes.
const (
	maxHeaderBytes  = 4 << 10
	maxHeaderFields = 16
)

// A headerFramer reads messages that have a block of header fields before
// them, as the base protocol of the Language Server Protocol (3.17) describes
// it: lines that end with CR LF, an empty line, then as many bytes as
// Content-Length says. Lines that end with LF alone are taken too, and empty
// lines before a block.
type headerFramer struct {
	limit int // of a message; 0 for none

	line      int // where the current line begins
	pos       int // how much of the line has been looked at
	fields    int
	length    int
	hasLength bool
	done      bool // the block has ended: the message begins at line
	// contentType is the last that was found good: peers send the same with each
	// message.
	contentType string
}

// A headerError says what is wrong with a header block.
type headerError struct{ what string }

func (e *headerError) Error() string { return "message header: " + e.what }

func headerErrorf(format string, args ...any) error {
	return &headerError{fmt.Sprintf(format, args...)}
}

// Next is [stream.Framer]'s. The error is a *headerError or a
// *[stream.TooLargeError].
func (f *headerFramer) Next(buf []byte) (from, to int, err error) {
	start := 0
	if f.pos == 0 {
		for start < len(buf) && (buf[start] == '\r' || buf[start] == '\n') {
			start++
		}
	}
	for !f.done {
		rest := buf[start+f.pos:]
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			f.pos += len(rest)
		} else {
			i += f.pos
		}
		if max(i, f.pos) > maxHeaderBytes {
			return 0, 0, headerErrorf("longer than %d bytes", maxHeaderBytes)
		}
		if i < 0 {
			return start, 0, nil
		}
		line := bytes.TrimSuffix(buf[start+f.line:start+i], []byte{'\r'})
		f.line, f.pos = i+1, i+1
		if err := f.field(line); err != nil {
			return 0, 0, err
		}
	}
	from = start + f.line
	if len(buf)-from < f.length {
		return start, 0, nil
	}
	to = from + f.length
	*f = headerFramer{limit: f.limit, contentType: f.contentType}
	return from, to, nil
}

// field takes one line of the block, without its end.
func (f *headerFramer) field(line []byte) error {
	if len(line) == 0 {
		switch f.done = true; {
		case !f.hasLength:
			return headerErrorf("there is no Content-Length")
		case f.limit > 0 && f.length > f.limit:
			return &stream.TooLargeError{Limit: f.limit}
		}
		return nil
	}
	if f.fields++; f.fields > maxHeaderFields {
		return headerErrorf("more than %d fields", maxHeaderFields)
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || !isToken(name) {
		return headerErrorf("%q is no field", excerpt(line))
	}
	value = bytes.Trim(value, " \t")
	switch {
	case equalFold(name, "content-length"):
		return f.readLength(value)
	case equalFold(name, "content-type"):
		return f.readType(value)
	}
	return nil
}

func (f *headerFramer) readLength(value []byte) error {
	if f.hasLength {
		return headerErrorf("Content-Length appears twice")
	}
	n, err := strconv.ParseUint(string(value), 10, 62)
	if err != nil {
		return headerErrorf("Content-Length %q is no length", excerpt(value))
	}
	f.length, f.hasLength = int(min(n, math.MaxInt/2)), true //nolint:gosec // bounded
	return nil
}

// readType checks that the message is UTF-8. The type itself is not looked at:
// peers write application/vscode-jsonrpc, application/json and others.
func (f *headerFramer) readType(value []byte) error {
	if string(value) == f.contentType {
		return nil
	}
	_, params, err := mime.ParseMediaType(string(value))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return headerErrorf("Content-Type %q is malformed", excerpt(value))
	}
	// "utf8" is what some clients of the Language Server Protocol say; it asks
	// servers to take it.
	if charset := strings.ToLower(params["charset"]); charset != "" && charset != "utf-8" && charset != "utf8" {
		return headerErrorf("the charset %q is not supported, only utf-8", charset)
	}
	f.contentType = string(value)
	return nil
}

// equalFold compares a field's name with one in lower case.
func equalFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if c|0x20 != lower[i] { // '-' has that bit already
			return false
		}
	}
	return true
}

// isToken reports whether name may be the name of a field (RFC 9110, section
// 5.6.2).
func isToken(name []byte) bool {
	for _, c := range name {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return len(name) > 0
}
