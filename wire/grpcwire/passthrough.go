package grpcwire

import (
	"context"
	"fmt"
	"log/slog"

	"google.golang.org/grpc/mem"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A frame is what the server gives grpc-go in place of a message: the message
// with the codec of its call.
type frame struct {
	method *framedMethod
	codec  everywire.Codec
	msg    any
	// err is why the message could not be decoded. It does not go through
	// grpc-go, which would make it Internal.
	err error
}

// A framedMethod is what the frames of one method have in common.
type framedMethod struct {
	name   string
	method *everywire.Method // nil for a service that comes with the wire
	sent   sizeHint
}

// framesOnly is the server's codec: it leaves the work to each frame's.
type framesOnly struct{ logger *slog.Logger }

// Name is not used by servers: replies have the content-type of the request.
func (framesOnly) Name() string { return "" }

// Marshal runs where grpc-go recovers no panic.
func (c framesOnly) Marshal(v any) (data mem.BufferSlice, err error) {
	f, ok := v.(*frame)
	if !ok {
		return nil, fmt.Errorf("%T was not sent through its stream", v) // a grpc.PreparedMsg
	}
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, rpc.Panicked(context.Background(), c.logger, f.method.name, p)
		}
	}()
	return marshal(f.codec, &f.method.sent, f.msg)
}

func (framesOnly) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("%T was not received through its stream", v)
	}
	f.err = unmarshal(f.codec, data, f.msg)
	return nil
}

// fixed is a client connection's codec.
type fixed struct {
	codec   everywire.Codec
	subtype string
	sent    *sizeHint
}

// Name becomes the content-subtype.
func (c fixed) Name() string                                { return c.subtype }
func (c fixed) Marshal(v any) (mem.BufferSlice, error)      { return marshal(c.codec, c.sent, v) }
func (c fixed) Unmarshal(data mem.BufferSlice, v any) error { return unmarshal(c.codec, data, v) }

// marshal encodes msg into a buffer of the pool, which grpc-go gives back when
// it is written.
func marshal(c everywire.Codec, size *sizeHint, msg any) (mem.BufferSlice, error) {
	b := buffers.take(size.get())
	data, err := c.Append(*b, msg)
	if err != nil {
		buffers.Put(b)
		return nil, err
	}
	size.saw(len(data))
	*b = data
	return mem.BufferSlice{mem.NewBuffer(b, &buffers)}, nil
}

func unmarshal(c everywire.Codec, data mem.BufferSlice, msg any) error {
	// One that came in one piece is not copied.
	b := data.MaterializeToBuffer(&buffers)
	defer b.Free()
	return c.Decode(b.ReadOnlyData(), msg)
}
