package stream_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire/wire/internal/stream"
)

// FuzzEngine sends the same bytes to a server whole and cut: the replies are the
// same, whatever the bytes are, and the connection ends. What is no frame closes
// it. Nothing panics or hangs: a bubble sees what stays.
func FuzzEngine(f *testing.F) {
	for _, s := range []string{
		"1 call a\n2 call b\n",
		"  1 call a\n\n",
		"1 open x\n1 msg a\n1 msg b\n1 grant 5\n1 end -\n2 call after\n",
		"1 call slow\n2 call fast\n1 cancel -\n",
		"1 reply nobody asked\n1 part x\n1 item x\n1 credit 99999999999999999999\n3 call x\n",
		"0 tell a\n1 call b\n0 tell c\n",
		"!garbage\n",
		"1 call in part",
		"1 call " + strings.Repeat("x", 600) + "\n",
		"1 call panic\n2 call goexit\n3 call x\n",
	} {
		f.Add([]byte(s), []byte{3, 1, 200})
	}
	f.Fuzz(func(t *testing.T, wire, cuts []byte) {
		if len(wire) > 4000 || bytes.Count(wire, []byte("\n")) > 90 {
			return // what the connection holds at a time is another test
		}
		whole := converse(t, [][]byte{wire})
		var pieces [][]byte
		for rest, i := wire, 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if cut := converse(t, pieces); cut != whole && isOrderly(wire) {
			t.Errorf("cut it gives %q, whole %q", cut, whole)
		}
	})
}

// isOrderly reports whether the answers are the same however goroutines are
// scheduled: every call has its own id, and all run on the reading goroutine. A
// task elsewhere may or may not be done when a later frame ends it.
func isOrderly(wire []byte) bool {
	seen := map[uint32]bool{}
	slow := 0
	for line := range bytes.Lines(wire) {
		id, word, text, err := split(bytes.TrimLeft(line, " "))
		if err != nil || word != "call" && word != "open" {
			continue
		}
		if text == "slow" {
			slow++ // a few make the pace of all slow
		}
		if seen[id] || word == "open" || slow > 2 {
			return false
		}
		seen[id] = true
	}
	return true
}

// converse sends pieces to a server and returns what it answers, sorted: tasks
// that run apart are answered in any order.
func converse(t *testing.T, pieces [][]byte) (answers string) {
	synctest.Test(t, func(t *testing.T) {
		far := &lineServer{
			handle: misbehave,
			told:   func(string) {},
			flow: func(ctx context.Context, s *lineStream) string {
				n := 0
				for ; ; n++ {
					if _, err := s.recv(ctx); err != nil {
						return strconv.Itoa(n)
					}
				}
			},
		}
		_, conn, ended := onPipe(far, func(cfg *stream.ServerConfig) { cfg.MaxFrame = 500 })
		got := make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(conn) // it ends in whatever way
			got <- b
		}()
		for _, p := range pieces {
			if _, err := conn.Write(p); err != nil {
				break // it was closed
			}
			synctest.Wait()
		}
		time.Sleep(time.Second) // handlers end before the connection does
		conn.(interface{ SetReadDeadline(time.Time) error }).SetReadDeadline(time.Now())
		b := <-got
		conn.Close()
		<-ended
		if calls, tasks, size := far.open[0].conn.InFlight(); calls+tasks+size > 0 {
			t.Errorf("%d calls, %d tasks and %d bytes are left", calls, tasks, size)
		}
		lines := strings.SplitAfter(string(b), "\n")
		slices.Sort(lines)
		answers = strings.Join(lines, "")
	})
	return answers
}

// misbehave does what its text says.
func misbehave(ctx context.Context, text string) string {
	switch text {
	case "slow":
		select {
		case <-ctx.Done():
		case <-time.After(10 * tick):
		}
	case "panic":
		panic("in a task")
	case "goexit":
		runtime.Goexit()
	}
	return text
}

// FuzzReplies sends any bytes to a client that waits for two replies: each call
// ends, with its reply or an error, the same whether the bytes come whole or cut.
func FuzzReplies(f *testing.F) {
	for _, s := range []string{
		"1 reply a\n2 reply b\n",
		"2 reply b\n1 part a\n1 part a\n1 reply a\n",
		"1 reply a\n1 reply a\n2 re",
		"1 reply " + strings.Repeat("x", 600) + "\n",
		"!\n",
		"1 call x\n2 item y\n",
	} {
		f.Add([]byte(s), []byte{2, 7})
	}
	f.Fuzz(func(t *testing.T, wire, cuts []byte) {
		if len(wire) > 4000 {
			return
		}
		whole := answer(t, wire, nil)
		if cut := answer(t, wire, cuts); cut != whole {
			t.Errorf("cut it gives %q, whole %q", cut, whole)
		}
	})
}

func answer(t *testing.T, wire, cuts []byte) string {
	var ends strings.Builder
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		dialled := false
		client := stream.NewClient(stream.ClientConfig{
			Dial: func(context.Context) (net.Conn, error) {
				if dialled {
					return nil, io.EOF
				}
				dialled = true
				return ours, nil
			},
			Open:     openLineClient,
			MaxFrame: 500,
		})
		calls := [2]*lineCall{{text: "one"}, {text: "two"}}
		var done [2]<-chan error
		for i := range calls {
			done[i] = start(t.Context(), client, calls[i])
			synctest.Wait()
			if _, err := io.ReadFull(theirs, make([]byte, len("1 call one\n"))); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; len(wire) > 0; i++ {
			n := len(wire)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			if _, err := theirs.Write(wire[:n]); err != nil {
				break // it was closed
			}
			synctest.Wait()
			wire = wire[n:]
		}
		time.Sleep(tick)
		theirs.Close()
		for i := range calls {
			fmt.Fprintf(&ends, "%q %v\n", calls[i].reply, <-done[i])
		}
		client.Close()
	})
	return ends.String()
}
