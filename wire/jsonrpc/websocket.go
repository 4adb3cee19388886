package jsonrpc

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/everywire/everywire/wire/internal/stream"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// A webSocketSession is a session of JSON-RPC whose messages are those of a
// WebSocket (RFC 6455), at either end. The frames are read and written by the
// engine: a WebSocket library would own the connection, and could not go on
// reading after a deadline.
type webSocketSession struct {
	stream.Session // gets the messages
	framer         websocket.Framer
	conn           *stream.Conn
	server         bool

	peerCode []byte      // of the close frame that has come; nil if none has
	parted   atomic.Bool // a close frame is sent
}

// newWebSocketSession makes the session of a connection on which the handshake
// is done.
func newWebSocketSession(c *stream.Conn, inner stream.Session, server bool, limit int) *webSocketSession {
	s := &webSocketSession{Session: inner, conn: c, server: server}
	s.framer = websocket.Framer{Masked: server, Limit: limit, Control: s.control}
	return s
}

// Next is [stream.Session]'s.
func (s *webSocketSession) Next(buf []byte) (from, to int, err error) {
	from, to, err = s.framer.Next(buf)
	if long, ok := err.(*websocket.TooLargeError); ok { //nolint:errorlint // Next returns it as it is
		err = &stream.TooLargeError{Limit: long.Limit} // which the engine knows
	}
	return from, to, err
}

// maxPongs is how many bytes may wait to be written before pings are no longer
// answered.
const maxPongs = 1 << 20

// control does what a control frame asks for. The error after a close frame is
// io.EOF, which is the clean end of a connection.
func (s *webSocketSession) control(opcode byte, payload []byte) error {
	switch opcode {
	case websocket.Ping:
		queued := s.conn.Post(func(dst []byte) []byte { return s.appendControl(dst, websocket.Pong, payload) })
		if queued > maxPongs {
			return &websocket.Error{Code: websocket.ClosePolicy, What: "the peer sends pings and does not read"}
		}
	case websocket.Close:
		if err := websocket.CheckClose(payload); err != nil {
			return err
		}
		s.peerCode = append([]byte{}, payload[:min(2, len(payload))]...)
		return io.EOF
	}
	return nil // nobody here sends pings, so a pong is what section 5.5.3 calls unsolicited
}

func (s *webSocketSession) appendControl(dst []byte, opcode byte, payload []byte) []byte {
	start := len(dst)
	return websocket.Wrap(append(dst, payload...), start, opcode, !s.server)
}

// RouteTooLong is [stream.Session]'s. A server is told the length before there
// is anything of a message to look at.
func (s *webSocketSession) RouteTooLong(head []byte) (id uint32, ok bool) {
	if s.server {
		return 0, false
	}
	// The engine has the message without its header if all of it came at once. No
	// JSON begins as the header of a data frame.
	if size, ok := websocket.DataHeader(head); ok {
		head = head[size:]
	}
	return s.Session.RouteTooLong(head)
}

// Goodbye is [stream.Parting]'s: the close frame. After one of the peer's it has
// the same status code.
func (s *webSocketSession) Goodbye(err error, dst []byte) []byte {
	code, reason := uint16(websocket.ClosePolicy), ""
	var wrong *websocket.Error
	var long *stream.TooLargeError
	switch {
	case err == nil && s.server:
		code = websocket.CloseGoingAway
	case err == nil:
		code = websocket.CloseNormal
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF) && s.peerCode == nil:
		return dst // the peer has closed the connection without a word
	case errors.Is(err, io.EOF):
	case errors.As(err, &wrong):
		code, reason = wrong.Code, wrong.What
	case errors.As(err, &long):
		code, reason = websocket.CloseTooBig, err.Error()
	default:
		reason = err.Error()
	}
	if s.parted.Swap(true) {
		return dst
	}
	if errors.Is(err, io.EOF) {
		return s.appendControl(dst, websocket.Close, s.peerCode)
	}
	return s.appendControl(dst, websocket.Close, websocket.ClosePayload(code, reason))
}
