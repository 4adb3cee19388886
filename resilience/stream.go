package resilience

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Stream is a grpc.StreamClientInterceptor. A stream whose opening fails is
// opened again as a unary call is made again. One with a single request is also
// begun again when it breaks before anything has come; the request must not be
// changed before that. What a client has streamed is not kept, so other streams
// are not.
func (g *Guard) Stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	g.stats.calls.Add(1)
	c := call{guard: g, method: method, rules: g.rulesOf(method), circuit: g.circuitOf(method, cc), level: everywire.IdempotencyOf(g.policy.Methods, method)}
	opts, finish := onFinish(opts)
	if c.rules.WaitForReady {
		opts = append([]grpc.CallOption{grpc.WaitForReady(true)}, opts...)
	}
	ctx, stop, err := g.chained(ctx)
	if err != nil {
		for _, f := range finish {
			f(err)
		}
		return nil, err
	}
	s := &stream{call: c, ctx: ctx, stop: stop, finish: finish, open: func(ctx context.Context, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		return streamer(ctx, desc, cc, method, opts...)
	}, opts: opts, single: !desc.ClientStreams, oneReply: !desc.ServerStreams}
	if err := s.begin(nil); err != nil {
		s.over(err)
		return nil, err
	}
	if !s.single {
		s.commit(nil)
	}
	unwatch := context.AfterFunc(ctx, func() {
		err := status.FromContextError(ctx.Err()).Err()
		s.commit(err)
		s.over(err)
	})
	s.mu.Lock()
	s.unwatch = unwatch
	s.mu.Unlock()
	return s, nil
}

// A stream is a grpc.ClientStream that may be begun again.
type stream struct {
	call
	ctx      context.Context //nolint:containedctx // that of the attempts
	opts     []grpc.CallOption
	open     func(ctx context.Context, opts ...grpc.CallOption) (grpc.ClientStream, error)
	stop     context.CancelFunc // ends ctx
	single   bool               // it has one request
	oneReply bool
	once     sync.Once
	finish   []func(error)
	failed   error // how the attempt before failed, nil for the first

	mu        sync.Mutex
	unwatch   func() bool // stops what waits for the end of ctx
	latest    attempt
	now       grpc.ClientStream
	request   any // that was sent; nil before
	closed    bool
	committed bool // something has come: this stream is the last
}

// An attempt is one that is under way.
type attempt struct {
	n     int
	began time.Time
	term  uint64 // of the circuit
}

// begin opens the stream, after an attempt that failed with err if there was
// one.
func (s *stream) begin(err error) error {
	for {
		if err != nil {
			if err = s.next(err); err != nil {
				return err
			}
		}
		if err = s.attempt(); err == nil {
			return nil
		}
	}
}

// next waits for the time of another attempt; there is none if it returns an
// error.
func (s *stream) next(err error) error {
	v := s.judge(s.ctx, err, false)
	s.tell(s.ctx, s.latest.n, false, s.latest.began, err, v)
	if !v.again {
		if s.failed != nil && isOpen(err) {
			err = s.failed
		}
		return s.fate(err)
	}
	s.failed = err
	if err := s.rest(s.ctx, v.wait, err); err != nil {
		return err
	}
	s.guard.stats.retries.Add(1)
	return nil
}

// attempt opens the stream and sends what was sent before.
func (s *stream) attempt() (err error) {
	s.sent++
	a := attempt{n: s.sent, began: time.Now()}
	a.term, err = s.circuit.begin()
	s.mu.Lock()
	s.latest = a
	s.mu.Unlock()
	if err != nil {
		s.guard.stats.stopped.Add(1)
		return err
	}
	s.guard.stats.attempts.Add(1)
	now, err := s.open(numbered(s.ctx, a.n), s.opts...)
	if err != nil {
		s.circuit.end(a.term, err)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
	if s.request != nil {
		err = now.SendMsg(s.request)
	}
	if err == nil && s.closed {
		err = now.CloseSend()
	}
	if errors.Is(err, io.EOF) {
		return nil // RecvMsg says why
	}
	if err != nil {
		s.circuit.end(a.term, err)
	}
	return err
}

func (s *stream) current() grpc.ClientStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// SendMsg is [grpc.ClientStream]'s.
func (s *stream) SendMsg(m any) error {
	s.mu.Lock()
	if s.single && !s.committed {
		s.request = m
	}
	now := s.now
	s.mu.Unlock()
	return now.SendMsg(m)
}

// CloseSend is [grpc.ClientStream]'s.
func (s *stream) CloseSend() error {
	s.mu.Lock()
	s.closed = true
	now := s.now
	s.mu.Unlock()
	return now.CloseSend()
}

// RecvMsg is [grpc.ClientStream]'s.
func (s *stream) RecvMsg(m any) error {
	for {
		err := s.current().RecvMsg(m)
		if err == nil {
			s.commit(nil)
			if s.oneReply {
				s.over(nil) // nobody asks for another
			}
			return nil
		}
		if err == io.EOF { //nolint:errorlint // as gRPC returns it
			s.commit(nil)
			s.over(nil)
			return err
		}
		if !s.mayBegin() {
			s.over(err)
			return err
		}
		s.circuit.end(s.latest.term, err)
		if err := s.begin(err); err != nil {
			s.mu.Lock()
			s.committed = true
			s.mu.Unlock()
			s.over(err)
			return err
		}
	}
}

// Header is [grpc.ClientStream]'s. What has headers has begun, and is not begun
// again.
func (s *stream) Header() (metadata.MD, error) {
	md, err := s.current().Header()
	if err == nil && md != nil {
		s.commit(nil)
	}
	return md, err
}

// Trailer is [grpc.ClientStream]'s.
func (s *stream) Trailer() metadata.MD { return s.current().Trailer() }

// Context is [grpc.ClientStream]'s.
func (s *stream) Context() context.Context { return s.current().Context() }

// mayBegin reports whether the stream can be begun again.
func (s *stream) mayBegin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.committed
}

// commit makes the stream the last, and lets the circuit and the budget know how
// it began.
func (s *stream) commit(err error) {
	s.mu.Lock()
	first, a := !s.committed, s.latest
	s.committed, s.request = true, nil
	s.mu.Unlock()
	if !first {
		return
	}
	s.circuit.end(a.term, err)
	if err == nil {
		s.guard.bucket.succeed()
	}
	s.tell(s.ctx, a.n, false, a.began, err, verdict{why: "it has begun"})
}

// over calls the caller's functions, once.
func (s *stream) over(err error) {
	s.once.Do(func() {
		s.mu.Lock()
		unwatch := s.unwatch
		s.mu.Unlock()
		if unwatch != nil {
			unwatch()
		}
		s.stop()
		for _, f := range s.finish {
			f(err)
		}
	})
}
