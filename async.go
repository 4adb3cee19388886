package everywire

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An Async makes calls whose replies go to callbacks, a bounded number at a
// time. It is made by [NewAsync], and safe for concurrent use.
type Async struct {
	conn  grpc.ClientConnInterface
	slots chan struct{} // one for each call in flight

	mu      sync.Mutex
	idle    sync.Cond // running is zero
	running int       // calls, callbacks and those that wait for a slot
	closed  bool
}

// NewAsync makes an Async for a connection, with at most limit calls in flight;
// less than one is one. It must be closed.
func NewAsync(conn grpc.ClientConnInterface, limit int) *Async {
	a := &Async{conn: conn, slots: make(chan struct{}, max(limit, 1))}
	a.idle.L = &a.mu
	return a
}

// Submit makes a call when fewer than the limit are in flight; until then it
// waits. It returns an error, and then is not called, if ctx ends first or a is
// closed. Otherwise then is called exactly once, on a goroutine of its own, with
// what [Call] returns. in must not be changed before that.
//
// The limit is of calls: while callbacks run, others are made, so that a
// callback may submit the next call. A panic of then is logged and ends nothing
// else.
func Submit[Out, In any](ctx context.Context, a *Async, name string, in *In, then func(*Out, error), opts ...grpc.CallOption) error {
	return SubmitFunc(ctx, a, caller[Out, In](a.conn, name), in, then, opts...)
}

// SubmitFunc is [Submit] with a method of a generated client:
//
//	err := everywire.SubmitFunc(ctx, async, client.Retrieve, in, func(out *pb.RetrieveReply, err error) { … })
func SubmitFunc[Out, In any](ctx context.Context, a *Async, method func(context.Context, *In, ...grpc.CallOption) (*Out, error), in *In, then func(*Out, error), opts ...grpc.CallOption) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	go contained(ctx, method, in, opts, func(out *Out, err error) {
		defer a.end()
		<-a.slots
		returned := false
		defer func() {
			if !returned {
				logPanic(ctx, "panic in the callback of a call", recover())
			}
		}()
		then(out, err)
		returned = true
	})
	return nil
}

// begin waits for a slot.
func (a *Async) begin(ctx context.Context) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return status.Error(codes.FailedPrecondition, "the Async is closed; the call was not made")
	}
	a.running++ // Wait waits for this one too
	a.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		select {
		case a.slots <- struct{}{}:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	a.end()
	return status.FromContextError(err).Err()
}

func (a *Async) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running--; a.running == 0 {
		a.idle.Broadcast()
	}
}

// Wait waits until no call is in flight and no callback runs. A callback must
// not call it.
func (a *Async) Wait() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.running > 0 {
		a.idle.Wait()
	}
}

// Close refuses further calls, and waits as [Async.Wait] does. The connection
// stays open.
func (a *Async) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.Wait()
}
