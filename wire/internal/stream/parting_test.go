package stream_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire/wire/internal/stream"
)

// A partingSession says goodbye.
type partingSession struct{ stream.Session }

func (partingSession) Goodbye(err error, dst []byte) []byte {
	return fmt.Appendf(dst, "0 goodbye %v\n", err)
}

func parting(open func(c *stream.Conn) stream.Session) func(c *stream.Conn) stream.Session {
	return func(c *stream.Conn) stream.Session { return partingSession{open(c)} }
}

// partingPipe gives a client that parts, and the other end of its connection.
func partingPipe() (*stream.Client, net.Conn) {
	ours, theirs := net.Pipe()
	return stream.NewClient(stream.ClientConfig{
		Dial:     func(context.Context) (net.Conn, error) { return ours, nil },
		Open:     parting(openLineClient),
		MaxFrame: 1000,
	}), theirs
}

// A server's goodbye comes behind everything else.
func TestServerParts(t *testing.T) {
	for name, tc := range map[string]struct {
		sent     string
		shutdown bool
		want     []string
	}{
		"shutdown": {"7 call one\n", true, []string{"7 reply one", "0 goodbye <nil>"}},
		"a fault":  {"7 call one\n!\n", false, []string{"7 reply one", "0 bye a line cannot begin with !", "0 goodbye a line cannot begin with !"}},
	} {
		t.Run(name, func(t *testing.T) {
			began, gate := make(chan struct{}), make(chan struct{})
			ls := &lineServer{handle: func(_ context.Context, text string) string {
				close(began)
				<-gate
				return text
			}}
			srv, conn, ended := onPipe(ls, func(cfg *stream.ServerConfig) { cfg.Open = parting(cfg.Open) })
			sent := make(chan error, 1)
			go func() {
				_, err := io.WriteString(conn, tc.sent)
				sent <- err
			}()
			<-began
			down := make(chan error, 1)
			if tc.shutdown {
				go func() { down <- srv.Shutdown(context.Background()) }()
			}
			close(gate)
			r := bufio.NewReader(conn)
			for _, want := range tc.want {
				wantLine(t, r, want)
			}
			if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
				t.Errorf("behind the goodbye: %q, %v", rest, err)
			}
			<-ended
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if tc.shutdown {
				if err := <-down; err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A client parts when it is closed, and from a server that breaks the protocol.
func TestClientParts(t *testing.T) {
	for name, tc := range map[string]struct{ sent, want string }{
		"closed":  {"1 reply x\n", "0 goodbye <nil>"},
		"a fault": {"!\n", "0 goodbye a line cannot begin with !"},
	} {
		t.Run(name, func(t *testing.T) {
			client, conn := partingPipe()
			done := start(t.Context(), client, &lineCall{text: "x"})
			r := bufio.NewReader(conn)
			wantLine(t, r, "1 call x")
			if _, err := io.WriteString(conn, tc.sent); err != nil {
				t.Fatal(err)
			}
			if name == "closed" {
				if err := <-done; err != nil {
					t.Error(err)
				}
				go client.Close() // the goodbye shows it
			}
			wantLine(t, r, tc.want)
			if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
				t.Errorf("behind the goodbye: %q, %v", rest, err)
			}
			if name != "closed" {
				if err := <-done; err == nil {
					t.Error("the call succeeded")
				}
			}
			client.Close()
		})
	}
}

// A server that does not read is not waited for long.
func TestClientPartsFromNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := partingPipe()
		done := start(t.Context(), client, &lineCall{text: "x"})
		wantLine(t, bufio.NewReader(conn), "1 call x")
		begin := time.Now()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			client.Close()
		}()
		if err := <-done; err == nil {
			t.Error("the call succeeded")
		}
		<-closed
		if d := time.Since(begin); d > 2*time.Second {
			t.Errorf("Close took %v", d)
		}
		conn.Close()
	})
}
