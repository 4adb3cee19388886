package stream

import (
	"math"
	"net"
	"testing"
)

// Ids wrap around, have no special values, and are not used twice at a time.
func TestIDsWrapAround(t *testing.T) {
	c := &clientConn{pending: map[uint32]*pending{}, lastID: math.MaxUint32 - 2}
	c.pending[math.MaxUint32] = &pending{}
	c.pending[1] = &pending{}
	for _, want := range []uint32{math.MaxUint32 - 1, 0, 2} {
		p, id, ok := c.register(0)
		if !ok || id != want || c.pending[id] != p {
			t.Errorf("the id is %d, want %d", id, want)
		}
	}
}

// A bombExchange's request cannot be encoded.
type bombExchange struct{ Exchange }

func (bombExchange) Append([]byte, uint32) ([]byte, error) { panic("encoding this request panics") }

type noSession struct{ ClientSession }

// A caller that recovers from a panic of its codec leaves no call behind.
func TestPanicInAppend(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	c := newClientConn(ours, nil, ClientConfig{Open: func() ClientSession { return noSession{} }, MaxFrame: 1000})
	p, id, _ := c.register(0)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_ = c.do(t.Context(), bombExchange{}, p, id)
	}()
	if len(c.pending) != 0 || c.count.Load() != 0 {
		t.Errorf("%d calls are pending, the count is %d", len(c.pending), c.count.Load())
	}
}
