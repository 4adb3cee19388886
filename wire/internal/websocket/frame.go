package websocket

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The opcodes of RFC 6455, section 5.2.
const (
	Continuation = 0x0
	Text         = 0x1
	Binary       = 0x2
	Close        = 0x8 // and those above are control frames
	Ping         = 0x9
	Pong         = 0xa
)

// The status codes of RFC 6455, section 7.4.1, that this module sends. A
// protocol on top has 4000 to 4999 for its own.
const (
	CloseNormal    = 1000
	CloseGoingAway = 1001
	CloseProtocol  = 1002
	CloseNotUTF8   = 1007
	ClosePolicy    = 1008
	CloseTooBig    = 1009
)

// MaxControl is the longest payload of a control frame (section 5.5).
const MaxControl = 125

// An Error is what the peer did wrong, with the status code that tells it so.
type Error struct {
	Code uint16
	What string
}

func (e *Error) Error() string { return "WebSocket: " + e.What }

func protocolErrorf(format string, args ...any) error {
	return &Error{CloseProtocol, fmt.Sprintf(format, args...)}
}

// A TooLargeError is a message that is longer than the limit. It is found when
// its length has come.
type TooLargeError struct{ Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("WebSocket: a message is longer than the limit of %d bytes", e.Limit)
}

// Mask masks b, or takes the mask off (section 5.3). The key is as four bytes in
// little endian.
func Mask(b []byte, key uint32) {
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

// Wrap makes dst[start:] an unfragmented frame. What a client sends is
// masked, with a key that nobody can foresee: section 10.3 has the reason.
func Wrap(dst []byte, start int, opcode byte, masked bool) []byte {
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
	Mask(dst[payload:], binary.LittleEndian.Uint32(key))
	return dst
}

// insert puts head before dst[start:]. The length of a message is known only
// when it has been written; moving it is quicker than writing it twice.
func insert(dst []byte, start int, head []byte) []byte {
	end := len(dst)
	dst = append(dst, head...)
	copy(dst[start+len(head):], dst[start:end])
	copy(dst[start:], head)
	return dst
}

// CheckClose checks the payload of a close frame (sections 5.5.1 and 7.4): none,
// or a status code, and perhaps a reason.
func CheckClose(payload []byte) error {
	if len(payload) == 0 {
		return nil
	}
	if len(payload) == 1 {
		return protocolErrorf("a close frame has one byte")
	}
	code := binary.BigEndian.Uint16(payload)
	switch {
	case code >= 3000 && code <= 4999:
	case code < CloseNormal, code > 1014, code >= 1004 && code <= 1006:
		return protocolErrorf("a close frame has the status code %d", code)
	}
	if !utf8.Valid(payload[2:]) {
		return &Error{CloseNotUTF8, "the reason of a close frame is not UTF-8"}
	}
	return nil
}

// ClosePayload is what a close frame says; of the reason as much as fits.
func ClosePayload(code uint16, reason string) []byte {
	payload := binary.BigEndian.AppendUint16(nil, code)
	return append(payload, strings.ToValidUTF8(reason[:min(len(reason), MaxControl-len(payload))], "")...)
}
