package jsonrpc

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/everywire/everywire/wire/internal/stream"
)

// A webSocketSession is a session of JSON-RPC whose messages are those of a
// WebSocket (RFC 6455), at either end. The frames are read and written by the
// engine: a WebSocket library would own the connection, and could not go on
// reading after a deadline.
type webSocketSession struct {
	stream.Session // gets the messages
	framer         webSocketFramer
	conn           *stream.Conn
	server         bool

	peerCode []byte      // of the close frame that has come; nil if none has
	parted   atomic.Bool // a close frame is sent
}

// newWebSocketSession makes the session of a connection on which the handshake
// is done.
func newWebSocketSession(c *stream.Conn, inner stream.Session, server bool, limit int) *webSocketSession {
	s := &webSocketSession{Session: inner, conn: c, server: server}
	s.framer = webSocketFramer{masked: server, limit: limit, control: s.control}
	return s
}

// Next is [stream.Session]'s.
func (s *webSocketSession) Next(buf []byte) (from, to int, err error) { return s.framer.Next(buf) }

// maxPongs is how many bytes may wait to be written before pings are no longer
// answered.
const maxPongs = 1 << 20

// control does what a control frame asks for. The error after a close frame is
// io.EOF, which is the clean end of a connection.
func (s *webSocketSession) control(opcode byte, payload []byte) error {
	switch opcode {
	case opPing:
		queued := s.conn.Post(func(dst []byte) []byte { return s.appendControl(dst, opPong, payload) })
		if queued > maxPongs {
			return &webSocketError{closePolicy, "the peer sends pings and does not read"}
		}
	case opClose:
		if err := checkClose(payload); err != nil {
			return err
		}
		s.peerCode = append([]byte{}, payload[:min(2, len(payload))]...)
		return io.EOF
	}
	return nil // nobody here sends pings, so a pong is what section 5.5.3 calls unsolicited
}

// checkClose checks the payload of a close frame (sections 5.5.1 and 7.4): none,
// or a status code, and perhaps a reason.
func checkClose(payload []byte) error {
	if len(payload) == 0 {
		return nil
	}
	if len(payload) == 1 {
		return protocolErrorf("a close frame has one byte")
	}
	code := binary.BigEndian.Uint16(payload)
	switch {
	case code >= 3000 && code <= 4999:
	case code < closeNormal, code > 1014, code >= 1004 && code <= 1006:
		return protocolErrorf("a close frame has the status code %d", code)
	}
	if !utf8.Valid(payload[2:]) {
		return &webSocketError{closeNotUTF8, "the reason of a close frame is not UTF-8"}
	}
	return nil
}

func (s *webSocketSession) appendControl(dst []byte, opcode byte, payload []byte) []byte {
	start := len(dst)
	return wrapWebSocket(append(dst, payload...), start, opcode, !s.server)
}

// RouteTooLong is [stream.Session]'s. A server is told the length before there
// is anything of a message to look at.
func (s *webSocketSession) RouteTooLong(head []byte) (id uint32, ok bool) {
	if s.server {
		return 0, false
	}
	// The engine has the message without its header if all of it came at once. No
	// JSON begins as the header of a data frame.
	if h, err := (&webSocketFramer{}).header(head); err == nil {
		head = head[h.size:]
	}
	return s.Session.RouteTooLong(head)
}

// Goodbye is [stream.Parting]'s: the close frame. After one of the peer's it has
// the same status code.
func (s *webSocketSession) Goodbye(err error, dst []byte) []byte {
	code, reason := uint16(closePolicy), ""
	var wrong *webSocketError
	var long *stream.TooLargeError
	switch {
	case err == nil && s.server:
		code = closeGoingAway
	case err == nil:
		code = closeNormal
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF) && s.peerCode == nil:
		return dst // the peer has closed the connection without a word
	case errors.Is(err, io.EOF):
	case errors.As(err, &wrong):
		code, reason = wrong.code, wrong.what
	case errors.As(err, &long):
		code, reason = closeTooBig, err.Error()
	default:
		reason = err.Error()
	}
	if s.parted.Swap(true) {
		return dst
	}
	if errors.Is(err, io.EOF) {
		return s.appendControl(dst, opClose, s.peerCode)
	}
	payload := binary.BigEndian.AppendUint16(nil, code)
	reason = strings.ToValidUTF8(reason[:min(len(reason), maxControl-len(payload))], "")
	return s.appendControl(dst, opClose, append(payload, reason...))
}
