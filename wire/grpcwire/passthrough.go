package grpcwire

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"google.golang.org/grpc/mem"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A frame is what the server gives grpc-go in place of a message: the message
// with the codec of its call.
type frame struct {
	name  string // of the method
	codec everywire.Codec
	msg   any
	// err is why the message could not be decoded. It does not go through
	// grpc-go, which would make it Internal.
	err error
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
			data, err = nil, rpc.Panicked(context.Background(), c.logger, f.name, p)
		}
	}()
	return marshal(f.codec, f.msg)
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
}

// Name becomes the content-subtype.
func (c fixed) Name() string                                { return c.subtype }
func (c fixed) Marshal(v any) (mem.BufferSlice, error)      { return marshal(c.codec, v) }
func (c fixed) Unmarshal(data mem.BufferSlice, v any) error { return unmarshal(c.codec, data, v) }

func marshal(c everywire.Codec, msg any) (mem.BufferSlice, error) {
	b := buffers.take()
	data, err := c.Append((*b)[:0], msg)
	if err != nil {
		buffers.Put(b)
		return nil, err
	}
	*b = data
	return mem.BufferSlice{mem.NewBuffer(b, buffers)}, nil
}

func unmarshal(c everywire.Codec, data mem.BufferSlice, msg any) error {
	// One that came in one piece is not copied.
	b := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer b.Free()
	return c.Decode(b.ReadOnlyData(), msg)
}

// bufferPool holds the buffers that messages are encoded into. Their length is
// not known beforehand, so there is one size to begin with, and buffers that
// grew are kept, within reason, for the next large message.
type bufferPool struct{ pool sync.Pool }

const (
	// grpc-go does not give buffers of 1 KiB or less back to their pool.
	minBuffer = 4 << 10
	maxBuffer = everywire.DefaultMaxMessage
)

var buffers = &bufferPool{sync.Pool{New: func() any {
	b := make([]byte, 0, minBuffer)
	return &b
}}}

func (p *bufferPool) take() *[]byte { return p.pool.Get().(*[]byte) }

// Get is half of mem.BufferPool.
func (p *bufferPool) Get(n int) *[]byte {
	b := p.take()
	if cap(*b) < n {
		p.Put(b)
		grown := make([]byte, n)
		return &grown
	}
	*b = (*b)[:n]
	return b
}

// Put is called by grpc-go when it has written the buffer.
func (p *bufferPool) Put(b *[]byte) {
	if c := cap(*b); c >= minBuffer && c <= maxBuffer {
		p.pool.Put(b)
	}
}
