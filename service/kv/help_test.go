package kv_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/disk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An engine is what a store stands on. Every test of the service runs on each.
type engine struct {
	name string
	// open opens a store. With the folder of one that has been closed, a durable
	// engine has what that one had.
	open    func(dir string, opts kv.Options) (*kv.Store, error)
	durable bool
}

var engines = []engine{
	{"memory", func(_ string, opts kv.Options) (*kv.Store, error) { return kv.New(opts), nil }, false},
	{"disk", func(dir string, opts kv.Options) (*kv.Store, error) {
		db, err := disk.Open(dir)
		if err != nil {
			return nil, err
		}
		return kv.Open(opts, db)
	}, true},
}

// onEach runs a test on a new store of each engine.
func onEach(t *testing.T, opts kv.Options, test func(t *testing.T, s *kv.Store)) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { test(t, e.start(t, t.TempDir(), opts)) })
	}
}

func (e engine) start(t testing.TB, dir string, opts kv.Options) *kv.Store {
	s, err := e.open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A stream is the server's end of a stream whose messages go to a function.
type stream[T any] struct {
	grpc.ServerStream
	ctx  context.Context
	send func(*T) error

	mu     sync.Mutex
	header metadata.MD
}

func (s *stream[T]) Context() context.Context { return s.ctx }
func (s *stream[T]) Send(m *T) error          { return s.send(m) }

func (s *stream[T]) SetHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = metadata.Join(s.header, md)
	return nil
}

func (s *stream[T]) SendHeader(md metadata.MD) error { return s.SetHeader(md) }

func (s *stream[T]) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.header.Get(kv.VersionHeader); len(v) == 1 {
		return v[0]
	}
	return ""
}

func scan(ctx context.Context, s *kv.Store, in *kv.ScanRequest) (all []*kv.Entry, version string, err error) {
	st := &stream[kv.Entry]{ctx: ctx, send: func(e *kv.Entry) error { all = append(all, e); return nil }}
	err = s.Scan(in, st)
	return all, st.version(), err
}

// A recorder watches in the background.
type recorder struct {
	ready chan struct{} // closed when the watch has begun
	ended chan struct{}

	mu     sync.Mutex
	events []*kv.Event
	err    error
}

func record(ctx context.Context, s *kv.Store, in *kv.WatchRequest) *recorder {
	r := &recorder{ready: make(chan struct{}), ended: make(chan struct{})}
	st := &beginning[kv.Event]{stream: stream[kv.Event]{ctx: ctx, send: func(e *kv.Event) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
		return nil
	}}, ready: r.ready}
	go func() {
		defer close(r.ended)
		err := s.Watch(in, st)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}()
	select {
	case <-r.ready:
	case <-r.ended:
	}
	return r
}

func (r *recorder) seen() []*kv.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// beginning is a stream that says when its header is sent.
type beginning[T any] struct {
	stream[T]
	ready chan struct{}
}

func (b *beginning[T]) SendHeader(md metadata.MD) error {
	defer close(b.ready)
	return b.stream.SendHeader(md)
}

func create(t testing.TB, s *kv.Store, key, value string) int64 {
	t.Helper()
	out, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte(key), Value: []byte(value)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Version
}

// details takes an error apart.
func details(err error) (code codes.Code, reason string, info map[string]string, resource, field string) {
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason, info = d.GetReason(), d.GetMetadata()
		case *errdetails.ResourceInfo:
			resource = d.GetResourceName()
		case *errdetails.BadRequest:
			field = d.GetFieldViolations()[0].GetField()
		}
	}
	return s.Code(), reason, info, resource, field
}

func ptr[T any](v T) *T { return &v }

// eventually waits for a condition that other goroutines bring about.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come about", what)
		}
		time.Sleep(time.Millisecond)
	}
}
