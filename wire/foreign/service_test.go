package foreign

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

type (
	pair struct {
		Minuend    int64 `wire:"1"`
		Subtrahend int64 `wire:"2"`
	}
	number struct {
		Value int64 `wire:"1"`
	}
	text struct {
		Text string `wire:"1"`
	}
	texts struct {
		Texts []string `wire:"1"`
	}
	failure struct {
		Code    int32  `wire:"1"`
		Message string `wire:"2"`
	}
	empty struct{}
)

// A service has a method for each thing that a foreign peer is tried with.
type service struct {
	reg   *everywire.Registry
	noted chan string   // what note got
	began chan struct{} // a block handler runs
	ended chan error    // why its context ended

	mu      sync.Mutex
	waiting chan struct{} // closed when all that are to meet are there
	here    int64
}

func newService() *service {
	s := &service{
		reg:   everywire.NewRegistry(everywire.WithLogger(slog.New(slog.DiscardHandler))),
		noted: make(chan string, 100), began: make(chan struct{}, 100), ended: make(chan error, 100),
	}
	arith.Register(s.reg)
	echo.Register(s.reg)
	kv.New(kv.Options{}).Register(s.reg)
	everywire.Handle(s.reg, "peer.Peer/Subtract", subtract, form("subtract", everywire.ParamsInOrder, "", "value"))
	everywire.Handle(s.reg, "peer.Peer/Difference", subtract, form("difference", everywire.ParamsObject, "", ""))
	everywire.Handle(s.reg, "peer.Peer/Same", same, form("same", everywire.ParamsScalar, "text", "text"))
	everywire.Handle(s.reg, "peer.Peer/Fail", fail, form("fail", everywire.ParamsInOrder, "", ""))
	everywire.Handle(s.reg, "peer.Peer/Note", s.note, form("note", everywire.ParamsScalar, "text", ""))
	everywire.Handle(s.reg, "peer.Peer/Noted", noted, form("noted", everywire.ParamsNamed, "", "texts"))
	everywire.Handle(s.reg, "peer.Peer/Meet", s.meet, form("meet", everywire.ParamsScalar, "value", "value"))
	everywire.Handle(s.reg, "peer.Peer/Block", s.block, form("block", everywire.ParamsNamed, "", ""))
	everywire.Handle(s.reg, "peer.Peer/Began", s.hasBegun, form("began", everywire.ParamsNamed, "", ""))
	everywire.Handle(s.reg, "peer.Peer/Cancelled", count, form("cancelled", everywire.ParamsNamed, "", "value"))
	return s
}

func form(name string, p everywire.ParamsForm, field, result string) everywire.MethodOption {
	return everywire.WithJSONRPC(everywire.JSONRPCForm{Name: name, Params: p, Field: field, Result: result})
}

func subtract(_ context.Context, in *pair) (*number, error) {
	return &number{in.Minuend - in.Subtrahend}, nil
}

func same(_ context.Context, in *text) (*text, error) { return in, nil }

// fail fails with the code and message that it is told, and a detail.
func fail(_ context.Context, in *failure) (*empty, error) {
	s, err := status.New(codes.Code(in.Code), in.Message).WithDetails(structpb.NewStringValue("because"))
	if err != nil {
		return nil, err
	}
	return nil, s.Err()
}

func (s *service) note(_ context.Context, in *text) (*empty, error) {
	s.noted <- in.Text
	return &empty{}, nil
}

// meet answers when as many callers as the value says are there, each with
// a number of its own.
func (s *service) meet(ctx context.Context, in *number) (*number, error) {
	s.mu.Lock()
	if s.here == 0 {
		s.waiting = make(chan struct{})
	}
	s.here++
	mine, waiting := s.here, s.waiting
	if s.here == in.Value {
		s.here = 0
		close(waiting)
	}
	s.mu.Unlock()
	select {
	case <-waiting:
		return &number{mine}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *service) block(ctx context.Context, _ *empty) (*empty, error) {
	s.began <- struct{}{}
	<-ctx.Done()
	s.ended <- ctx.Err()
	return nil, ctx.Err()
}

// hasBegun waits until a block handler runs.
func (s *service) hasBegun(ctx context.Context, _ *empty) (*empty, error) {
	select {
	case <-s.began:
		return &empty{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Noted and Cancelled are methods of the foreign servers only.
func noted(context.Context, *empty) (*texts, error) {
	return nil, status.Error(codes.Unimplemented, "a foreign server's")
}

func count(context.Context, *empty) (*number, error) {
	return nil, status.Error(codes.Unimplemented, "a foreign server's")
}

// wantNotes waits for notes, in any order: notifications run side by side.
func (s *service) wantNotes(t *testing.T, want ...string) {
	t.Helper()
	left := map[string]int{}
	for _, w := range want {
		left[w]++
	}
	for range want {
		select {
		case got := <-s.noted:
			if left[got]--; left[got] < 0 {
				t.Errorf("noted %q", got)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("notes are missing: %v", left)
		}
	}
}

// serve serves s on target, which has the port 0, and returns the address
// that was bound.
func (s *service) serve(t *testing.T, target string) string {
	t.Helper()
	server, err := wire.Serve(context.Background(), s.reg, []string{target}, wire.WithLogger(slog.New(testLog{t})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
	return server.Targets()[0].Addrs[0]
}

// portOf is the port of an address.
func portOf(t *testing.T, addr string) int {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(p)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// dial connects our client.
func (s *service) dial(t *testing.T, format string, args ...any) *wire.Conn {
	t.Helper()
	conn, err := wire.Dial(fmt.Sprintf(format, args...), wire.WithMethods(s.reg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return conn
}

// testContext bounds a test's own calls without a deadline: a deadline would be
// sent, and not every peer takes that.
func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(patience, cancel)
	t.Cleanup(func() { timer.Stop(); cancel() })
	return ctx
}

// testLog fails the test for everything that a server warns of: a foreign peer that
// does nothing wrong must not cause a warning.
type testLog struct{ t *testing.T }

func (l testLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l testLog) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l testLog) WithGroup(string) slog.Handler                    { return l }
func (l testLog) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.t.Errorf("the server logged: %s", line)
	return nil
}

// certificate writes a certificate for localhost and its key, and returns the
// files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	privateDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", privateDER)
}
