package rest

import (
	"context"
	"sync"
)

// sockets are the streams that run on WebSockets. The HTTP server has handed
// their connections over, and does not wait for them.
type sockets struct {
	mu      sync.Mutex
	closing bool
	gaveUp  bool // on the streams that are left
	open    int
	cuts    map[*func()]struct{} // end a stream at once
	none    chan struct{}        // closed when the last one of a closing server is over
}

// begin counts a stream, unless the server is closing.
func (s *sockets) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.open++
	return true
}

func (s *sockets) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.open == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// onCut has cut called when the server waits no longer, or at once if it has
// given up while the stream began.
func (s *sockets) onCut(cut func()) (stop func()) {
	s.mu.Lock()
	if s.gaveUp {
		s.mu.Unlock()
		cut()
		return func() {}
	}
	defer s.mu.Unlock()
	if s.cuts == nil {
		s.cuts = map[*func()]struct{}{}
	}
	key := &cut
	s.cuts[key] = struct{}{}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.cuts, key)
	}
}

// close lets no stream begin any more.
func (s *sockets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// shutdown waits for the streams to end, and ends them when ctx does.
func (s *sockets) shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	if s.open == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.none == nil {
		s.none = make(chan struct{})
	}
	none := s.none
	s.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.gaveUp = true
	cuts := make([]func(), 0, len(s.cuts))
	for cut := range s.cuts {
		cuts = append(cuts, *cut)
	}
	s.mu.Unlock()
	for _, cut := range cuts {
		cut()
	}
	return ctx.Err()
}
