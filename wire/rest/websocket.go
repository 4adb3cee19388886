package rest

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// subprotocol is what a client names that wants all of a stream: beside the
// messages, which are text, both ends then send controls, which are binary.
const subprotocol = "everywire.rest"

// closeOfCodes is the WebSocket status code of a stream that ended with the code
// of number 0, had it been an error: those from 4000 on are the application's.
const closeOfCodes = 4000

// closeUnsupported is for messages of a kind that is not taken (RFC 6455, section
// 7.4.1).
const closeUnsupported = 1003

// A clientControl is what a client says first: what browsers cannot say in the
// fields of their request.
type clientControl struct {
	Metadata map[string][]string `json:"metadata,omitempty"`
	Timeout  string              `json:"timeout,omitempty"`
}

// A serverControl is what a server says beside messages. One of the two is set.
type serverControl struct {
	Headers map[string][]string `json:"headers,omitempty"` // nil unless this is what it says
	End     *serverEnd          `json:"end,omitempty"`
}

// A serverEnd is how a stream ended.
type serverEnd struct {
	Error    stdjson.RawMessage  `json:"error,omitempty"` // a problem document; none if it ended well
	Headers  map[string][]string `json:"headers,omitempty"`
	Trailers map[string][]string `json:"trailers,omitempty"`
}

// A headersControl is a serverControl that says headers, even if there are none.
type headersControl struct {
	Headers map[string][]string `json:"headers"`
}

func newServerEnd(s *status.Status, header, trailer metadata.MD) *serverEnd {
	end := &serverEnd{Headers: httpmeta.ToJSON(header), Trailers: httpmeta.ToJSON(trailer)}
	if s.Code() != codes.OK {
		end.Error = encodeProblem(code.HTTP(s.Code()), s)
	}
	return end
}

// closeCode is what the close frame of a stream says that ended with s, for
// those who look at nothing else.
func closeCode(s *status.Status) uint16 {
	if s.Code() == codes.OK {
		return websocket.CloseNormal
	}
	return closeOfCodes + uint16(min(s.Code(), 999)) //nolint:gosec // bounded
}

// A socket is one end of a WebSocket that carries a stream: a goroutine reads it
// into in, another writes what is in out.
type socket struct {
	raw  net.Conn
	ws   *websocket.Conn
	in   *inbox
	out  *outbox
	text []byte // of Send
}

// maxPongs is how many bytes may wait to be written before pings are no longer
// answered.
const maxPongs = 1 << 20

func newSocket(raw net.Conn, server bool, limit int) *socket {
	holdBack(raw)
	s := &socket{raw: raw, in: newInbox()}
	s.ws = websocket.NewConn(raw, server, limit, func(frame []byte) error {
		if s.out.post(frame) > maxPongs {
			return &websocket.Error{Code: websocket.ClosePolicy, What: "the peer sends pings and does not read"}
		}
		return nil
	})
	s.out = newOutbox(func(batch []byte) error {
		_, err := raw.Write(batch)
		return err
	}, func(dst []byte) []byte { return s.ws.Wrap(dst, len(dst), websocket.Ping) })
	return s
}

// post sends a frame that waits for no room.
func (s *socket) post(opcode byte, payload []byte) { s.out.post(s.ws.Wrap(payload, 0, opcode)) }

// close ends both goroutines at once, and the connection with them.
func (s *socket) close(err error) {
	s.out.fail(err)
	s.in.close(err)
	closeNow(s.raw)
}

// kernelRoom bounds what the system keeps of a stream in each direction at each
// end. Left to itself Linux lets that grow to megabytes, which no handler or
// client that is held back could know of.
const kernelRoom = 128 << 10

// holdBack sets the buffers of a connection that has any.
func holdBack(conn net.Conn) {
	if c, ok := bare(conn).(interface {
		SetReadBuffer(bytes int) error
		SetWriteBuffer(bytes int) error
	}); ok {
		_, _ = c.SetReadBuffer(kernelRoom), c.SetWriteBuffer(kernelRoom) // a system that has no such thing does without
	}
}

// bare is the connection below those that are wrapped around it.
func bare(conn net.Conn) net.Conn {
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = wrapped.NetConn()
	}
}

// closeNow closes a connection without a word. That of TLS would wait for a
// peer that does not read.
func closeNow(conn net.Conn) {
	_ = bare(conn).Close() // its goroutines learn of it
	_ = conn.Close()       // for what is wrapped around it
}

// parseControl reads a control into v.
func parseControl(message []byte, v any) error {
	if err := stdjson.Unmarshal(message, v); err != nil {
		return fmt.Errorf("a binary message is no control: %w", err)
	}
	return nil
}

// lengthError makes the error of a message that is too long one of the call.
func lengthError(err error) error {
	var long *websocket.TooLargeError
	if errors.As(err, &long) {
		return status.Errorf(codes.ResourceExhausted, "received message larger than max (%d)", long.Limit)
	}
	return err
}
