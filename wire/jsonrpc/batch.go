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

// start makes the context of a request, which ends when the request is
// cancelled. A request whose id is taken is marked as invalid, and its error
// has a null id: a reply with the id belongs to the first.
func start(ids *rpc.Flights, r *request) *rpc.CallContext {
	key := r.key()
	ctx := ids.Start(key)
	if ctx == nil {
		r.reject(fmt.Sprintf("a request with the id %s is in flight already", excerpt(r.id)))
		r.id = nil
		ctx = ids.Start(rpc.Key{})
	}
	return ctx
}

// tracked is false for what cannot be cancelled and takes no id: notifications,
// null ids, and what is no request.
func (r *request) tracked() bool {
	return r.invalid == "" && r.id != nil && string(r.id) != "null"
}

// key is what a request is known by while it is in flight.
func (r *request) key() rpc.Key {
	if !r.tracked() {
		return rpc.Key{}
	}
	return keyOf(r.id)
}

// keyOf reads an id, as written. Ids that are written in different ways are
// different.
func keyOf(id []byte) rpc.Key {
	const digits = 19 // fit into 64 bits
	if len(id) == 0 || len(id) > digits || len(id) > 1 && id[0] == '0' {
		return rpc.Key{Text: id, IsSet: true}
	}
	n := uint64(0)
	for _, c := range id {
		if !isDigit(c) {
			return rpc.Key{Text: id, IsSet: true}
		}
		n = 10*n + uint64(c-'0')
	}
	return rpc.Key{Number: n, IsSet: true}
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
