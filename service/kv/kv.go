// Package kv is a key-value store with the interface of the "gRPC + JSON"
// article: Create, Retrieve, Update, Delete on keys and values of bytes.
//
// Beyond the article, a value has a version, and Update and Delete may be for
// one version alone; a key may have a time to live; Scan lists the keys that
// begin with a prefix, and Watch tells of their changes. docs/spec/kv.md says
// what each promises.
//
// The store is in memory, and readers take no lock. With a [Durable], such as
// package disk's, every change that is answered is on disk.
package kv

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Options set up a store. The zero value of a field is its default.
type Options struct {
	// ReadDelay and WriteDelay imitate a slow disk; the article's are 10 ms and
	// 50 ms. Default: no delay.
	ReadDelay, WriteDelay time.Duration
	// MaxBytes bounds what the store holds: keys, values, and 128 bytes for each
	// key. Beyond it Create and Update are ResourceExhausted. Default 256 MiB.
	MaxBytes int64
	// MaxKey is the longest key, at most 32 KiB. Default 8 KiB. The longest
	// value is what a message can hold, [everywire.Limits].
	MaxKey int
	// History is how many changes are kept for those who come back to watch,
	// as long as their keys and values are within HistoryBytes. Defaults 4096
	// and 16 MiB.
	History      int
	HistoryBytes int64
	// MaxLag is how many changes a watcher may be behind before its stream is
	// ended, when it has caught up once. Default half of History.
	MaxLag int
	// MaxStale bounds what scans that are under way make the store hold: the
	// keys and values that have been replaced or removed since the oldest of
	// them began. That one is Aborted beyond it. Default a quarter of MaxBytes.
	MaxStale int64
}

const (
	defaultMaxBytes     = 256 << 20
	defaultMaxKey       = 8 << 10
	mostMaxKey          = 32 << 10
	defaultHistory      = 4096
	defaultHistoryBytes = 16 << 20

	// maxTTL keeps times within what nanoseconds in 64 bits can say.
	maxTTL = 100 * 365 * 24 * time.Hour
)

func (o Options) withDefaults() Options {
	o.MaxBytes = orDefault(o.MaxBytes, defaultMaxBytes)
	o.MaxKey = min(orDefault(o.MaxKey, defaultMaxKey), mostMaxKey)
	o.History = orDefault(o.History, defaultHistory)
	o.HistoryBytes = orDefault(o.HistoryBytes, defaultHistoryBytes)
	o.MaxLag = orDefault(o.MaxLag, max(o.History/2, 1))
	o.MaxStale = orDefault(o.MaxStale, o.MaxBytes/4)
	return o
}

func orDefault[T int | int64](n, def T) T {
	if n == 0 {
		return def
	}
	return n
}

// A Store holds keys and values. It is safe for concurrent use.
type Store struct {
	opts    Options
	durable Durable // or nil
	now     atomic.Pointer[state]
	feed    feed
	views   views
	queue   queue

	// turn is held by whoever makes changes; the fields below are under it.
	turn   sync.Mutex
	timers timers
	alarm  *time.Timer // when the first of timers expires; nil before the first
	broken error       // of the Durable; no more changes
	closed bool
}

// New returns an empty store in memory. It needs no Close, but one ends the
// timer of keys that have yet to expire.
func New(opts Options) *Store {
	s := &Store{opts: opts.withDefaults()}
	s.now.Store(&state{})
	s.feed.init(s.opts, 0)
	s.queue.init(s.opts)
	s.views.most = s.opts.MaxStale
	return s
}

// Open returns a store with what the Durable has, and all that is changed is
// kept there. The store closes it.
func Open(opts Options, durable Durable) (*Store, error) {
	s := New(opts)
	var loaded state
	version, err := durable.Load(func(it *Item) {
		loaded.root = loaded.root.put(it)
		loaded.bytes += it.size()
		if it.Expires != 0 {
			s.timers.Push(it)
		}
	})
	if err != nil {
		return nil, err
	}
	loaded.version = version
	s.now.Store(&loaded)
	s.feed.init(s.opts, version)
	s.durable = durable
	s.turn.Lock()
	defer s.turn.Unlock()
	s.timers.order()
	s.setAlarm(time.Now().UnixNano())
	return s, nil
}

// Stop ends the streams of those who watch: calls that would not end by
// themselves. What else is called is answered as before.
func (s *Store) Stop() { s.feed.close() }

// Close stops the store, waits for the change that is being made, and closes
// the Durable. Later changes are refused as Unavailable.
func (s *Store) Close() error {
	s.Stop()
	s.turn.Lock()
	defer s.turn.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.alarm != nil {
		s.alarm.Stop()
	}
	if s.durable == nil {
		return nil
	}
	return s.durable.Close()
}

// Register adds the store's methods to reg.
func (s *Store) Register(reg *everywire.Registry) {
	everywire.Handle(reg, Create, s.Create,
		everywire.WithDoc("Stores a value under a key that is not there yet."),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "kv_create", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("POST", "/kv", "*"))
	everywire.Handle(reg, Retrieve, s.Retrieve,
		everywire.WithDoc("Returns a key's value."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "kv_retrieve", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("GET", "/kv/{key}", ""))
	everywire.Handle(reg, Update, s.Update,
		everywire.WithDoc("Replaces the value of a key that is there."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "kv_update", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("PUT", "/kv/{key}", "*"))
	everywire.Handle(reg, Delete, s.Delete,
		everywire.WithDoc("Removes a key. A key that is not there is no error."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "kv_delete", Params: everywire.ParamsInOrder}),
		everywire.WithRoute("DELETE", "/kv/{key}", ""))
	everywire.HandleServerStream(reg, Scan, s.Scan,
		everywire.WithDoc("Lists the keys that begin with a prefix, in order, as they were at one moment."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/kv", ""))
	everywire.HandleServerStream(reg, Watch, s.Watch,
		everywire.WithDoc("Tells of every change of a key that begins with a prefix, as it happens."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/kv:watch", ""))
}

// Create stores a value under a key that is not there yet.
func (s *Store) Create(ctx context.Context, in *CreateRequest) (*CreateResponse, error) {
	version, err := s.write(ctx, Created, in.Key, in.Value, in.TTL, nil, nil)
	if err != nil {
		return nil, err
	}
	return &CreateResponse{Version: version}, nil
}

// Update replaces the value of a key that is there.
func (s *Store) Update(ctx context.Context, in *UpdateRequest) (*UpdateResponse, error) {
	version, err := s.write(ctx, Updated, in.Key, in.Value, in.TTL, in.IfMatch, in.IfVersion)
	if err != nil {
		return nil, err
	}
	return &UpdateResponse{Version: version}, nil
}

func (s *Store) write(ctx context.Context, kind Kind, key, value []byte, ttl *time.Duration, ifMatch *string, ifVersion *int64) (int64, error) {
	if err := s.checkKey("key", key); err != nil {
		return 0, err
	}
	cond, err := conditionOf(ifMatch, ifVersion)
	if err != nil {
		return 0, err
	}
	if ttl != nil && (*ttl <= 0 || *ttl > maxTTL) {
		return 0, violation("ttl", "%v is not between 1ns and %v", *ttl, maxTTL)
	}
	if err := wait(ctx, s.opts.WriteDelay); err != nil {
		return 0, err
	}
	var expires int64
	if ttl != nil {
		expires = time.Now().Add(*ttl).UnixNano()
	}
	w := &write{kind: kind, cond: cond, item: NewItem(key, value, 0, expires)}
	w.key = w.item.Key
	if err := s.do(w); err != nil {
		return 0, err
	}
	return w.item.Version, nil
}

// Delete removes a key. It succeeds whether or not the key was there.
func (s *Store) Delete(ctx context.Context, in *DeleteRequest) (*DeleteResponse, error) {
	if err := s.checkKey("key", in.Key); err != nil {
		return nil, err
	}
	cond, err := conditionOf(in.IfMatch, in.IfVersion)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, s.opts.WriteDelay); err != nil {
		return nil, err
	}
	if err := s.do(&write{kind: Deleted, key: in.Key, cond: cond}); err != nil {
		return nil, err
	}
	return &DeleteResponse{}, nil
}

// Retrieve returns a key's value.
func (s *Store) Retrieve(ctx context.Context, in *RetrieveRequest) (*RetrieveResponse, error) {
	if err := s.checkKey("key", in.Key); err != nil {
		return nil, err
	}
	if err := wait(ctx, s.opts.ReadDelay); err != nil {
		return nil, err
	}
	it := s.now.Load().root.get(in.Key)
	if it == nil || it.Expires != 0 && it.expired(time.Now().UnixNano()) {
		return nil, notFound(in.Key)
	}
	// The reply shares the value: items are replaced, never changed.
	return &RetrieveResponse{Value: it.Value, Version: it.Version, Expires: it.expiresAt()}, nil
}

func (s *Store) checkKey(field string, key []byte) error {
	if len(key) == 0 {
		return violation(field, "is empty")
	}
	return s.checkLength(field, key)
}

func (s *Store) checkLength(field string, key []byte) error {
	if len(key) > s.opts.MaxKey {
		return violation(field, "%q… has %d bytes, more than %d", short(key), len(key), s.opts.MaxKey)
	}
	return nil
}

var errClosed = failure(codes.Unavailable, ReasonClosed, nil, "the store is being closed")

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
