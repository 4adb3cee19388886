package grpcwire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// probeFunc is a registry with the probe whose Run is f.
func probeFunc(f func(*probepb.RunRequest) error) *everywire.Registry {
	reg := everywire.NewRegistry()
	probepb.RegisterProbeServer(reg, runs{run: f})
	return reg
}

type runs struct {
	probe
	run func(*probepb.RunRequest) error
}

func (p runs) Run(ctx context.Context, in *probepb.RunRequest) (*probepb.RunReply, error) {
	if err := p.run(in); err != nil {
		return nil, err
	}
	return p.probe.Run(ctx, in)
}

func insecureCredentials() credentials.TransportCredentials { return insecure.NewCredentials() }

func serverTLS(cert tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
}

func clientTLS(pool *x509.CertPool) *tls.Config {
	return &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12}
}

// A rawClient speaks HTTP/2 frame by frame.
type rawClient struct {
	t    *testing.T
	conn net.Conn
	*http2.Framer
	next uint32
}

// rawConn connects and does what begins a connection (RFC 9113, section 3.4).
func rawConn(t *testing.T, addr string) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	c := &rawClient{t: t, conn: conn, Framer: http2.NewFramer(conn, conn), next: 1}
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	c.must(c.WriteSettings())
	return c
}

func (c *rawClient) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// call opens a stream with a message, if there is one, and the end of the client's
// side.
func (c *rawClient) call(method string, message []byte, end bool, headers ...string) uint32 {
	c.t.Helper()
	id := c.next
	c.next += 2
	var block sliceWriter
	enc := hpack.NewEncoder(&block)
	fields := append([]string{":method", "POST", ":scheme", "http", ":path", "/" + method, ":authority", "test", "content-type", "application/grpc", "te", "trailers"}, headers...)
	for f := range slices.Chunk(fields, 2) {
		c.must(enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}))
	}
	c.must(c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: message == nil && end}))
	if message != nil {
		c.must(c.WriteData(id, end, message))
	}
	return id
}

type sliceWriter []byte

func (w *sliceWriter) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

// framed is a message of gRPC.
func framed(compressed byte, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(data))), data...)
}

// until reads frames until one is as wanted; it answers what must be answered. It
// returns nil at the connection's end.
func (c *rawClient) until(want func(http2.Frame) bool) http2.Frame {
	c.t.Helper()
	for {
		f, err := c.ReadFrame()
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		c.must(err)
		if want(f) {
			return f
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				c.must(c.WriteSettingsAck())
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				c.must(c.WritePing(true, f.Data))
			}
		}
	}
}

func isGoAway(f http2.Frame) bool {
	_, ok := f.(*http2.GoAwayFrame)
	return ok
}

func isPing(f http2.Frame) bool {
	p, ok := f.(*http2.PingFrame)
	return ok && !p.IsAck()
}

// goAway waits for a GOAWAY.
func (c *rawClient) goAway() *http2.GoAwayFrame {
	c.t.Helper()
	f, ok := c.until(isGoAway).(*http2.GoAwayFrame)
	if !ok {
		c.t.Fatal("the connection ended without a GOAWAY")
	}
	return f
}

// status waits for the end of a stream and returns its grpc-status; "" if it was
// reset.
func (c *rawClient) status(id uint32) (code, message string) {
	c.t.Helper()
	f := c.until(func(f http2.Frame) bool {
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			return f.StreamID == id && f.StreamEnded()
		case *http2.RSTStreamFrame:
			return f.StreamID == id
		}
		return false
	})
	h, ok := f.(*http2.MetaHeadersFrame)
	if !ok {
		return "", ""
	}
	for _, field := range h.Fields {
		switch field.Name {
		case "grpc-status":
			code = field.Value
		case "grpc-message":
			message = field.Value
		}
	}
	return code, message
}
