package stream_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// ends is a client and a server, each with one connection to the other.
type ends struct {
	client *stream.Client
	server *stream.Server
	near   *lineServer // answers the server's calls
	far    *lineServer // answers the client's
	conn   *stream.Conn
	dials  atomic.Int32
}

// edits change the configurations of ends; either may be nil.
type edits struct {
	client func(*stream.ClientConfig)
	server func(*stream.ServerConfig)
}

// join makes both ends of the connections that pair makes. When the test is
// over nothing may be left.
func join(t testing.TB, pair func() (client, server net.Conn, err error), near, far *lineServer, edit edits) *ends {
	t.Helper()
	e := &ends{near: near, far: far}
	scfg := stream.ServerConfig{Open: far.session, MaxFrame: 1 << 20, MaxInFlight: 100, Logger: slog.New(slog.DiscardHandler)}
	if edit.server != nil {
		edit.server(&scfg)
	}
	e.server = stream.NewServer(scfg)
	var serving sync.WaitGroup
	ccfg := stream.ClientConfig{
		Dial: func(context.Context) (net.Conn, error) {
			ours, theirs, err := pair()
			if err != nil {
				return nil, &rpc.DialError{Target: "the other end", Err: err}
			}
			e.dials.Add(1)
			serving.Go(func() { e.server.ServeConn(theirs) })
			return ours, nil
		},
		Open: func(c *stream.Conn) stream.Session {
			e.conn = c
			return near.session(c)
		},
		MaxFrame: 1 << 20,
		Logger:   slog.New(slog.DiscardHandler),
	}
	if edit.client != nil {
		edit.client(&ccfg)
	}
	e.client = stream.NewClient(ccfg)
	t.Cleanup(func() {
		e.client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		serving.Wait()
		e.checkNothingLeft(t)
	})
	return e
}

// checkNothingLeft looks for calls and tasks that were forgotten. A task of the
// client's may still be on its way out, since Close does not wait for it.
func (e *ends) checkNothingLeft(t testing.TB) {
	t.Helper()
	for _, ls := range []*lineServer{e.near, e.far} {
		ls.mu.Lock()
		open := ls.open
		ls.mu.Unlock()
		for _, s := range open {
			var left string
			isFree := func() bool {
				calls, tasks, bytes := s.conn.InFlight()
				left = fmt.Sprintf("%d calls, %d tasks, %d bytes, %d goroutines that wait", calls, tasks, bytes, s.conn.Waiting())
				return calls+tasks+bytes+s.conn.Waiting() == 0
			}
			if !eventually(isFree) {
				t.Errorf("left are %s", left)
			}
		}
	}
	asleep := func() bool { return e.client.WatchSleeps() && e.server.WatchSleeps() }
	if !eventually(asleep) {
		t.Error("the watch does not sleep")
	}
}

// eventually waits until f reports true, for ten seconds at most.
func eventually(f func() bool) bool {
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(tick) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// call runs one and checks that the reply is its own.
func (e *ends) call(ctx context.Context, text, want string) error {
	call := &lineCall{text: text}
	if _, err := e.client.Do(ctx, call); err != nil {
		return err
	}
	return call.check(want)
}

func (c *lineCall) check(want string) error {
	if line := fmt.Sprintf("%d reply %s\n", c.id, want); c.reply != line {
		return fmt.Errorf("call %d %.40q got the reply %.60q (%d bytes), not %.60q (%d bytes)", c.id, c.text, c.reply, len(c.reply), line, len(line))
	}
	return nil
}

// noLeaks checks for goroutines when everything that the test cleans up is
// cleaned up. It must be called first.
func noLeaks(t testing.TB) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
}

func pipePair() (client, server net.Conn, err error) {
	client, server = net.Pipe()
	return client, server, nil
}

// socketPairs makes connections through a listener.
func socketPairs(t testing.TB, network, addr string) func() (net.Conn, net.Conn, error) {
	t.Helper()
	lis, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return pairsOf(lis, func() (net.Conn, error) { return net.Dial(network, lis.Addr().String()) })
}

func pairsOf(lis net.Listener, dial func() (net.Conn, error)) func() (net.Conn, net.Conn, error) {
	return func() (client, server net.Conn, err error) {
		accepted := make(chan net.Conn, 1)
		go func() {
			conn, err := lis.Accept()
			if err == nil {
				accepted <- conn
			}
			close(accepted)
		}()
		if client, err = dial(); err != nil {
			lis.Close()
			<-accepted
			return nil, nil, err
		}
		if server = <-accepted; server == nil {
			return nil, nil, errors.New("nothing was accepted")
		}
		return client, server, nil
	}
}

func tcpPairs(t testing.TB) func() (net.Conn, net.Conn, error) {
	return socketPairs(t, "tcp", "127.0.0.1:0")
}

func unixPairs(t testing.TB) func() (net.Conn, net.Conn, error) {
	return socketPairs(t, "unix", filepath.Join(t.TempDir(), "s"))
}

// overTLS wraps the connections of pair, and shakes hands: who waits for that
// waits for a mutex, which stops the clock of a bubble. httptest brings the
// certificate.
func overTLS(pair func() (net.Conn, net.Conn, error)) func() (net.Conn, net.Conn, error) {
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	cfg := &tls.Config{Certificates: web.TLS.Certificates}
	web.Close()
	return func() (net.Conn, net.Conn, error) {
		client, server, err := pair()
		if err != nil {
			return nil, nil, err
		}
		secure := tls.Server(server, cfg)
		shaken := make(chan error, 1)
		go func() { shaken <- secure.Handshake() }()
		ours := tls.Client(client, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // what is tested is the frames
		err = ours.Handshake()
		return ours, secure, errors.Join(err, <-shaken)
	}
}

// everyConn runs f over each kind of connection that the engine must do with.
func everyConn(t *testing.T, f func(t *testing.T, pair func() (net.Conn, net.Conn, error))) {
	for name, pairs := range map[string]func(testing.TB) func() (net.Conn, net.Conn, error){
		"pipe":        func(testing.TB) func() (net.Conn, net.Conn, error) { return pipePair },
		"tcp":         tcpPairs,
		"unix":        unixPairs,
		"tls":         func(t testing.TB) func() (net.Conn, net.Conn, error) { return overTLS(tcpPairs(t)) },
		"tls in pipe": func(testing.TB) func() (net.Conn, net.Conn, error) { return overTLS(pipePair) },
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			f(t, pairs(t))
		})
	}
}
