package balance

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// options are a call's, for one of its attempts.
type options struct {
	pass     []grpc.CallOption // what the wire gets, without those below
	patient  bool              // the call waits for a server
	onFinish []func(error)     // to be called once, not for each attempt
}

func read(opts []grpc.CallOption) options {
	if !slices.ContainsFunc(opts, ours) {
		return options{pass: opts}
	}
	var o options
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.FailFastCallOption:
			o.patient = !opt.FailFast
		case grpc.OnFinishCallOption:
			o.onFinish = append(o.onFinish, opt.OnFinish)
		default:
			o.pass = append(o.pass, opt)
		}
	}
	return o
}

func ours(opt grpc.CallOption) bool {
	switch opt.(type) {
	case grpc.FailFastCallOption, grpc.OnFinishCallOption:
		return true
	}
	return false
}

func (o *options) finish(err error) {
	for _, f := range o.onFinish {
		f(err)
	}
}

// elsewhere reports whether a call that ended with err may be made at another address:
// the server was not there, or not there for it.
func elsewhere(err error) bool {
	return status.Code(err) == codes.Unavailable && !everywire.MayHaveRun(err)
}

// attempts makes a call at one member after another until one has it. try makes it at
// one; nobody fails it if no member could be reached.
func (b *balancer) attempts(ctx context.Context, patient bool, try func(*member) error, nobody func(error) error) error {
	var tried []*member
	var last error
	for {
		m, err := b.pick(ctx, tried, patient)
		if m == nil {
			switch {
			case err == nil && patient:
				// All were there and are not any more: from the beginning.
				tried, last = nil, nil
				continue
			case err == nil, last != nil && ctx.Err() == nil:
				return last
			}
			return nobody(err)
		}
		err = try(m)
		if err == nil || !elsewhere(err) || ctx.Err() != nil {
			if m.fails.Load() != 0 && (err == nil || everywire.MayHaveRun(err)) {
				m.fails.Store(0)
			}
			return err
		}
		b.lost(m, err)
		tried, last = append(tried, m), err
	}
}

// Invoke is [grpc.ClientConnInterface]'s.
func (b *balancer) Invoke(ctx context.Context, path string, args, reply any, opts ...grpc.CallOption) error {
	o := read(opts)
	err := b.attempts(ctx, o.patient, func(m *member) error {
		defer m.calls.Done()
		return m.conn.Invoke(ctx, path, args, reply, o.pass...)
	}, func(err error) error {
		// As a wire fails a call that reached nobody: its options are looked at, and
		// its end is reported. If ctx has ended, err says so, and more.
		return b.cfg.Invoke(context.WithoutCancel(ctx), path, args, reply, o.pass, func(context.Context, *rpc.Outgoing) error { return err })
	})
	o.finish(err)
	return err
}

// NewStream is [grpc.ClientConnInterface]'s.
func (b *balancer) NewStream(ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	o := read(opts)
	var stream grpc.ClientStream
	err := b.attempts(ctx, o.patient, func(m *member) (err error) {
		end := &ending{of: &o, left: m.calls.Done}
		pass := append(slices.Clone(o.pass), grpc.OnFinish(end.ended))
		stream, err = m.conn.NewStream(ctx, desc, path, pass...)
		end.began(err)
		return err
	}, func(err error) error {
		stream, err = b.cfg.NewStream(context.WithoutCancel(ctx), desc, path, nil, o.pass, func(context.Context, *rpc.Outgoing, func(error)) (rpc.ClientTransport, error) {
			return nil, err
		})
		return err
	})
	if err != nil {
		o.finish(err)
		return nil, err
	}
	return stream, nil
}

// An ending tells the end of a stream, once, and only of the attempt that began it.
type ending struct {
	of   *options
	left func()

	mu          sync.Mutex
	begun, over bool
	err         error
}

// began says how the attempt went. The end of a stream may come first.
func (e *ending) began(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.left()
		return
	}
	e.begun = true
	if e.over {
		e.left()
		e.of.finish(e.err)
	}
}

// ended is the stream's OnFinish.
func (e *ending) ended(err error) {
	e.mu.Lock()
	begun := e.begun
	e.over, e.err = true, err
	e.mu.Unlock()
	if begun {
		e.left()
		e.of.finish(err)
	}
}
