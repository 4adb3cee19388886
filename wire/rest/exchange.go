package rest

import (
	"sync"

	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// An exchange is what one request needs and the next can use again.
type exchange struct {
	h *handler
	match
	builder
	in         rpc.Incoming
	bodyFormat *format // of message
	message    []byte  // the request
	err        error   // why there is none, or not all of it

	// What the client wants: the coding of the reply, and its format, in result.
	prefers httpbody.Preference
	// conditional is set if the handler evaluates the request's preconditions.
	conditional bool

	result

	bodyBuf, reply, scratch []byte // buffers
}

// A result is what a call came to: all that its response is made from.
type result struct {
	outcome *rpc.Outcome
	format  *format // of body
	body    []byte
	head    replyHead
}

var exchanges = sync.Pool{New: func() any {
	x := &exchange{}
	x.in.Decode, x.in.Encode = x.decode, x.encode
	return x
}}

// maxPooled is how many bytes of buffers an exchange keeps.
const maxPooled = 4 << 20

func (x *exchange) release() {
	if cap(x.bodyBuf)+cap(x.reply)+cap(x.scratch)+cap(x.buf) > maxPooled {
		return
	}
	x.forget()
	x.h, x.endpoint, x.message, x.err = nil, nil, nil, nil
	x.in.Method, x.in.Metadata, x.in.Peer = nil, nil, nil
	x.result = result{}
	exchanges.Put(x)
}

func (x *exchange) decode(v any) error {
	if x.message == nil && x.err != nil {
		return x.err
	}
	codec := x.bodyFormat.codec
	err := codec.Decode(x.message, v)
	if (err != nil || x.err != nil) && x.bodyFormat.isJSON {
		return x.explain(x.endpoint, err, x.message, v, codec.Decode)
	}
	return err
}

func (x *exchange) encode(v any) (n int, err error) {
	if x.reply, err = x.format.codec.Append(x.reply[:0], v); err != nil {
		return 0, err
	}
	x.body = x.reply
	if err := x.readHead(v); err != nil {
		return 0, err
	}
	if f := x.endpoint.responseField; f != nil {
		if x.format.isJSON {
			x.body, err = memberOr(x.reply, f)
		} else {
			x.body, err = valueOr(x.format, x.reply, f)
		}
	}
	return len(x.body), err
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
