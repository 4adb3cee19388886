package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/bench/peers/peer"
)

// fake is a connection that answers with what its function makes of a call.
type fake func(seq int64, text string) (int64, string, error)

func (f fake) Call(_ context.Context, seq int64, text string) (int64, string, error) {
	return f(seq, text)
}
func (fake) Close() error { return nil }

func dialFake(t *testing.T, f fake, shared bool, l load) *clients {
	t.Helper()
	c, err := dialAll(t.Context(), peer.Peer{Shared: shared, Dial: func(context.Context, string) (peer.Conn, error) { return f, nil }}, "", l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A reply that is not the echo ends a window with an error.
func TestRunChecksReplies(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		answer     fake
	}{
		{"number", "wrong reply: number", func(seq int64, text string) (int64, string, error) { return seq + 1, text, nil }},
		{"text", "wrong reply", func(seq int64, text string) (int64, string, error) { return seq, text[:1] + "?" + text[2:], nil }},
		{"short", "0 bytes for 8", func(seq int64, _ string) (int64, string, error) { return seq, "", nil }},
		{"failure", "unwell", func(int64, string) (int64, string, error) { return 0, "", errors.New("unwell") }},
	} {
		calls, _, err := dialFake(t, tc.answer, true, load{4, 1, 8}).run(time.Minute)
		if calls != 0 || err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %d calls, %v", tc.name, calls, err)
		}
	}
}

func TestRun(t *testing.T) {
	echo := fake(func(seq int64, text string) (int64, string, error) { return seq, text, nil })
	c := dialFake(t, echo, true, load{4, 2, 8})
	if len(c.conns) != 2 {
		t.Errorf("%d connections", len(c.conns))
	}
	calls, took, err := c.run(5 * time.Millisecond)
	if err != nil || calls < 4 || took < 5*time.Millisecond {
		t.Errorf("%d calls in %v: %v", calls, took, err)
	}
	var sent int64
	for i, seq := range c.seqs {
		sent += seq - int64(i)<<32
	}
	if sent != calls {
		t.Errorf("%d calls were made and %d counted", sent, calls)
	}
	if apart := dialFake(t, echo, false, load{4, 2, 8}); len(apart.conns) != 4 {
		t.Errorf("%d connections for callers that cannot share any", len(apart.conns))
	}
}

// A peer that does not start, and one that fails under a load, leave the others
// their figures.
func TestRunWithoutAPeer(t *testing.T) {
	res, err := run(t.Context(), plan{Peers: []string{"none", "raw"}, Loads: []load{{1, 1, 64}}, Rounds: 1, Window: 10 * time.Millisecond}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Cells[0]; !strings.Contains(c.Error, `no peer "none"`) || c.Samples[0] != nil {
		t.Errorf("%+v", c)
	}
	if c := res.Cells[1]; c.Error != "" || c.Samples[0].Calls == 0 {
		t.Errorf("%+v", c)
	}
}

func TestRunInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err := run(ctx, plan{Peers: []string{"raw"}, Loads: []load{{1, 1, 64}}, Rounds: 1, Window: time.Minute}, io.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestText(t *testing.T) {
	if a, b := text(1, 64), text(2, 64); a == b || len(a) != 64 || a != text(1, 64) || strings.ContainsAny(a, "\"\\\x00") {
		t.Errorf("%q and %q", a, b)
	}
}
