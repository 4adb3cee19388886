// Package kv is a key-value store in memory with the interface of the "gRPC +
// JSON" article: Create, Retrieve, Update, Delete on keys and values of bytes.
//
// Beyond the article, a value has a version, and Update and Delete may be for one
// version alone.
package kv

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Options set up a store.
type Options struct {
	// ReadDelay and WriteDelay imitate a slow disk; the article's are 10 ms and
	// 50 ms. Zero, the default, is no delay.
	ReadDelay, WriteDelay time.Duration
	// MaxBytes bounds the keys and values held together; beyond it Create and
	// Update are ResourceExhausted. Default 256 MiB.
	MaxBytes int
}

const defaultMaxBytes = 256 << 20

// A Store holds keys and values in memory. It is safe for concurrent use.
type Store struct {
	opts Options

	mu      sync.RWMutex
	items   map[string]item
	bytes   int
	changes int64 // values stored so far
}

// An item is a value, and the number of the change that stored it. No value has
// the number of another, also not one that had the key before.
type item struct {
	value   []byte
	version int64
}

// New returns an empty store.
func New(opts Options) *Store {
	if opts.MaxBytes == 0 {
		opts.MaxBytes = defaultMaxBytes
	}
	return &Store{opts: opts, items: map[string]item{}}
}

// Register adds the store's methods to reg.
func (s *Store) Register(reg *everywire.Registry) {
	everywire.Handle(reg, Create, s.create,
		everywire.WithDoc("Stores a value under a key that is not there yet."),
		everywire.WithRoute("POST", "/kv", "*"))
	everywire.Handle(reg, Retrieve, s.retrieve,
		everywire.WithDoc("Returns a key's value."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/kv/{key}", ""))
	everywire.Handle(reg, Update, s.update,
		everywire.WithDoc("Replaces the value of a key that is there."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithRoute("PUT", "/kv/{key}", "*"))
	everywire.Handle(reg, Delete, s.delete,
		everywire.WithDoc("Removes a key. A key that is not there is no error."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithRoute("DELETE", "/kv/{key}", ""))
}

func (s *Store) create(ctx context.Context, in *CreateRequest) (*CreateResponse, error) {
	version, err := s.write(ctx, in.Key, in.Value, false, nil)
	if err != nil {
		return nil, err
	}
	return &CreateResponse{Version: version}, nil
}

func (s *Store) update(ctx context.Context, in *UpdateRequest) (*UpdateResponse, error) {
	version, err := s.write(ctx, in.Key, in.Value, true, in.IfMatch)
	if err != nil {
		return nil, err
	}
	return &UpdateResponse{Version: version}, nil
}

// write stores a value; whether the key must exist already tells Update from
// Create.
func (s *Store) write(ctx context.Context, key, value []byte, mustExist bool, ifMatch *string) (int64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	if err := wait(ctx, s.opts.WriteDelay); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.items[string(key)]
	switch {
	case mustExist && !exists:
		return 0, notFound(key)
	case !mustExist && exists:
		return 0, status.Errorf(codes.AlreadyExists, "key %q exists", short(key))
	case !old.matches(ifMatch):
		return 0, changed(key)
	}
	size := s.bytes + len(value) - len(old.value)
	if !exists {
		size += len(key)
	}
	if size > s.opts.MaxBytes {
		return 0, status.Errorf(codes.ResourceExhausted, "the store is full: it holds %d bytes of at most %d", s.bytes, s.opts.MaxBytes)
	}
	s.bytes = size
	// The codec may hand out a part of a larger buffer: keep a copy of our own.
	s.changes++
	stored := item{bytes.Clone(value), s.changes}
	s.items[string(key)] = stored
	return stored.version, nil
}

func (s *Store) retrieve(ctx context.Context, in *RetrieveRequest) (*RetrieveResponse, error) {
	if err := checkKey(in.Key); err != nil {
		return nil, err
	}
	if err := wait(ctx, s.opts.ReadDelay); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found, ok := s.items[string(in.Key)]
	if !ok {
		return nil, notFound(in.Key)
	}
	// Values are replaced, never changed, so the reply may share this one.
	return &RetrieveResponse{Value: found.value, Version: found.version}, nil
}

// delete succeeds whether or not the key was there.
func (s *Store) delete(ctx context.Context, in *DeleteRequest) (*DeleteResponse, error) {
	if err := checkKey(in.Key); err != nil {
		return nil, err
	}
	if err := wait(ctx, s.opts.WriteDelay); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.items[string(in.Key)]; ok {
		if !old.matches(in.IfMatch) {
			return nil, changed(in.Key)
		}
		s.bytes -= len(in.Key) + len(old.value)
		delete(s.items, string(in.Key))
	}
	return &DeleteResponse{}, nil
}

// tag is the value's entity tag; RFC 9110, section 8.8.3.
func (i item) tag() string { return `"` + strconv.FormatInt(i.version, 10) + `"` }

// matches reports whether the value has one of the tags in a list, or the list
// is * or nil.
func (i item) matches(list *string) bool {
	if list == nil {
		return true
	}
	for tag := range strings.SplitSeq(*list, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || tag == i.tag() {
			return true
		}
	}
	return false
}

func changed(key []byte) error {
	return status.Errorf(codes.Aborted, "the value of key %q has changed", short(key))
}

func checkKey(key []byte) error {
	if len(key) == 0 {
		return status.Error(codes.InvalidArgument, "key: is empty")
	}
	return nil
}

func notFound(key []byte) error {
	return status.Errorf(codes.NotFound, "key %q does not exist", short(key))
}

// short keeps messages readable when a key is long.
func short(key []byte) []byte { return key[:min(len(key), 64)] }

// wait waits for d, or fails as ctx does.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
