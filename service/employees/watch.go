package employees

import (
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// kept is how many events a feed keeps for those who come back.
	kept = 1024
	// behind is how many events a watcher may be behind before it is dropped:
	// nobody who changes something waits for those who watch.
	behind = 256
)

// A feed gives every event to all who watch. The zero value is one that nobody
// watches.
type feed struct {
	mu       sync.Mutex
	last     int64    // the sequence number of the newest event
	events   []*Event // the newest, in order
	watchers map[*watcher]struct{}
	closed   bool
}

// A watcher is one who watches.
type watcher struct {
	events chan *Event // closed when the watch ends
	lost   bool        // the watcher was too slow; set before events is closed
}

// send gives an event to all.
func (f *feed) send(kind string, e *Employee) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	event := &Event{Sequence: f.last, Kind: kind, Employee: e}
	if len(f.events) == kept {
		f.events = append(f.events[:0:0], f.events[kept/2:]...)
	}
	f.events = append(f.events, event)
	for w := range f.watchers {
		select {
		case w.events <- event:
		default:
			w.lost = true
			f.drop(w)
		}
	}
}

// watch begins to watch: from now on, or after an event of which those that
// followed are still there.
func (f *feed) watch(after *int64) (w *watcher, missed []*Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, nil, errClosed
	}
	if after != nil {
		oldest := f.last - int64(len(f.events)) // the newest that is not kept
		switch n := *after; {
		case n < 0 || n > f.last:
			return nil, nil, status.Errorf(codes.OutOfRange, "after: there is no event %d: the newest is %d", n, f.last)
		case n < oldest:
			return nil, nil, status.Errorf(codes.OutOfRange, "after: what followed event %d is not kept: the oldest event is %d", n, oldest+1)
		default:
			missed = append(missed, f.events[n-oldest:]...)
		}
	}
	w = &watcher{events: make(chan *Event, behind)}
	if f.watchers == nil {
		f.watchers = map[*watcher]struct{}{}
	}
	f.watchers[w] = struct{}{}
	return w, missed, nil
}

// drop ends a watch, if it has not ended. It is called under the lock.
func (f *feed) drop(w *watcher) {
	if _, ok := f.watchers[w]; ok {
		delete(f.watchers, w)
		close(w.events)
	}
}

func (f *feed) leave(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(w)
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for w := range f.watchers {
		f.drop(w)
	}
}

var errClosed = status.Error(codes.Unavailable, "the server is being stopped")

func (s *Service) watch(in *WatchRequest, stream grpc.ServerStreamingServer[Event]) error {
	var bad violations
	language := bad.filter("language", in.Language)
	if err := bad.err(); err != nil {
		return err
	}
	w, missed, err := s.feed.watch(in.After)
	if err != nil {
		return err
	}
	defer s.feed.leave(w)
	if err := stream.SendHeader(nil); err != nil { // so that the client knows that nothing is missed from here on
		return err
	}
	send := func(e *Event) error {
		if !speaks(e.Employee, language) {
			return nil
		}
		return stream.Send(e)
	}
	for _, e := range missed {
		if err := send(e); err != nil {
			return err
		}
	}
	for {
		select {
		case e, open := <-w.events:
			switch {
			case open:
				if err := send(e); err != nil {
					return err
				}
			case w.lost:
				return status.Errorf(codes.ResourceExhausted, "the client is more than %d events behind", behind)
			default:
				return errClosed
			}
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
	}
}
