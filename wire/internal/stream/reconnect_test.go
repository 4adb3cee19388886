package stream_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// New connections in the place of those that broke.

// dialPipes makes a client whose connections are pipes, one after the other.
func dialPipes(t *testing.T) (*stream.Client, <-chan net.Conn) {
	t.Helper()
	ends := make(chan net.Conn, 100)
	client := stream.NewClient(stream.ClientConfig{
		Dial: func(context.Context) (net.Conn, error) {
			ours, theirs := net.Pipe()
			ends <- theirs
			return ours, nil
		},
		Open:     openLineClient,
		MaxFrame: 1 << 20,
	})
	t.Cleanup(func() { client.Close() })
	return client, ends
}

// A call whose request was not written whole did not run, and is made again; so
// is one that may run twice. The others fail, and say that they may have run.
func TestCallsAreRepeated(t *testing.T) {
	for _, tt := range []struct {
		name    string
		repeat  bool
		written bool
		again   bool
	}{
		{"not written", false, false, true},
		{"not written, may repeat", true, false, true},
		{"written", false, true, false},
		{"written, may repeat", true, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, ends := dialPipes(t)
				call := &lineCall{text: "x", repeat: tt.repeat}
				done := start(t.Context(), client, call)
				first := <-ends
				if tt.written {
					wantLine(t, bufio.NewReader(first), "1 call x")
				} else if _, err := io.ReadFull(first, make([]byte, 5)); err != nil {
					t.Fatal(err)
				}
				first.Close()
				if !tt.again {
					wantStatus(t, <-done, codes.Unavailable, "after the request was written; it may have run")
					return
				}
				second := <-ends
				wantLine(t, bufio.NewReader(second), "1 call x")
				if _, err := io.WriteString(second, "1 reply y\n"); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if err := call.check("y"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A call is not repeated for ever.
func TestRepetitionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, ends := dialPipes(t)
		done := start(t.Context(), client, &lineCall{text: "x", repeat: true})
		n := 0
		for {
			select {
			case conn := <-ends:
				n++
				wantLine(t, bufio.NewReader(conn), "1 call x")
				conn.Close()
				continue
			case err := <-done:
				wantStatus(t, err, codes.Unavailable, "it may have run")
			}
			break
		}
		if n != 5 {
			t.Errorf("the call was made %d times", n)
		}
	})
}

// A call that lost its connection and gets no other one says both.
func TestNoOtherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := overPipe(t)
		done := start(t.Context(), client, &lineCall{text: "x", repeat: true})
		wantLine(t, bufio.NewReader(conn), "1 call x")
		conn.Close()
		err := <-done
		wantStatus(t, err, codes.Unavailable, "it may have run")
		wantStatus(t, err, codes.Unavailable, "trying again failed")
		wantStatus(t, err, codes.Unavailable, "there is one only")
	})
}

// A mute connection fails writes at once, while whoever reads it sees nothing.
type mute struct {
	net.Conn
	release chan struct{}
}

func (m *mute) Write([]byte) (int, error) { return 0, errors.New("the socket is broken") }

func (m *mute) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	<-m.release
	return n, err
}

// Calls that begin after a write has failed do not begin on that connection,
// even if nobody who reads has seen its end yet.
func TestWriteFailsBeforeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var dials atomic.Int32
		far := &lineServer{handle: echo}
		pair := func() (net.Conn, net.Conn, error) {
			ours, theirs := net.Pipe()
			if dials.Add(1) == 1 {
				return &mute{Conn: ours, release: release}, theirs, nil
			}
			return ours, theirs, nil
		}
		e := join(t, pair, &lineServer{}, far, edits{})
		first := start(t.Context(), e.client, &lineCall{text: "first"})
		synctest.Wait()
		if err := e.call(t.Context(), "second", "second"); err != nil {
			t.Errorf("second: %v", err)
		}
		close(release)
		if err := <-first; err != nil {
			t.Errorf("first: %v", err)
		}
	})
}

// After attempts to dial that failed the next ones wait, longer and longer, up
// to a second; calls meanwhile get the last error at once.
func TestBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var attempts []time.Duration
		var works atomic.Bool
		ours, theirs := net.Pipe()
		client := stream.NewClient(stream.ClientConfig{
			Dial: func(context.Context) (net.Conn, error) {
				attempts = append(attempts, time.Since(begin))
				if works.Load() {
					return ours, nil
				}
				return nil, &rpc.DialError{Target: "x", Err: errors.New("refused")}
			},
			Open:     openLineClient,
			MaxFrame: 1000,
		})
		defer client.Close()
		for range 20_000 {
			if _, err := client.Do(t.Context(), &lineCall{}); !errors.As(err, new(*rpc.DialError)) {
				t.Fatalf("error is %v", err)
			}
			time.Sleep(tick)
		}
		if n := len(attempts); n < 20 || n > 60 {
			t.Errorf("there were %d attempts in 20 s", n)
		}
		for i := 3; i < len(attempts); i++ {
			if pause := attempts[i] - attempts[i-1]; pause > time.Second+tick || pause < 5*tick {
				t.Errorf("the pause before attempt %d was %v", i, pause)
			}
		}
		works.Store(true)
		time.Sleep(time.Second)
		done := start(t.Context(), client, &lineCall{text: "x"})
		wantLine(t, bufio.NewReader(theirs), "1 call x")
		if _, err := io.WriteString(theirs, "1 reply y\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		theirs.Close()
	})
}
