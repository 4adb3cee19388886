package kv

import "time"

// An Item is a key with its value. It is never changed: replies, events and
// views share it.
type Item struct {
	Key, Value []byte
	// Version is the number of the change that stored the value.
	Version int64
	// Expires is when the key will be gone, in nanoseconds since 1970; 0 is
	// never.
	Expires int64

	timer int // its place in timers; only who has the turn looks
}

// NewItem returns an item with copies of key and value.
func NewItem(key, value []byte, version, expires int64) *Item {
	buf := make([]byte, len(key)+len(value)) // one piece of memory for both
	n := copy(buf, key)
	copy(buf[n:], value)
	return &Item{Key: buf[:n:n], Value: buf[n:], Version: version, Expires: expires, timer: noTimer}
}

// overhead is what an item is counted beside its key and value: about what it
// costs in the tree, so that many small ones cannot pass for nothing.
const overhead = 128

func (it *Item) size() int64 { return int64(len(it.Key)) + int64(len(it.Value)) + overhead }

func (it *Item) expired(now int64) bool { return it.Expires != 0 && it.Expires <= now }

// expiresAt is what messages say of Expires: nil is never.
func (it *Item) expiresAt() *time.Time {
	if it.Expires == 0 {
		return nil
	}
	t := time.Unix(0, it.Expires).UTC()
	return &t
}

// A Kind is what a change did to its key.
type Kind uint8

// The kinds of change.
const (
	Created Kind = iota
	Updated
	Deleted
	Expired
)

func (k Kind) String() string { return [...]string{"create", "update", "delete", "expire"}[k] }

// Gone reports whether the key is not there after the change.
func (k Kind) Gone() bool { return k >= Deleted }

// A Change is one change of one key. Its number is the item's version; versions
// follow each other without gaps.
type Change struct {
	Kind Kind
	// Item is the new one. Of a key that is gone, it has no value.
	Item *Item

	old *Item // the one that was there, or nil
}

// A Durable keeps what a store holds, so that it is there when the process is
// not any more. One call is made at a time.
type Durable interface {
	// Load gives each item that is kept, in any order, and returns the version of
	// the last change.
	Load(each func(*Item)) (version int64, err error)
	// Commit keeps changes, all of them or none: when it returns nil they
	// outlive the process and the system. The last change's version is kept
	// beside them, though its key may be gone. An error that is ErrNoSpace means
	// that nothing has changed and that a later commit may succeed; after any
	// other the store takes no more changes.
	Commit(changes []Change) error
	Close() error
}
