package record

import "testing"

// Only what counts of a load is looked at, and by the machine's cores.
func TestDisturbed(t *testing.T) {
	r := &Run{Header: Header{Machine: Machine{Cores: 4}}, Trials: []Trial{
		{Callers: 1, Seconds: 2, Others: 0.81}, {Callers: 1, Seconds: 2, Others: 0.79}, {Callers: 1, Seconds: 2},
		{Callers: 1, Seconds: 2, Others: 5, Void: "x"}, {Callers: 8, Seconds: 2, Others: 5}, {Callers: 1, Link: "london", Seconds: 2, Others: 5},
	}}
	if n, of := r.Disturbed(1, "loopback"); n != 1 || of != 3 {
		t.Errorf("%d of %d", n, of)
	}
}
