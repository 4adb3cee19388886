package stream

import (
	"math"
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
