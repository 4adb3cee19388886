package websocket

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// A header is the header of one frame.
type header struct {
	fin    bool
	opcode byte
	size   int // of the header; 0 if it is not complete
	length int // of the payload
	key    uint32
}

// A Framer finds the messages of a WebSocket in a buffer that its owner reads
// into; what it gives are whole messages without headers.
//
// The fragments of a message stay in the buffer. The payload of each is moved up
// to the one before it, over its header and the control frames between; when the
// last is there, the whole is moved to where that ends, since a message must end
// where consumption does. Each byte is moved twice at most. That the fragments
// are unread bytes to the owner has its reason: its limit of a frame, and its
// timeout for one that stands still, hold for the message, be it cut into as many
// fragments as it may.
type Framer struct {
	// Masked is set if frames must come masked, which is so at a server.
	Masked bool
	Limit  int // of a message; 0 leaves it to the owner
	// Control is given control frames when they come. Its error ends the
	// connection.
	Control func(opcode byte, payload []byte) error

	pos   int  // where the next frame's header begins
	begun bool // a message has begun: its first frame is at first, its payload is buf[start:end]
	text  bool // the message, or the last one that was found
	first int
	start int
	end   int
}

// Next finds the first message in buf, which begins where consumption has ended:
// it is buf[from:to], and then to is consumed. If there is none yet to is 0, and
// from may be consumed. The error is an *[Error], a *[TooLargeError] or that of
// Control.
func (f *Framer) Next(buf []byte) (from, to int, err error) {
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
		if f.Masked {
			Mask(payload, h.key)
		}
		switch {
		case h.opcode >= Close:
			if err := f.Control(h.opcode, payload); err != nil {
				return 0, 0, err
			}
			f.pos = at + h.length
			continue
		case f.begun:
			f.end += copy(buf[f.end:], payload)
		default:
			f.begun, f.text, f.first = true, h.opcode == Text, f.pos
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
func (f *Framer) wait() (from int) {
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
func (f *Framer) message(buf []byte) (from, to int, err error) {
	from, to = f.pos-(f.end-f.start), f.pos
	copy(buf[from:to], buf[f.start:f.end])
	if f.text && !utf8.Valid(buf[from:to]) {
		return 0, 0, &Error{CloseNotUTF8, "a text message is not UTF-8"}
	}
	f.begun, f.pos, f.first, f.start, f.end = false, 0, 0, 0, 0
	return from, to, nil
}

// header reads a frame's header and checks it against section 5.2 and what came
// before. What is wrong with a part of it is found when that part is there.
func (f *Framer) header(b []byte) (h header, err error) {
	if len(b) < 2 {
		return h, nil
	}
	h.fin, h.opcode = b[0]&0x80 != 0, b[0]&0x0f
	length := uint64(b[1] & 0x7f)
	switch {
	case b[0]&0x70 != 0:
		return h, protocolErrorf("a frame has reserved bits (%#02x), and no extension was agreed on", b[0])
	case h.opcode > Pong || h.opcode > Binary && h.opcode < Close:
		return h, protocolErrorf("the opcode %#x is not known", h.opcode)
	case f.Masked && b[1]&0x80 == 0:
		return h, protocolErrorf("a client's frame is not masked")
	case !f.Masked && b[1]&0x80 != 0:
		return h, protocolErrorf("a server's frame is masked")
	case h.opcode >= Close && !h.fin:
		return h, protocolErrorf("a control frame (%#x) is fragmented", h.opcode)
	case h.opcode >= Close && length > MaxControl:
		return h, protocolErrorf("a control frame (%#x) is longer than %d bytes", h.opcode, MaxControl)
	case h.opcode == Continuation && !f.begun:
		return h, protocolErrorf("a continuation of nothing")
	case (h.opcode == Text || h.opcode == Binary) && f.begun:
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
	if f.Limit > 0 {
		limit = min(limit, f.Limit)
	}
	if h.opcode < Close && length > uint64(limit-min(limit, f.end-f.start)) { //nolint:gosec // not negative
		return h, &TooLargeError{limit}
	}
	if f.Masked {
		if len(b) < size+4 {
			return h, nil
		}
		h.key = binary.LittleEndian.Uint32(b[size:])
		size += 4
	}
	h.size, h.length = size, int(length) //nolint:gosec // bounded by limit
	return h, nil
}

// IsText reports the kind of the message that Next found last.
func (f *Framer) IsText() bool { return f.text }

// DataHeader returns the length of the header that b begins with, if it is the
// whole header of a data frame that is not masked.
func DataHeader(b []byte) (size int, ok bool) {
	h, err := new(Framer).header(b)
	return h.size, err == nil && h.size > 0
}
