package stream

import (
	"math"
	"net"
	"testing"
)

// newTestConn makes a connection of a client that was not dialled.
func newTestConn(t *testing.T) *Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	c := NewClient(ClientConfig{MaxFrame: 1000})
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
		c.Close()
	})
	return newConn(c, ours, &c.watch)
}

// Ids wrap around, have no special values, and are not used twice at a time.
func TestIDsWrapAround(t *testing.T) {
	c := newTestConn(t)
	c.lastID = math.MaxUint32 - 2
	c.pending = map[uint32]*call{math.MaxUint32: {}}
	c.pending[1] = &call{}
	for _, want := range []uint32{math.MaxUint32 - 1, 0, 2} {
		p, err := c.register(nil)
		if err != nil || p.id != want || c.pending[want] != p {
			t.Errorf("the call is %+v, want the id %d", p, want)
		}
	}
}

// A bombExchange's request cannot be encoded.
type bombExchange struct{ Exchange }

func (bombExchange) Append([]byte, uint32) ([]byte, error) { panic("encoding this request panics") }
func (bombExchange) MaxFrame() int                         { return 0 }

// A caller that recovers from a panic of its codec leaves no call behind.
func TestPanicInAppend(t *testing.T) {
	c := newTestConn(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_ = c.do(t.Context(), bombExchange{})
	}()
	if len(c.pending) != 0 || c.load.Load() != 0 {
		t.Errorf("%d calls are pending, the load is %d", len(c.pending), c.load.Load())
	}
}
