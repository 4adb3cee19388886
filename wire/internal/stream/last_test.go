package stream_test

import (
	"bufio"
	"io"
	"testing"
	"testing/synctest"
)

// A reply that is the peer's last ends the connection for calls: those that wait on
// it were sent behind the one that the peer could not read, and are made again on
// another connection, whatever they do; so is the next.
func TestLastReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, ends := dialPipes(t)
		long := &lineCall{text: "long"}
		first := start(t.Context(), client, long)
		conn := <-ends
		r := bufio.NewReader(conn)
		wantLine(t, r, "1 call long")
		behind := &lineCall{text: "behind"}
		second := start(t.Context(), client, behind)
		wantLine(t, r, "2 call behind")
		if _, err := io.WriteString(conn, "1 last no\n"); err != nil {
			t.Fatal(err)
		}
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if long.reply != "1 last no\n" {
			t.Errorf("the reply is %q", long.reply)
		}
		other := <-ends
		r = bufio.NewReader(other)
		wantLine(t, r, "1 call behind")
		next := &lineCall{text: "next"}
		third := start(t.Context(), client, next)
		wantLine(t, r, "2 call next")
		if _, err := io.WriteString(other, "1 reply y\n2 reply z\n"); err != nil {
			t.Fatal(err)
		}
		for _, call := range []struct {
			done <-chan error
			*lineCall
			want string
		}{{second, behind, "y"}, {third, next, "z"}} {
			if err := <-call.done; err != nil {
				t.Error(err)
			} else if err := call.check(call.want); err != nil {
				t.Error(err)
			}
		}
		// The client has closed the connection without waiting for the peer.
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // a pipe returns io.EOF itself
			t.Errorf("the end of the connection: %v", err)
		}
	})
}
