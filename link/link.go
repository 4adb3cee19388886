package link

import (
	"errors"
	"fmt"
)

// A Link is an emulated network with both ends in this process.
type Link struct {
	// A and B are the two ends. They are alike.
	A, B *End
}

// An Option changes how a link is made.
type Option func(*options)

type options struct {
	seed  uint64
	clock clock
}

func newOptions(opts []Option) *options {
	o := &options{}
	for _, set := range opts {
		set(o)
	}
	if o.clock == nil {
		o.clock = newRealClock()
	}
	return o
}

// WithSeed chooses which packets are lost and how much each is jittered: the
// n-th packet of a direction has the same fate on every link with the same
// spec and seed. The seed is 0 otherwise.
func WithSeed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// withClock is for tests.
func withClock(c clock) Option { return func(o *options) { o.clock = c } }

// New makes a link. The caller must close it.
func New(s Spec, opts ...Option) (*Link, error) {
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	o := newOptions(opts)
	a, err := newEnd(s, o, fromA)
	if err != nil {
		return nil, err
	}
	b, err := newEnd(s, o, fromB)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.join(b.arrive)
	b.join(a.arrive)
	return &Link{A: a, B: b}, nil
}

// Close closes both ends.
func (l *Link) Close() error { return errors.Join(l.A.Close(), l.B.Close()) }
