package msgpackrpc

import (
	"fmt"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// A batchTask is a batch of JSON-RPC: an array of maps.
type batchTask struct {
	session *session
	tasks   []*objectTask
	refused string // why none of it runs
}

// batch reads a batch. It returns nil if nothing of it is to be run.
func (s *session) batch(frame []byte) *batchTask {
	t := &batchTask{session: s}
	r := msgpack.NewReader(frame)
	n, err := r.ArrayHeader()
	if err == nil && n > s.cfg.Limits.MaxBatch {
		err = fmt.Errorf("batch of %d items is larger than the limit of %d", n, s.cfg.Limits.MaxBatch)
	}
	if err != nil {
		t.refused = err.Error()
		return t
	}
	for range n {
		raw, err := r.Raw()
		if err != nil {
			t.refused = err.Error()
			return t
		}
		if o, _ := s.object(raw); o != nil {
			t.tasks = append(t.tasks, o)
		}
	}
	if len(t.tasks) == 0 {
		return nil
	}
	return t
}

// Pace is [stream.Task]'s: a batch has a goroutine of its own.
func (t *batchTask) Pace() *stream.Pace { return nil }

// Run is [stream.Task]'s. The elements run side by side, each with a slot of the
// connection's; the replies stand in the order of the requests.
func (t *batchTask) Run(dst []byte) []byte {
	replies := make([][]byte, len(t.tasks))
	var total atomic.Int64
	var running sync.WaitGroup
	for i, o := range t.tasks {
		t.session.slots <- struct{}{}
		id := o.id // o is used again when it has run
		running.Go(func() {
			defer func() { <-t.session.slots }()
			o.runInto(&replies[i])
			if total.Add(int64(len(replies[i]))) > int64(t.session.max) && len(replies[i]) > smallReply {
				replies[i] = appendStatus(nil, id, status.Newf(codes.ResourceExhausted,
					"the replies of the batch are larger than the limit of %d bytes", t.session.max))
			}
		})
	}
	running.Wait()
	return t.appendReplies(dst, replies)
}

// smallReply is about as long as the error that replaces replies beyond the
// limit.
const smallReply = 200

func (t *batchTask) appendReplies(dst []byte, replies [][]byte) []byte {
	if t.refused != "" {
		return appendFailure(dst, nil, code.InvalidRequest, t.refused)
	}
	n := 0
	for _, reply := range replies {
		if len(reply) > 0 {
			n++
		}
	}
	if n == 0 {
		return dst
	}
	dst = msgpack.AppendArrayHeader(dst, n)
	for _, reply := range replies {
		dst = append(dst, reply...)
	}
	return dst
}

// runInto runs one element of a batch, which may panic outside of its handler
// or end its goroutine.
func (t *objectTask) runInto(reply *[]byte) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			_ = rpc.Panicked(t.ctx, t.session.logger, string(t.name), p) // for the log
		}
		*reply = t.Abort(nil)
	}()
	*reply = t.Run(nil)
	returned = true
}

// Abort is [stream.Task]'s. The elements have goroutines and answers of their
// own.
func (t *batchTask) Abort(dst []byte) []byte {
	return appendStatus(dst, nil, rpc.DidNotReturn)
}

// Refuse is [stream.Task]'s.
func (t *batchTask) Refuse(why error, dst []byte) []byte {
	replies := make([][]byte, len(t.tasks))
	for i, o := range t.tasks {
		replies[i] = o.Refuse(why, nil)
	}
	return t.appendReplies(dst, replies)
}
