package rest

import (
	"context"
	"sync"
)

// inboxRoom is how many bytes of messages a stream keeps for a reader before the
// connection is no longer read.
const inboxRoom = 64 << 10

// An inbox keeps the messages that have come until they are asked for. One
// goroutine puts them in, others take them out.
type inbox struct {
	mu      sync.Mutex
	filling messages
	reading messages
	err     error         // behind the last message
	more    chan struct{} // closed, and made anew, when something was put in
	room    chan struct{} // the same, when all was taken out
}

// messages are some in one buffer.
type messages struct {
	bytes []byte
	ends  []int
	next  int // the first that is not taken out
	at    int // where it begins
}

func newInbox() *inbox { return &inbox{more: make(chan struct{}), room: make(chan struct{})} }

// put copies a message in when there is room for it. It drops it if the inbox is
// closed.
func (b *inbox) put(message []byte) {
	for {
		b.mu.Lock()
		if b.err != nil {
			b.mu.Unlock()
			return
		}
		if len(b.filling.bytes) < inboxRoom {
			b.filling.bytes = append(b.filling.bytes, message...)
			b.filling.ends = append(b.filling.ends, len(b.filling.bytes))
			close(b.more)
			b.more = make(chan struct{})
			b.mu.Unlock()
			return
		}
		room := b.room
		b.mu.Unlock()
		<-room
	}
}

// close lets err come behind the messages. Only the first one counts.
func (b *inbox) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return
	}
	b.err = err
	close(b.more)
	b.more = make(chan struct{})
	close(b.room) // who waits to put more finds the inbox closed
	b.room = make(chan struct{})
}

// take waits for the next message, which is valid until the next call.
func (b *inbox) take(ctx context.Context) ([]byte, error) {
	for {
		b.mu.Lock()
		if b.reading.next == len(b.reading.ends) {
			b.swap()
		}
		if r := &b.reading; r.next < len(r.ends) {
			end := r.ends[r.next]
			message := r.bytes[r.at:end:end]
			r.next, r.at = r.next+1, end
			b.mu.Unlock()
			return message, nil
		}
		err, more := b.err, b.more
		b.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// swap takes what has come for what was read. b.mu is held.
func (b *inbox) swap() {
	if len(b.filling.ends) == 0 {
		return
	}
	empty := messages{bytes: b.reading.bytes[:0], ends: b.reading.ends[:0]}
	if cap(empty.bytes) > 4*inboxRoom {
		empty.bytes = nil // a large message's
	}
	b.reading, b.filling = b.filling, empty
	close(b.room)
	b.room = make(chan struct{})
}
