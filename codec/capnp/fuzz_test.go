package capnp

import (
	"bytes"
	"testing"

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
		once, err := Codec{}.Append(nil, msg)
		if err != nil {
			t.Fatalf("%v\n%x", err, data)
		}
		if again := encode(t, decode[schematest.Wide](t, once)); !bytes.Equal(once, again) {
			t.Errorf("%x becomes\n%x and then\n%x", data, once, again)
		}
	})
}
