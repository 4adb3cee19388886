package codec_test

import (
	"bytes"
	"testing"

	"github.com/everywire/everywire/codec/protobuf"
)

// The bytes of unknown protobuf fields mean nothing in another encoding, so that
// others neither write them nor take a member for them.
func TestUnknownFieldsAreProtobufs(t *testing.T) {
	type message struct {
		_       struct{} `wire:"name=codec.Message"`
		Name    string   `wire:"1"`
		Unknown []byte   `wire:"unknown"`
	}
	type without struct {
		_    struct{} `wire:"name=codec.Message"`
		Name string   `wire:"1"`
	}
	type member struct {
		_       struct{} `wire:"name=codec.Message"`
		Name    string   `wire:"1"`
		Unknown []byte   `wire:"2"`
	}
	for _, c := range codecs {
		if c.Name() == (protobuf.Codec{}).Name() {
			continue
		}
		kept := &message{Name: "x", Unknown: []byte{0x10, 1}}
		got, err := c.Append(nil, kept)
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		want, err := c.Append(nil, &without{Name: "x"})
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s writes %q, without the field %q, %v", c.Name(), got, want, err)
		}
		other, err := c.Append(nil, &member{Name: "x", Unknown: []byte("abc")})
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}
		if err := c.Decode(other, kept); err != nil || kept.Name != "x" || len(kept.Unknown) != 0 {
			t.Errorf("%s reads %+v, %v", c.Name(), kept, err)
		}
	}
}
