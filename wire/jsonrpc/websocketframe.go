package jsonrpc

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/everywire/everywire/wire/internal/stream"
)

// The opcodes of RFC 6455, section 5.2.
const (
	opContinuation = 0x0
	opText         = 0x1
	opBinary       = 0x2
	opClose        = 0x8 // and those above are control frames
	opPing         = 0x9
	opPong         = 0xa
)

// The status codes of RFC 6455, section 7.4.1, that this package sends.
const (
	closeNormal    = 1000
	closeGoingAway = 1001
	closeProtocol  = 1002
	closeNotUTF8   = 1007
	closePolicy    = 1008
	closeTooBig    = 1009
)

// maxControl is the longest payload of a control frame (section 5.5).
const maxControl = 125

// A webSocketError is what the peer did wrong, with the status code that tells
// it so.
type webSocketError struct {
	code uint16
	what string
}

func (e *webSocketError) Error() string { return "WebSocket: " + e.what }

func protocolErrorf(format string, args ...any) error {
	return &webSocketError{closeProtocol, fmt.Sprintf(format, args...)}
}

// A webSocketHeader is the header of one frame.
type webSocketHeader struct {
	fin    bool
	opcode byte
	size   int // of the header; 0 if it is not complete
	length int // of the payload
	key    uint32
}

// A webSocketFramer is the [stream.Framer] of a WebSocket. Its frames are whole
// messages without headers.
//
// The fragments of a message stay in the engine's buffer. The payload of each
// is moved up to the one before it, over its header and the control frames
// between; when the last is there, the whole is moved to where that ends, since
// the engine's frame must end where consumption does. Each byte is moved twice
// at most. That the fragments are unread bytes to the engine has its reason: its
// limit of a frame, and its timeout for one that stands still, hold for the
// message, be it cut into as many fragments as it may.
type webSocketFramer struct {
	// masked is set if frames must come masked, which is so at a server.
	masked bool
	limit  int // of a message; 0 leaves it to the engine
	// control is given control frames when they come. Its error ends the
	// connection.
	control func(opcode byte, payload []byte) error

	pos   int  // where the next frame's header begins
	begun bool // a message has begun: its first frame is at first, its payload is buf[start:end]
	text  bool
	first int
	start int
	end   int
}

// Next is [stream.Framer]'s. The error is a *webSocketError, a
// *[stream.TooLargeError] or control's.
func (f *webSocketFramer) Next(buf []byte) (from, to int, err error) {
	for {
		h, err := f.header(buf[f.pos:])
		if err != nil {
			return 0, 0, err
		}
		at := f.pos + h.size
		if h.size == 0 || len(buf)-at < h.length {
			return f.wait(), 0, nil
		}
		payload := buf[at : at+h.length]
		if f.masked {
			mask(payload, h.key)
		}
		switch {
		case h.opcode >= opClose:
			if err := f.control(h.opcode, payload); err != nil {
				return 0, 0, err
			}
			f.pos = at + h.length
			continue
		case f.begun:
			f.end += copy(buf[f.end:], payload)
		default:
			f.begun, f.text, f.first = true, h.opcode == opText, f.pos
			f.start, f.end = at, at+h.length
		}
		f.pos = at + h.length
		if h.fin {
			return f.message(buf)
		}
	}
}

// wait drops what is done with, and nothing of a message that has begun, so
// that the connection is not taken for an idle one.
func (f *webSocketFramer) wait() (from int) {
	if !f.begun {
		from = f.pos
		f.pos = 0
		return from
	}
	from = f.first
	f.first = 0
	f.pos, f.start, f.end = f.pos-from, f.start-from, f.end-from
	return from
}

// message ends a message with the frame that ends at pos.
func (f *webSocketFramer) message(buf []byte) (from, to int, err error) {
	from, to = f.pos-(f.end-f.start), f.pos
	copy(buf[from:to], buf[f.start:f.end])
	if f.text && !utf8.Valid(buf[from:to]) {
		return 0, 0, &webSocketError{closeNotUTF8, "a text message is not UTF-8"}
	}
	*f = webSocketFramer{masked: f.masked, limit: f.limit, control: f.control}
	return from, to, nil
}

// header reads a frame's header and checks it against section 5.2 and what came
// before. What is wrong with a part of it is found when that part is there.
func (f *webSocketFramer) header(b []byte) (h webSocketHeader, err error) {
	if len(b) < 2 {
		return h, nil
	}
	h.fin, h.opcode = b[0]&0x80 != 0, b[0]&0x0f
	length := uint64(b[1] & 0x7f)
	switch {
	case b[0]&0x70 != 0:
		return h, protocolErrorf("a frame has reserved bits (%#02x), and no extension was agreed on", b[0])
	case h.opcode > opPong || h.opcode > opBinary && h.opcode < opClose:
		return h, protocolErrorf("the opcode %#x is not known", h.opcode)
	case f.masked && b[1]&0x80 == 0:
		return h, protocolErrorf("a client's frame is not masked")
	case !f.masked && b[1]&0x80 != 0:
		return h, protocolErrorf("a server's frame is masked")
	case h.opcode >= opClose && !h.fin:
		return h, protocolErrorf("a control frame (%#x) is fragmented", h.opcode)
	case h.opcode >= opClose && length > maxControl:
		return h, protocolErrorf("a control frame (%#x) is longer than %d bytes", h.opcode, maxControl)
	case h.opcode == opContinuation && !f.begun:
		return h, protocolErrorf("a continuation of nothing")
	case (h.opcode == opText || h.opcode == opBinary) && f.begun:
		return h, protocolErrorf("a message begins within another one's fragments")
	}
	size := 2
	switch {
	case length == 126 && len(b) >= 4:
		length, size = uint64(binary.BigEndian.Uint16(b[2:])), 4
		if length < 126 {
			return h, protocolErrorf("the length %d is written in 16 bits", length)
		}
	case length == 127 && len(b) >= 10:
		length, size = binary.BigEndian.Uint64(b[2:]), 10
		if length <= math.MaxUint16 || length > math.MaxInt64 {
			return h, protocolErrorf("the length %d is written in 64 bits", length)
		}
	case length >= 126:
		return h, nil
	}
	const most = math.MaxInt / 4 // positions in the buffer must not overflow
	limit := most
	if f.limit > 0 {
		limit = min(limit, f.limit)
	}
	if h.opcode < opClose && length > uint64(limit-min(limit, f.end-f.start)) { //nolint:gosec // not negative
		return h, &stream.TooLargeError{Limit: limit}
	}
	if f.masked {
		if len(b) < size+4 {
			return h, nil
		}
		h.key = binary.LittleEndian.Uint32(b[size:])
		size += 4
	}
	h.size, h.length = size, int(length) //nolint:gosec // bounded by limit
	return h, nil
}

// mask masks b, or takes the mask off (section 5.3). The key is as four bytes in
// little endian.
func mask(b []byte, key uint32) {
	wide := uint64(key)<<32 | uint64(key)
	for ; len(b) >= 32; b = b[32:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
		binary.LittleEndian.PutUint64(b[8:], binary.LittleEndian.Uint64(b[8:])^wide)
		binary.LittleEndian.PutUint64(b[16:], binary.LittleEndian.Uint64(b[16:])^wide)
		binary.LittleEndian.PutUint64(b[24:], binary.LittleEndian.Uint64(b[24:])^wide)
	}
	for ; len(b) >= 8; b = b[8:] {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
	}
	for i := range b {
		b[i] ^= byte(wide >> (8 * i)) //nolint:gosec // one byte of it
	}
}

// wrapWebSocket makes dst[start:] an unfragmented frame. What a client sends is
// masked, with a key that nobody can foresee: section 10.3 has the reason.
func wrapWebSocket(dst []byte, start int, opcode byte, masked bool) []byte {
	var room [14]byte
	n := len(dst) - start
	head := append(room[:0], 0x80|opcode)
	switch {
	case n < 126:
		head = append(head, byte(n))
	case n <= math.MaxUint16:
		head = binary.BigEndian.AppendUint16(append(head, 126), uint16(n))
	default:
		head = binary.BigEndian.AppendUint64(append(head, 127), uint64(n))
	}
	if !masked {
		return insert(dst, start, head)
	}
	head[1] |= 0x80
	head = append(head, 0, 0, 0, 0)
	dst = insert(dst, start, head)
	payload := start + len(head)
	key := dst[payload-4 : payload]
	_, _ = rand.Read(key) // never fails
	mask(dst[payload:], binary.LittleEndian.Uint32(key))
	return dst
}
