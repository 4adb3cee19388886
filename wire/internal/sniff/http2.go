package sniff

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What HTTP/2 begins with (RFC 9113).
const (
	maxFrame        = 16 << 10 // section 4.2: the largest that may come before a SETTINGS of ours allows more
	headerTableSize = 4 << 10  // section 6.5.2, the initial value
)

// An errProtocol is a client's mistake in HTTP/2, or what is over a limit of ours.
var errProtocol = errors.New("not as HTTP/2 demands it")

// A reception is the server's end of a connection of HTTP/2 until the first
// request has come. It sends SETTINGS, acknowledges the client's and answers its
// PINGs, and keeps all else for the server that gets the connection. That one
// starts anew, so it must not see the acknowledgement of our SETTINGS, nor the
// client that of its own for a second time.
type reception struct {
	conn   net.Conn
	server *Server
	framer *http2.Framer
	idle   time.Time // when the first request must have begun
	kept   []byte    // frames for the server
	seen   int       // bytes that came, kept or not
	acks   int       // that we have sent
}

// receive reads up to the first request. It returns GRPC, or HTTP2 if the
// request is another, or a mistake that a server of HTTP/2 is to answer.
func (s *Server) receive(conn *Conn) (Kind, *Conn, error) {
	r := &reception{conn: conn, server: s, idle: time.Now().Add(s.cfg.Idle)}
	kind, err := r.run()
	if err != nil {
		return kind, nil, err
	}
	c := &Conn{Conn: conn.Conn, in: &ackFilter{drop: 1}, out: &ackFilter{drop: r.acks}}
	c.replay = c.in.apply([]byte(http2.ClientPreface), r.kept)
	c.replay = c.in.apply(c.replay, conn.replay)
	return kind, c, nil
}

func (r *reception) run() (Kind, error) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(r.conn, preface); err != nil {
		return More, err
	}
	if string(preface) != http2.ClientPreface {
		return Unknown, refuse("it begins with %q, which is not quite HTTP/2's preface", preface)
	}
	r.framer = http2.NewFramer(r.conn, r)
	r.framer.SetMaxReadFrameSize(maxFrame)
	r.framer.ReadMetaHeaders = hpack.NewDecoder(headerTableSize, nil)
	r.framer.MaxHeaderListSize = uint32(r.server.cfg.MaxHeader)
	if err := r.write(func() error { return r.framer.WriteSettings() }); err != nil {
		return More, err
	}
	for {
		kind, err := r.frame()
		switch {
		case errors.Is(err, errProtocol):
			return HTTP2, nil // it gets all that was read, and says what is wrong with it
		case errors.Is(err, errStopping), isTimeout(err):
			r.sayGoodbye()
			return More, err
		case kind != More || err != nil:
			return kind, err
		}
	}
}

// frame reads one frame, and the CONTINUATIONs of one with headers.
func (r *reception) frame() (Kind, error) {
	begin := len(r.kept)
	if !r.server.setReadDeadline(r.conn, r.idle) {
		return More, errStopping
	}
	head, err := r.framer.ReadFrameHeader()
	if err != nil {
		return More, verdict(err)
	}
	if !r.server.setReadDeadline(r.conn, time.Now().Add(patience)) {
		return More, errStopping
	}
	frame, err := r.framer.ReadFrameForHeader(head)
	if err != nil {
		return More, verdict(err)
	}
	if settings, ok := frame.(*http2.SettingsFrame); r.acks == 0 && (!ok || settings.IsAck()) {
		return More, errProtocol // the client's come first (section 3.4)
	}
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		if isGRPC(f) {
			return GRPC, nil
		}
		return HTTP2, nil
	case *http2.SettingsFrame:
		if f.IsAck() {
			return More, nil
		}
		r.acks++
		return More, r.write(r.framer.WriteSettingsAck)
	case *http2.PingFrame:
		if f.IsAck() {
			return More, nil
		}
		r.kept = r.kept[:begin]
		return More, r.write(func() error { return r.framer.WritePing(true, f.Data) })
	case *http2.GoAwayFrame:
		return More, io.EOF // it has not asked for anything
	}
	return More, nil
}

// verdict tells the connection's own errors from what the client got wrong.
func verdict(err error) error {
	var op net.Error
	if errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return err
	}
	return fmt.Errorf("%w: %w", errProtocol, err)
}

// Read reads for the framer, which takes no byte too many, and keeps a copy.
func (r *reception) Read(b []byte) (int, error) {
	if r.seen > r.server.cfg.MaxHeader+4*maxFrame {
		return 0, errProtocol
	}
	n, err := r.conn.Read(b)
	r.kept = append(r.kept, b[:n]...)
	r.seen += n
	return n, err
}

func (r *reception) write(what func() error) error {
	if err := r.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return what()
}

// isGRPC reports whether a request's content type is that of gRPC over HTTP/2,
// which gRPC-Web's is not.
func isGRPC(f *http2.MetaHeadersFrame) bool {
	for _, field := range f.RegularFields() {
		if field.Name == "content-type" {
			return IsGRPC(field.Value)
		}
	}
	return false
}

// IsGRPC reports whether a content type is application/grpc, with a subtype or
// parameters or without.
func IsGRPC(contentType string) bool {
	const grpc = "application/grpc"
	if len(contentType) < len(grpc) || !strings.EqualFold(contentType[:len(grpc)], grpc) {
		return false
	}
	rest := strings.TrimLeft(contentType[len(grpc):], " \t")
	return rest == "" || rest[0] == '+' || rest[0] == ';'
}

// sayGoodbye tells the client that none of its requests has been looked at, so
// that it makes them elsewhere (section 6.8), and waits for a moment until it has
// heard.
func (r *reception) sayGoodbye() {
	if r.conn.SetDeadline(time.Now().Add(goodbye)) != nil || r.framer.WriteGoAway(0, http2.ErrCodeNo, nil) != nil {
		return
	}
	// Closed with unread bytes, TCP would reset, and the client could lose it.
	if half, ok := r.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, r.conn) // any end will do
	}
}
