package jsonrpc

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// flights are the requests in flight that share one space of ids: those of a
// connection, or of one batch over HTTP.
type flights struct {
	mu      sync.Mutex
	cancels map[string]context.CancelFunc // by id, as written
}

// start makes the context of a request, which ends when the request is
// cancelled. A request whose id is taken is marked as invalid, and its error
// has a null id: a reply with the id belongs to the first.
func (f *flights) start(ctx context.Context, r *request) context.Context {
	if !r.tracked() {
		return ctx
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, taken := f.cancels[string(r.id)]; taken {
		r.reject(fmt.Sprintf("a request with the id %s is in flight already", excerpt(r.id)))
		r.id = nil
		return ctx
	}
	if f.cancels == nil {
		f.cancels = map[string]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(ctx)
	f.cancels[string(r.id)] = cancel
	return ctx
}

// tracked is false for what cannot be cancelled and takes no id: notifications,
// null ids, and what is no request.
func (r *request) tracked() bool {
	return r.invalid == "" && r.id != nil && string(r.id) != "null"
}

// end releases what start took.
func (f *flights) end(r *request) {
	if !r.tracked() {
		return
	}
	f.mu.Lock()
	cancel := f.cancels[string(r.id)]
	delete(f.cancels, string(r.id))
	f.mu.Unlock()
	cancel()
}

// cancel ends the context of the request with the given id, if it is in flight.
func (f *flights) cancel(id []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cancel := f.cancels[string(id)]; cancel != nil {
		cancel()
	}
}

// batch answers all requests of a batch and appends the array of their
// replies, in the order of the requests; nothing if all are notifications.
// They run side by side, each with a slot of slots. run answers one of them.
//
// The replies together are bounded like one message: those that do not fit
// are replaced by errors, unless they are no longer than such an error.
func (s *service) batch(requests []request, slots chan struct{}, dst []byte, run func(i int, dst []byte) []byte) []byte {
	replies := make([][]byte, len(requests))
	var total atomic.Int64
	var running sync.WaitGroup
	for i := range requests {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			returned := false
			defer func() {
				if !returned {
					replies[i] = s.didNotReturn(&requests[i], recover())
				}
			}()
			reply := run(i, nil)
			if total.Add(int64(len(reply))) > int64(s.maxText()) && len(reply) > smallReply {
				reply = s.overBudget(&requests[i])
			}
			replies[i] = reply
			returned = true
		})
	}
	running.Wait()
	open := false
	for _, reply := range replies {
		if len(reply) == 0 {
			continue
		}
		if open {
			dst = append(dst, ',')
		} else {
			dst = append(dst, '[')
			open = true
		}
		dst = append(dst, reply...)
	}
	if open {
		dst = append(dst, ']')
	}
	return dst
}

// didNotReturn answers an element that panicked outside of its handler or
// ended its goroutine.
func (s *service) didNotReturn(r *request, panicked any) []byte {
	if panicked != nil {
		_ = rpc.Panicked(context.Background(), s.cfg.Logger, string(r.method), panicked) // for the log
	}
	if r.notification() {
		return nil
	}
	return r.appendStatus(nil, rpc.DidNotReturn)
}

// smallReply is about as long as the error of overBudget.
const smallReply = 200

func (s *service) overBudget(r *request) []byte {
	return r.appendStatus(nil, status.Newf(codes.ResourceExhausted,
		"the replies of the batch are larger than the limit of %d bytes", s.maxText()))
}
