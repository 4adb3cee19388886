package jsonrpc

import (
	"fmt"
	"strconv"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// A framing is how messages are told apart on a stream. The names are those of
// the target's option.
type framing uint8

const (
	// framingLine: a line feed behind each message. Readers look for the end of
	// the JSON value, see [lineFramer].
	framingLine framing = iota
	// framingHeader: a block of header fields with Content-Length before each
	// message, as in the base protocol of the Language Server Protocol.
	framingHeader
	// framingNetstring: each message is a netstring, "2:{},".
	framingNetstring
	// framingConcat: one message behind the other. Read like lines; writers put
	// nothing between.
	framingConcat
	// framingDetect: the first byte of the connection says which of the first
	// three it is. For servers, which write in the framing that they read.
	framingDetect
	// framingWebSocket and framingWebSocketMasked are what the two ends of a
	// WebSocket write, the second one the client; they read by a
	// [webSocketSession]. They are no values of the option.
	framingWebSocket
	framingWebSocketMasked
)

var framingNames = [...]string{"line", "header", "netstring", "concat"}

// framingOf reads the option; without it the framing is def.
func framingOf(options rpc.Options, def framing) (framing, error) {
	v := options["framing"]
	if v == "" {
		return def, nil
	}
	for i, name := range framingNames {
		if v == name {
			return framing(i), nil
		}
	}
	return 0, fmt.Errorf("%s: unknown value %q of option framing; known: %q", wireName, v, framingNames)
}

// wrap makes the message at dst[start:] a frame. Header and message are one
// piece of dst, so they are written together.
func (f framing) wrap(dst []byte, start int) []byte {
	var room [len(contentLength) + 32]byte
	n := int64(len(dst) - start)
	switch f {
	case framingConcat:
		return dst
	case framingWebSocket, framingWebSocketMasked:
		return websocket.Wrap(dst, start, websocket.Text, f == framingWebSocketMasked)
	case framingHeader:
		head := append(strconv.AppendInt(append(room[:0], contentLength...), n, 10), "\r\n\r\n"...)
		return insert(dst, start, head)
	case framingNetstring:
		return append(insert(dst, start, append(strconv.AppendInt(room[:0], n, 10), ':')), ',')
	}
	return append(dst, '\n')
}

const contentLength = "Content-Length: "

// insert puts head before dst[start:]. The length of a message is known only
// when it has been written; moving it is quicker than writing it twice.
func insert(dst []byte, start int, head []byte) []byte {
	end := len(dst)
	dst = append(dst, head...)
	copy(dst[start+len(head):], dst[start:end])
	copy(dst[start:], head)
	return dst
}

// A deframer is the [stream.Framer] of one connection, whatever its framing.
type deframer struct {
	framing   framing
	line      lineFramer
	header    headerFramer
	netstring netstringFramer
}

// newDeframer makes a deframer. limit bounds the messages whose length stands
// before them; 0 leaves that to the engine.
func newDeframer(f framing, limit int) deframer {
	return deframer{framing: f, header: headerFramer{limit: limit}, netstring: netstringFramer{limit: limit}}
}

// Next is [stream.Framer]'s.
func (d *deframer) Next(buf []byte) (from, to int, err error) {
	skipped := 0
	if d.framing == framingDetect {
		for skipped < len(buf) && isSpace(buf[skipped]) {
			skipped++
		}
		if skipped == len(buf) {
			return skipped, 0, nil
		}
		if err := d.detect(buf[skipped]); err != nil {
			return 0, 0, err
		}
		buf = buf[skipped:]
	}
	switch d.framing {
	case framingHeader:
		from, to, err = d.header.Next(buf)
	case framingNetstring:
		from, to, err = d.netstring.Next(buf)
	default:
		from, to, err = d.line.Next(buf)
	}
	if to > 0 {
		to += skipped
	}
	return from + skipped, to, err
}

// detect chooses the framing by the first byte of a connection that is not
// white space. A header block begins with Content-Length or Content-Type.
func (d *deframer) detect(c byte) error {
	switch {
	case c == '{' || c == '[':
		d.framing = framingLine
	case isDigit(c):
		d.framing = framingNetstring
	case c == 'C' || c == 'c':
		d.framing = framingHeader
	default:
		return &frameError{c, "a connection must begin with JSON ('{' or '['), a Content-Length header or a netstring's length"}
	}
	return nil
}
