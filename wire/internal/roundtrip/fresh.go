package roundtrip

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// A Carrier is an http.RoundTripper with connections, which Close ends together with
// the requests on them.
type Carrier interface {
	http.RoundTripper
	Close()
}

// A Fresh gives each request a carrier of its own, and closes it when the response's
// body is closed or the request's context has ended. It is for protocols whose
// connections are made for many requests at once: others would find a connection and
// use it.
type Fresh struct {
	// New makes a carrier. It does not connect.
	New func() Carrier

	mu     sync.Mutex
	open   map[*fresh]struct{}
	closed bool
}

// fresh is one carrier.
type fresh struct {
	Carrier
	of   *Fresh
	once sync.Once
}

func (f *fresh) close() {
	f.once.Do(func() {
		f.Close()
		f.of.mu.Lock()
		defer f.of.mu.Unlock()
		delete(f.of.open, f)
	})
}

func (t *Fresh) begin() *fresh {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	if t.open == nil {
		t.open = map[*fresh]struct{}{}
	}
	f := &fresh{Carrier: t.New(), of: t}
	t.open[f] = struct{}{}
	return f
}

// RoundTrip is [http.RoundTripper]'s.
func (t *Fresh) RoundTrip(r *http.Request) (*http.Response, error) {
	f := t.begin()
	if f == nil {
		if r.Body != nil {
			_ = r.Body.Close() // nobody reads it
		}
		return nil, ErrClosed
	}
	res, err := f.RoundTrip(r)
	if err != nil {
		f.close()
		return nil, err
	}
	// Who gives a stream up ends its context, and may never close the body.
	unwatch := context.AfterFunc(r.Context(), f.close)
	res.Body = &lastBody{ReadCloser: res.Body, close: func() {
		unwatch()
		f.close()
	}}
	return res, nil
}

// Close ends the requests in flight.
func (t *Fresh) Close() {
	t.mu.Lock()
	t.closed = true
	open := make([]*fresh, 0, len(t.open))
	for f := range t.open {
		open = append(open, f)
	}
	t.mu.Unlock()
	for _, f := range open {
		f.close()
	}
}

// A lastBody is that of the one response of a connection.
type lastBody struct {
	io.ReadCloser
	close func()
}

// Close is [io.Closer]'s.
func (b *lastBody) Close() error {
	err := b.ReadCloser.Close()
	b.close()
	return err
}
