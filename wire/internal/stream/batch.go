package stream

import (
	"net"
	"sync"
)

// A batch is a part of the queue that is being written.
type batch struct {
	owned []*buffer   // to free in the end
	rest  net.Buffers // not written yet
	one   [1][]byte   // the array of rest for the common batch of one
}

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) free() {
	for i, buf := range b.owned {
		buf.free()
		b.owned[i] = nil
	}
	b.owned, b.rest, b.one[0] = b.owned[:0], nil, nil
	batches.Put(b)
}

// writeChunk writes about a chunk of b.rest and cuts off what was written.
func (b *batch) writeChunk(conn net.Conn) (int, error) {
	if first := b.rest[0]; len(b.rest) == 1 || len(first) >= chunk {
		n, err := conn.Write(first[:min(len(first), chunk)])
		if b.rest[0] = first[n:]; n == len(first) {
			b.rest = b.rest[1:]
		}
		return n, err
	}
	count, size := 0, 0
	for count < len(b.rest) && size+len(b.rest[count]) <= chunk {
		size += len(b.rest[count])
		count++
	}
	some := b.rest[:count:count]
	n, err := some.WriteTo(conn) // cuts off what was written
	b.rest = b.rest[count-len(some):]
	return int(n), err
}
