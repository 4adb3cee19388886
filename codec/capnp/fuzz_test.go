package capnp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/schema/schematest"
)

// Whatever is read can be written, and is then the same.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, schematest.Full()))
	f.Add(encode(f, &schematest.Wide{}))
	f.Add(segments([]uint64{farTo(1, 0, false)}, []uint64{structTo(0, 1, 0), 1})) // a far pointer
	f.Fuzz(func(t *testing.T, data []byte) {
		msg := new(schematest.Wide)
		if err := (Codec{}).Decode(data, msg); err != nil {
			return
		}
		again, err := Codec{}.Append(nil, msg)
		if err != nil {
			t.Fatalf("%v\n%x", err, data)
		}
		if diff := cmp.Diff(msg, decode[schematest.Wide](t, again), schematest.Equal); diff != "" {
			t.Errorf("%s\n%x", diff, data)
		}
	})
}
