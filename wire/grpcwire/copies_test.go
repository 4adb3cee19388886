package grpcwire

import (
	"bytes"
	"runtime"
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/everywire/everywire/codec/protobuf"
)

type valueReply struct {
	Value []byte `wire:"1"`
}

// A value of 64 KiB goes from the handler's reply into the buffer that grpc-go
// writes to the network from, once: nothing of its size is allocated on the way.
func TestReplyIsCopiedOnce(t *testing.T) {
	reply := &valueReply{Value: bytes.Repeat([]byte("v"), 64<<10)}
	var size sizeHint
	send := func() {
		data, err := marshal(protobuf.Codec{}, &size, reply)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) != 1 || data.Len() != len(reply.Value)+4 {
			t.Fatalf("%d buffers with %d bytes", len(data), data.Len())
		}
		data.Free()
	}
	if got := allocated(send); got > slack {
		t.Errorf("sending allocates %d bytes a message", got)
	}
}

// A request that came in several frames is put together in a buffer of the pool,
// so that what is allocated is the message alone.
func TestRequestIsAllocatedOnce(t *testing.T) {
	wire, err := protobuf.Codec{}.Append(nil, &valueReply{Value: bytes.Repeat([]byte("v"), 64<<10)})
	if err != nil {
		t.Fatal(err)
	}
	var pieces mem.BufferSlice
	for rest := wire; len(rest) > 0; {
		n := min(len(rest), 16<<10)
		pieces = append(pieces, mem.SliceBuffer(rest[:n]))
		rest = rest[n:]
	}
	var got valueReply
	receive := func() {
		if err := unmarshal(protobuf.Codec{}, pieces, &got); err != nil {
			t.Fatal(err)
		}
	}
	if n := allocated(receive); n > 64<<10+slack {
		t.Errorf("receiving allocates %d bytes a message", n)
	}
	want := got.Value[0]
	clear(wire)
	if len(got.Value) != 64<<10 || got.Value[0] != want {
		t.Error("the message is a part of what came in")
	}
}

// slack is less than a message: the race detector makes a pool lose one buffer of
// four.
const slack = 32 << 10

// allocated returns the bytes that f allocates, on average, once it is warm.
func allocated(f func()) uint64 {
	const times = 200
	for range 20 {
		f()
	}
	least := ^uint64(0)
	var before, after runtime.MemStats
	for range 5 { // of a process in which others run, too
		runtime.ReadMemStats(&before)
		for range times {
			f()
		}
		runtime.ReadMemStats(&after)
		least = min(least, (after.TotalAlloc-before.TotalAlloc)/times)
	}
	return least
}
