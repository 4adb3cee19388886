package rest

import (
	"context"
	"errors"
	"testing"
)

// A stream that has begun, and is not served yet when the server stops waiting,
// is cut off all the same.
func TestSocketsCutLate(t *testing.T) {
	var s sockets
	if !s.begin() {
		t.Fatal("a server that is not closing takes no stream")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("shutdown: %v", err)
	}
	cut := false
	s.onCut(func() { cut = true })()
	if !cut {
		t.Error("the stream goes on after the server has given up waiting")
	}
	s.done()
	if s.begin() {
		t.Error("a stream begins after the shutdown")
	}
}
