package rest

import (
	"sync"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// An exchange is what one request needs and the next can use again.
type exchange struct {
	h *handler
	match
	builder
	in      rpc.Incoming
	body    []byte
	message []byte // the request's JSON
	err     error  // why there is none
	reply   []byte // the buffer
	out     []byte // what to send: in reply
}

var exchanges = sync.Pool{New: func() any {
	x := &exchange{}
	x.in.Decode, x.in.Encode = x.decode, x.encode
	return x
}}

// maxPooledPairs is how many query parameters an exchange keeps room for.
const maxPooledPairs = 256

func (x *exchange) release() {
	if cap(x.body)+cap(x.reply)+cap(x.buf) > maxPooled {
		return
	}
	if clear(x.pairs); cap(x.pairs) > maxPooledPairs {
		x.pairs = nil
	}
	x.h, x.endpoint, x.message, x.out, x.err = nil, nil, nil, nil, nil
	x.in.Method, x.in.Metadata, x.in.Peer = nil, nil, nil
	exchanges.Put(x)
}

func (x *exchange) decode(v any) error {
	if x.err != nil {
		return x.err
	}
	return x.h.codec.Decode(x.message, v)
}

func (x *exchange) encode(v any) (n int, err error) {
	if x.reply, err = x.h.codec.Append(x.reply[:0], v); err != nil {
		return 0, err
	}
	x.out = x.reply
	if f := x.endpoint.responseField; f != nil {
		x.out, err = memberOr(x.reply, f)
	}
	return len(x.out), err
}

// memberOr returns the value of a message's field, also if the codec left it
// out.
func memberOr(message []byte, f *field) ([]byte, error) {
	value := []byte(nil)
	err := members(message, func(name, v []byte) bool {
		if string(name) == f.name {
			value = v
		}
		return value == nil
	})
	if value == nil {
		value = []byte(f.absent)
	}
	return value, err
}
