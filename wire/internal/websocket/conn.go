package websocket

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
)

// A CloseError is the close frame with which the peer has ended the connection.
// Its code is 0 if it had none.
type CloseError struct {
	Code   uint16
	Reason string
}

func (e *CloseError) Error() string {
	switch {
	case e.Code == 0:
		return "WebSocket: closed by the peer"
	case e.Reason == "":
		return fmt.Sprintf("WebSocket: closed by the peer with %d", e.Code)
	}
	return fmt.Sprintf("WebSocket: closed by the peer with %d: %s", e.Code, e.Reason)
}

// A Conn is a WebSocket on which the handshake is done, for one goroutine that
// reads. What it writes, pongs, it gives to post: who writes to the connection is
// its owner's to say, so that no reader waits for a writer.
type Conn struct {
	raw    net.Conn
	server bool
	post   func(frame []byte) error
	framer Framer
	max    int // of unread bytes: a message and what its fragments' headers may add

	buf        []byte
	start, end int // the unread bytes of buf
}

// firstRead is the size of the first buffer.
const firstRead = 4 << 10

// NewConn makes one end of a WebSocket. limit bounds the messages that come in;
// post must not keep the frame, and its error ends the reading.
func NewConn(raw net.Conn, server bool, limit int, post func(frame []byte) error) *Conn {
	limit = min(limit, math.MaxInt/4)
	c := &Conn{raw: raw, server: server, post: post, max: limit + limit/4 + firstRead}
	c.framer = Framer{Masked: server, Limit: limit, Control: c.control}
	return c
}

// Wrap makes dst[start:] a frame of this end.
func (c *Conn) Wrap(dst []byte, start int, opcode byte) []byte {
	return Wrap(dst, start, opcode, !c.server)
}

// ReadMessage waits for a message; the slice is valid until the next call. The
// error is a *[CloseError], an *[Error] or *[TooLargeError] for what the peer
// did wrong, or the connection's: io.ErrUnexpectedEOF if it ended without a
// close frame.
func (c *Conn) ReadMessage() (text bool, message []byte, err error) {
	for {
		from, to, err := c.framer.Next(c.buf[c.start:c.end])
		switch {
		case err != nil:
			return false, nil, err
		case to > 0:
			message = c.buf[c.start+from : c.start+to]
			c.start += to
			return c.framer.IsText(), message, nil
		}
		c.start += from
		if err := c.fill(); err != nil {
			return false, nil, err
		}
	}
}

// fill reads more behind the unread bytes.
func (c *Conn) fill() error {
	if c.start == c.end {
		c.start, c.end = 0, 0
		if cap(c.buf) > 16*firstRead {
			c.buf = nil // that of a large message
		}
	}
	if c.end-c.start >= c.max {
		return &Error{ClosePolicy, "a message is in too many fragments"}
	}
	if c.end == len(c.buf) {
		unread := c.buf[c.start:c.end]
		if c.start == 0 || len(unread) > len(c.buf)/2 {
			c.buf = make([]byte, max(firstRead, min(2*len(unread), c.max)))
		}
		c.start, c.end = 0, copy(c.buf, unread)
	}
	n, err := c.raw.Read(c.buf[c.end:])
	c.end += n
	switch {
	case n > 0:
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

func (c *Conn) control(opcode byte, payload []byte) error {
	switch opcode {
	case Ping:
		return c.post(c.Wrap(append(make([]byte, 0, len(payload)+14), payload...), 0, Pong))
	case Close:
		if err := CheckClose(payload); err != nil {
			return err
		}
		closed := new(CloseError)
		if len(payload) >= 2 {
			closed.Code, closed.Reason = binary.BigEndian.Uint16(payload), string(payload[2:])
		}
		return closed
	}
	return nil // pongs answer the owner's pings, which only keep the connection in use
}

// Goodbye is the frame that ends a connection on which reading has ended with
// err: the answer to a close frame, or the reason; nil if the peer is gone.
func (c *Conn) Goodbye(err error) []byte {
	var closed *CloseError
	var wrong *Error
	var long *TooLargeError
	switch {
	case errors.As(err, &closed) && closed.Code == 0:
		return c.Wrap(nil, 0, Close)
	case errors.As(err, &closed):
		return c.CloseFrame(closed.Code, "")
	case errors.As(err, &wrong):
		return c.CloseFrame(wrong.Code, wrong.What)
	case errors.As(err, &long):
		return c.CloseFrame(CloseTooBig, err.Error())
	}
	return nil
}

// CloseFrame is a close frame of this end.
func (c *Conn) CloseFrame(code uint16, reason string) []byte {
	return c.Wrap(ClosePayload(code, reason), 0, Close)
}
