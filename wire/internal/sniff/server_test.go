package sniff

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A taken connection is what a server has handed over.
type taken struct {
	kind Kind
	conn net.Conn
}

// pipes is a listener on pipes. Their deadlines keep the time of a bubble of
// testing/synctest.
type pipes struct{ *Listener }

func (p pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.Give(server)
	return client
}

type testServer struct {
	*Server
	pipes
	taken chan taken
	log   *strings.Builder
	mu    sync.Mutex
}

func (s *testServer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

func (s *testServer) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// start serves on pipes, within a bubble.
func start(t *testing.T, cfg Config) *testServer {
	s := &testServer{pipes: pipes{NewListener(&net.TCPAddr{})}, taken: make(chan taken, 10), log: new(strings.Builder)}
	cfg.MaxHeader, cfg.Idle = 1000, 3*time.Minute
	cfg.Logger = slog.New(slog.NewTextHandler(s, nil))
	cfg.Take = func(k Kind, c net.Conn) { s.taken <- taken{k, c} }
	s.Server = NewServer(cfg)
	done := make(chan error, 1)
	go func() { done <- s.Serve(s.Listener) }()
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// closed reports what the server sent before it closed the connection.
func closed(t *testing.T, conn net.Conn) string {
	t.Helper()
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("instead of the end of the connection: %v", err)
	}
	return string(b)
}

// A connection is handed over with every byte that it began with, however these
// came.
func TestHandOver(t *testing.T) {
	for _, test := range beginnings {
		switch test.kind {
		case TLS, More, Unknown, HTTP2:
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{})
			client := s.dial()
			defer client.Close()
			go func() {
				for _, c := range []byte(test.bytes) {
					_, _ = client.Write([]byte{c})
				}
				_ = client.Close()
			}()
			got := <-s.taken
			defer got.conn.Close()
			if got.kind != test.kind {
				t.Errorf("%q is %v", test.bytes, got.kind)
			}
			if err := iotest.TestReader(got.conn, []byte(test.bytes)); err != nil {
				t.Errorf("%q: %v", test.bytes, err)
			}
		})
	}
}

// What no wire begins with is closed at once, and the log says why.
func TestRefused(t *testing.T) {
	for _, test := range beginnings {
		if test.kind != Unknown {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{})
			client := s.dial()
			defer client.Close()
			begin := time.Now()
			go func() { _, _ = io.WriteString(client, test.bytes) }()
			if said := closed(t, client); said != "" || time.Since(begin) != 0 {
				t.Errorf("%q is answered %q after %v", test.bytes, said, time.Since(begin))
			}
			if log := s.logged(); !strings.Contains(log, "no wire's") {
				t.Errorf("%q: the log has %q", test.bytes, log)
			}
		})
	}
}

// Clients that say nothing, or too little, or nothing more within TLS, are closed
// after a while, and do not keep others from being served.
func TestSilentClients(t *testing.T) {
	for _, said := range []string{"", "P", "PRI", "Content", "PRI * HTTP", "\x16\x03\x01"} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{TLS: &tls.Config{}, Cleartext: true})
			var silent []net.Conn
			begin := time.Now()
			for range 100 {
				c := s.dial()
				defer c.Close()
				if _, err := io.WriteString(c, said); err != nil {
					t.Fatal(err)
				}
				silent = append(silent, c)
			}
			other := s.dial()
			defer other.Close()
			go func() { _, _ = io.WriteString(other, "{}") }()
			served := <-s.taken
			defer served.conn.Close()
			if time.Since(begin) != 0 {
				t.Errorf("after %q another client waits for %v", said, time.Since(begin))
			}
			for _, c := range silent {
				_ = closed(t, c)
			}
			if d := time.Since(begin); d != patience {
				t.Errorf("after %q a silent client is closed after %v", said, d)
			}
		})
	}
}

// Shutdown does not wait for those.
func TestShutdownBesideSilentClients(t *testing.T) {
	for _, said := range []string{"", "P", "PRI * HTTP", "\x16\x03\x01", http2.ClientPreface} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{TLS: &tls.Config{}, Cleartext: true})
			client := s.dial()
			defer client.Close()
			if _, err := io.WriteString(client, said); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			begin := time.Now()
			go func() { _, _ = io.Copy(io.Discard, client) }()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if d := time.Since(begin); d != 0 {
				t.Errorf("after %q Shutdown takes %v", said, d)
			}
		})
	}
}

// A client of HTTP/2 that reads nothing holds Shutdown up as long as its context
// allows.
func TestShutdownIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		client := s.dial()
		defer client.Close()
		if _, err := io.WriteString(client, http2.ClientPreface); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func TestWithoutTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		client := s.dial()
		defer client.Close()
		go func() { _, _ = client.Write([]byte("\x16\x03\x01")) }()
		_ = closed(t, client)
		if log := s.logged(); !strings.Contains(log, "TLS, on a port without it") {
			t.Errorf("the log has %q", log)
		}
	})
	// Where TLS is asked for, cleartext is closed; HTTP's clients are told.
	for said, want := range map[string]string{"GET / HTTP/1.1\r\n\r\n": plainAnswer, "{}": "", "\x94": "", "PRI ": ""} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{TLS: &tls.Config{}})
			client := s.dial()
			defer client.Close()
			go func() { _, _ = io.WriteString(client, said) }()
			if got := closed(t, client); got != want {
				t.Errorf("%q is answered %q", said, got)
			}
			if log := s.logged(); !strings.Contains(log, "without TLS") {
				t.Errorf("%q: the log has %q", said, log)
			}
		})
	}
}

// An http2Client is the other end of a reception.
type http2Client struct {
	*http2.Framer
	conn   net.Conn
	headed bytes.Buffer
	hpack  *hpack.Encoder
}

func newHTTP2Client(conn net.Conn) *http2Client {
	c := &http2Client{Framer: http2.NewFramer(conn, conn), conn: conn}
	c.hpack = hpack.NewEncoder(&c.headed)
	return c
}

func (c *http2Client) block(fields ...string) []byte {
	c.headed.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = c.hpack.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // into memory
	}
	return bytes.Clone(c.headed.Bytes())
}

// request is a header block of a request.
func (c *http2Client) request(fields ...string) []byte {
	return c.block(append([]string{":method", "POST", ":scheme", "http", ":path", "/a.B/C"}, fields...)...)
}

// expect reads a frame of the type.
func expect[F http2.Frame](t *testing.T, c *http2Client) F {
	t.Helper()
	f, err := c.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	want, ok := f.(F)
	if !ok {
		t.Fatalf("got %v", f)
	}
	return want
}

// greet does what a client does that waits for all that the server owes it.
func (c *http2Client) greet(t *testing.T) {
	t.Helper()
	must(t, func() error { _, err := io.WriteString(c.conn, http2.ClientPreface); return err }())
	if f := expect[*http2.SettingsFrame](t, c); f.IsAck() || f.NumSettings() != 0 {
		t.Errorf("the server begins with %v", f)
	}
	must(t, c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
	if f := expect[*http2.SettingsFrame](t, c); !f.IsAck() {
		t.Errorf("the client's SETTINGS are answered by %v", f)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The client's SETTINGS are acknowledged and its PINGs answered before it sends
// any request; its first request decides; and the server that gets the
// connection sees one that has just begun.
func TestReception(t *testing.T) {
	for _, test := range []struct {
		name   string
		fields []string
		send   func(c *http2Client, block []byte) error
		want   Kind
	}{
		{"gRPC", []string{"content-type", "application/grpc"}, whole, GRPC},
		{"gRPC with a subtype", []string{"te", "trailers", "content-type", "application/grpc+proto"}, whole, GRPC},
		{"gRPC with a parameter", []string{"content-type", "application/grpc; a=b"}, whole, GRPC},
		{"gRPC-Web", []string{"content-type", "application/grpc-web+proto"}, whole, HTTP2},
		{"another content type", []string{"content-type", "application/json"}, whole, HTTP2},
		{"none", nil, whole, HTTP2},
		{"padding and priority", []string{"content-type", "application/grpc"}, func(c *http2Client, block []byte) error {
			return c.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: block, EndHeaders: true, PadLength: 200, Priority: http2.PriorityParam{StreamDep: 3, Weight: 9},
			})
		}, GRPC},
		{"CONTINUATION", []string{"content-type", "application/grpc"}, func(c *http2Client, block []byte) error {
			err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:1]})
			for i := 1; i < len(block) && err == nil; i++ {
				err = c.WriteContinuation(1, i == len(block)-1, block[i:i+1])
			}
			return err
		}, GRPC},
		{"other frames before", []string{"content-type", "application/grpc"}, func(c *http2Client, block []byte) error {
			return errors.Join(c.WriteWindowUpdate(0, 1000), c.WritePriority(3, http2.PriorityParam{Weight: 1}),
				c.WriteRawFrame(0xbb, 0, 0, []byte("unknown")), whole(c, block))
		}, GRPC},
		{"a second header that is not gRPC's", []string{"content-type", "text/plain", "x", "application/grpc"}, whole, HTTP2},
		// What breaks the protocol is for HTTP's server to answer.
		{"a header that is too long", []string{"content-type", "application/grpc", "x", strings.Repeat("x", 5000)}, whole, HTTP2},
		{"a broken block", nil, func(c *http2Client, _ []byte) error { return whole(c, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) }, HTTP2},
		{"a frame out of place", nil, func(c *http2Client, block []byte) error { return c.WriteContinuation(1, true, block) }, HTTP2},
		{"a pseudo-header behind others", []string{":authority", "a", "x", "y", ":path", "/"}, whole, HTTP2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, Config{})
				c := newHTTP2Client(s.dial())
				defer c.conn.Close()
				c.greet(t)
				must(t, c.WritePing(false, [8]byte{1, 2}))
				if f := expect[*http2.PingFrame](t, c); !f.IsAck() || f.Data != [8]byte{1, 2} {
					t.Errorf("a PING is answered by %v", f)
				}
				sent := make(chan error, 1)
				go func() { sent <- test.send(c, c.request(test.fields...)) }()
				got := <-s.taken
				defer got.conn.Close()
				if got.kind != test.want {
					t.Fatalf("it is %v", got.kind)
				}
				checkHandedOver(t, got.conn, c, test.want == GRPC, sent)
			})
		})
	}
}

func whole(c *http2Client, block []byte) error {
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true})
}

// checkHandedOver plays the server that gets the connection. If it goes on, all
// that the client has sent was read.
func checkHandedOver(t *testing.T, conn net.Conn, client *http2Client, goesOn bool, sent <-chan error) {
	t.Helper()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil || string(preface) != http2.ClientPreface {
		t.Fatalf("the server reads %q, %v", preface, err)
	}
	server := &http2Client{Framer: http2.NewFramer(conn, conn), conn: conn}
	if f := expect[*http2.SettingsFrame](t, server); f.IsAck() || f.NumSettings() != 1 {
		t.Errorf("the client begins with %v", f)
	}
	if !goesOn {
		return
	}
	must(t, <-sent)
	// Its SETTINGS and its acknowledgement: the second has been sent already.
	go func() {
		_ = server.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20})
		_ = server.WriteSettingsAck()
		_ = server.WritePing(false, [8]byte{7})
	}()
	if f := expect[*http2.SettingsFrame](t, client); f.IsAck() {
		t.Error("the server's SETTINGS are taken for an acknowledgement")
	}
	if f := expect[*http2.PingFrame](t, client); f.Data != [8]byte{7} {
		t.Errorf("behind them is %v", f)
	}
	// The client acknowledges both SETTINGS; the server has sent one.
	go func() {
		_ = client.WriteSettingsAck()
		_ = client.WriteSettingsAck()
		_ = client.WritePing(true, [8]byte{7})
	}()
	acks := 0
	for {
		f, err := server.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			acks++
		case *http2.PingFrame:
			if !f.IsAck() {
				t.Error("a PING that was answered came again")
			}
			if acks != 1 {
				t.Errorf("the server got %d acknowledgements", acks)
			}
			return
		}
	}
}

// All frames of a reception that came at once, and their acknowledgement before
// the request.
func TestReceptionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		conn := s.dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		var b bytes.Buffer
		c := &http2Client{Framer: http2.NewFramer(&b, nil)}
		c.hpack = hpack.NewEncoder(&c.headed)
		b.WriteString(http2.ClientPreface)
		must(t, c.WriteSettings())
		must(t, c.WriteSettingsAck())
		must(t, whole(c, c.request("content-type", "application/grpc")))
		must(t, c.WriteData(1, false, []byte("data")))
		begin := len(http2.ClientPreface) + 9 // with the SETTINGS
		want := slices.Concat(b.Bytes()[:begin], b.Bytes()[begin+9:])
		go func() { _, _ = conn.Write(b.Bytes()) }()
		got := <-s.taken
		defer got.conn.Close()
		_ = conn.Close()
		all, err := io.ReadAll(got.conn)
		if got.kind != GRPC || err != nil || !bytes.Equal(all, want) {
			t.Errorf("%v, %v: the server reads %q, want %q", got.kind, err, all, want)
		}
	})
}

// Without a request a client of HTTP/2 is sent away in time, told that nothing
// has run; so it is by Shutdown.
func TestReceptionEnds(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		begin func(c *http2Client) error
		stop  bool
	}{
		"idle":           {3 * time.Minute, func(*http2Client) error { return nil }, false},
		"within a frame": {patience, func(c *http2Client) error { return c.WriteRawFrame(http2.FrameHeaders, 0, 1, nil) }, false},
		"within a header": {patience, func(c *http2Client) error {
			return c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x83}})
		}, false},
		"shutdown": {0, func(*http2Client) error { return nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, Config{})
				c := newHTTP2Client(s.dial())
				defer c.conn.Close()
				c.greet(t)
				begin := time.Now()
				must(t, test.begin(c))
				if test.stop {
					go func() { _ = s.Shutdown(context.Background()) }()
				}
				if f := expect[*http2.GoAwayFrame](t, c); f.LastStreamID != 0 || f.ErrCode != http2.ErrCodeNo {
					t.Errorf("got %v", f)
				}
				if d := time.Since(begin); d != test.after {
					t.Errorf("it is sent away after %v, want %v", d, test.after)
				}
				_ = closed(t, c.conn)
			})
		})
	}
}

// Frames without end that are no request go to HTTP's server, which has limits of
// its own.
func TestReceptionIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{})
		c := newHTTP2Client(s.dial())
		defer c.conn.Close()
		c.greet(t)
		go func() { _, _ = io.Copy(io.Discard, c.conn) }()
		go func() {
			for c.WritePing(false, [8]byte{}) == nil { // ends with the connection
			}
		}()
		got := <-s.taken
		defer got.conn.Close()
		if got.kind != HTTP2 {
			t.Errorf("it is %v", got.kind)
		}
	})
}

// Whatever comes behind the preface, the reception ends and keeps its bounds.
func FuzzReception(f *testing.F) {
	var b bytes.Buffer
	c := &http2Client{Framer: http2.NewFramer(&b, nil)}
	c.hpack = hpack.NewEncoder(&c.headed)
	_ = c.WriteSettings()
	_ = whole(c, c.request("content-type", "application/grpc"))
	f.Add(b.Bytes())
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x05\x00\x00\x00\x01\x83"))
	f.Fuzz(func(t *testing.T, frames []byte) {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, Config{})
			conn := s.dial()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			go func() {
				_, _ = conn.Write(append([]byte(http2.ClientPreface), frames...))
				_ = conn.Close()
			}()
			synctest.Wait()
			select {
			case got := <-s.taken:
				rest, _ := io.ReadAll(got.conn) // ends as the client has closed
				if !bytes.HasPrefix(rest, []byte(http2.ClientPreface)) {
					t.Errorf("the server reads %q", rest)
				}
				_ = got.conn.Close()
			default:
			}
		})
	})
}
