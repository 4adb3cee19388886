package wiretest

import (
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A bomb is text that cannot be made: encoding it panics.
type bomb struct{}

func (bomb) MarshalText() ([]byte, error) { panic("encoding this reply panics") }
func (*bomb) UnmarshalText([]byte) error  { return nil }

type armed struct {
	Text bomb `wire:"1"`
}

// A fineError is an error that says that nothing is wrong.
type fineError struct{}

func (fineError) Error() string              { return "all is well" }
func (fineError) GRPCStatus() *status.Status { return status.New(codes.OK, "all is well") }

// badPrograms has methods that do to their server what a mistake in a program
// may do.
func badPrograms(_ *probe, opts ...everywire.RegistryOption) *everywire.Registry {
	reg := everywire.NewRegistry(opts...)
	everywire.Handle(reg, "bad.Program/PanicInReply", func(context.Context, *GetRequest) (*armed, error) {
		return new(armed), nil
	})
	everywire.Handle(reg, "bad.Program/Exit", func(context.Context, *GetRequest) (*GetRequest, error) {
		runtime.Goexit()
		return nil, nil //nolint:nilnil // the mistake
	})
	everywire.Handle(reg, "bad.Program/FineError", func(context.Context, *GetRequest) (*GetRequest, error) {
		return nil, fineError{}
	})
	everywire.Handle(reg, "bad.Program/Nil", func(context.Context, *GetRequest) (*GetRequest, error) {
		return nil, nil //nolint:nilnil // the mistake
	})
	everywire.Handle(reg, "bad.Program/Good", func(_ context.Context, in *GetRequest) (*GetRequest, error) {
		return in, nil
	})
	return reg
}

// programMistakes: a call whose program fails badly fails alone, and its
// server can still be shut down.
func programMistakes(t *testing.T, s *suite) {
	p := s.start(t, badPrograms, options{})
	call := func(name string) error {
		_, err := everywire.Call[GetRequest](within(t), p.conn, "bad.Program/"+name, &GetRequest{Name: "n"})
		return err
	}
	wantCode(t, "a reply whose encoding panics", call("PanicInReply"), codes.Internal)
	wantCode(t, "an error whose status is OK", call("FineError"), codes.Unknown)
	wantCode(t, "a handler that returns nil", call("Nil"), codes.Internal)
	// Under gRPC the client of such a handler waits for its deadline.
	if !s.is("grpc") {
		wantCode(t, "a handler that ends its goroutine", call("Exit"), codes.Internal)
	}
	if err := call("Good"); err != nil {
		t.Errorf("the call after those: %v", err)
	}
	if err := p.server.Shutdown(within(t)); err != nil {
		t.Errorf("shutdown after those: %v", err)
	}
}

// silentClients: somebody who connects and says nothing, with TLS or without,
// disturbs nobody and does not hold up the end of the server.
func silentClients(t *testing.T, s *suite) {
	if s.onPackets() {
		return
	}
	for _, withTLS := range []bool{false, true} {
		name := "cleartext"
		if withTLS {
			name = "tls"
		}
		t.Run(name, func(t *testing.T) {
			ca := newAuthority(t)
			p := s.start(t, (*probe).plain, options{
				tls:   withTLS,
				serve: []wire.ServeOption{wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{ca.issue(t, "server")}})},
				dial:  []wire.DialOption{wire.WithTLSConfig(&tls.Config{RootCAs: ca.pool, ServerName: "server"})},
			})
			target := p.server.Targets()[0]
			network := "tcp"
			if target.Transport == "unix" {
				network = "unix"
			}
			silent, err := net.Dial(network, target.Addrs[0])
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
				t.Errorf("a call beside a silent client: %v", err)
			}
			if err := p.server.Shutdown(within(t)); err != nil {
				t.Errorf("shutdown beside a silent client: %v", err)
			}
			_, _ = io.Copy(io.Discard, silent) // returns, as the server has closed it
		})
	}
}

// closeWhileConnecting: Close ends calls that wait for a connection, and the
// attempt to make it.
func closeWhileConnecting(t *testing.T, s *suite) {
	if s.onPackets() {
		return
	}
	t.Run("dialling", func(t *testing.T) {
		started, ended := make(chan struct{}), make(chan struct{})
		var once sync.Once
		nowhere := "127.0.0.1:1"
		if s.shape.Transport == "unix" {
			nowhere = "/nowhere"
		}
		conn := s.dial(t, s.shape.At(nowhere), wire.WithDialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			once.Do(func() {
				close(started)
				<-ctx.Done()
				close(ended)
			})
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		closeDuring(t, conn, started)
		await(t, "the end of the dialler's context", ended)
	})
	t.Run("handshake", func(t *testing.T) {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer lis.Close()
		started, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 1)); err != nil {
				return
			}
			close(started) // the client's hello has come; nobody answers it
			_, _ = io.Copy(io.Discard, conn)
		}()
		shape := s.shape
		shape.Options = nil
		shape.TLS = true
		if shape.Transport == "unix" {
			shape.Transport = "tcp"
			if s.is("rest", "connect") {
				shape.Transport = "http"
			}
		}
		conn := s.dial(t, shape.At(lis.Addr().String()))
		closeDuring(t, conn, started)
		await(t, "the end of the connection", ended)
	})
}

func closeDuring(t *testing.T, conn *wire.Conn, started <-chan struct{}) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := callers[0].run(context.WithoutCancel(t.Context()), conn, &probepb.RunRequest{}, grpc.WaitForReady(true))
		done <- err
	}()
	await(t, "the start of the connection", started)
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		wantCode(t, "a call whose connection was closed while it was made", err, codes.Canceled)
	case <-time.After(patience):
		t.Errorf("the call goes on after Close")
	}
}

// restart: a client finds its server again by itself.
func restart(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	target := p.server.Targets()[0]
	for range 3 {
		p.shutdown(t)
		server, err := wire.Serve(context.WithoutCancel(t.Context()), newProbe().plain(), []string{target.String()}, s.certified(t, wire.WithLogger(quiet))...)
		if err != nil {
			t.Fatal(err)
		}
		p.server = server
		// A call that was written to the old connection before its end was seen
		// may have run for all that the client knows: it fails, the next does not.
		ctx := within(t)
		for {
			_, err := callers[0].run(ctx, p.conn, &probepb.RunRequest{}, grpc.WaitForReady(true))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("calls after the server started again: %v", err)
			}
			wantCode(t, "a call just after the server started again", err, codes.Unavailable)
		}
	}
}

// noLimits: the largest limits are no limits, not none at all.
func noLimits(t *testing.T, s *suite) {
	in := &probepb.RunRequest{Payload: make([]byte, 100_000)}
	t.Run("of a call", func(t *testing.T) {
		p := s.start(t, (*probe).plain, options{dial: []wire.DialOption{wire.WithLimits(everywire.Limits{MaxMessage: 1000})}})
		_, err := callers[0].run(within(t), p.conn, in, grpc.MaxCallRecvMsgSize(math.MaxInt), grpc.MaxCallSendMsgSize(math.MaxInt))
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("of both ends", func(t *testing.T) {
		all := wire.WithLimits(everywire.Limits{MaxMessage: math.MaxInt, MaxMetadata: math.MaxInt, MaxInFlight: math.MaxInt, MaxBatch: math.MaxInt})
		p := s.start(t, (*probe).plain, options{serve: []wire.ServeOption{all}, dial: []wire.DialOption{all}})
		if _, err := callers[0].run(within(t), p.conn, in); err != nil {
			t.Error(err)
		}
	})
}

// oddCredentials gives the metadata that it is made of.
type oddCredentials map[string]string

func (c oddCredentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return c, nil
}

func (oddCredentials) RequireTransportSecurity() bool { return false }

// oddMetadata: what cannot be sent is refused before it is, wherever it comes
// from, and names that belong to the wires disturb nothing.
func oddMetadata(t *testing.T, s *suite) {
	p := s.start(t, (*probe).plain, options{})
	_, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}, grpc.PerRPCCredentials(oddCredentials{"x-line": "a\nb"}))
	if status.Code(err) == codes.Unavailable || err == nil {
		t.Errorf("credentials with a line break: got %v", err)
	}
	if s.is("grpc") {
		return // grpc-go sends names that HTTP/2 forbids, and its server breaks the stream
	}
	reserved := metadata.MD{}
	for _, k := range []string{
		":authority", ":path", "connection", "content-encoding", "content-length", "content-type", "expect", "grpc-encoding", "grpc-status",
		"grpc-timeout", "host", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "x-none",
	} {
		reserved[k] = []string{"1"}
	}
	reserved["x-none"] = nil
	in := &probepb.RunRequest{Header: values("content-length", "1", "content-type", "x/y", "transfer-encoding", "gzip", "connection", "close", "x-h", "1")}
	var header metadata.MD
	if _, err := callers[0].run(metadata.NewOutgoingContext(within(t), reserved), p.conn, in, grpc.Header(&header)); err != nil {
		t.Errorf("reserved names: %v", err)
	}
	if got := header.Get("x-h"); len(got) != 1 || got[0] != "1" {
		t.Errorf("beside reserved names the header is %q", got)
	}
	if _, err := callers[0].run(within(t), p.conn, &probepb.RunRequest{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// namesOfAddresses: with several addresses each server must have a certificate
// for its own name, not for that of the first.
func namesOfAddresses(t *testing.T, s *suite) {
	if s.shape.Transport == "unix" {
		return // one address, without a name
	}
	ca := newAuthority(t)
	p := s.start(t, (*probe).plain, options{
		tls:   true,
		serve: []wire.ServeOption{wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{ca.issue(t, "127.0.0.1")}})},
		dial:  []wire.DialOption{wire.WithTLSConfig(&tls.Config{RootCAs: ca.pool})},
	})
	first, _ := unheard(t)
	_, port, err := net.SplitHostPort(first)
	if err != nil {
		t.Fatal(err)
	}
	shape := s.shape
	shape.TLS = true
	target := shape.At("localhost:"+port, p.server.Targets()[0].Addrs[0])
	conn := s.dial(t, target, wire.WithTLSConfig(&tls.Config{RootCAs: ca.pool}))
	if _, err := callers[0].run(within(t), conn, &probepb.RunRequest{}); err != nil {
		t.Errorf("a call by the second address: %v", err)
	}
	// A name that was asked for counts for all.
	named := s.dial(t, target, wire.WithTLSConfig(&tls.Config{RootCAs: ca.pool, ServerName: "localhost"}))
	_, err = callers[0].run(within(t), named, &probepb.RunRequest{})
	wantCode(t, "a server with another name than asked for", err, codes.Unavailable)
}
