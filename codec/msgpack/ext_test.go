package msgpack

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/everywire/everywire/schema"
)

func TestExtensions(t *testing.T) {
	for _, tt := range []struct {
		n    int
		head string
	}{
		{0, "\xc7\x00"}, {1, "\xd4"}, {2, "\xd5"}, {3, "\xc7\x03"}, {4, "\xd6"}, {5, "\xc7\x05"}, {8, "\xd7"}, {16, "\xd8"}, {17, "\xc7\x11"},
		{32, "\xc7\x20"}, {255, "\xc7\xff"}, {256, "\xc8\x01\x00"}, {65535, "\xc8\xff\xff"}, {65536, "\xc9\x00\x01\x00\x00"},
	} {
		for _, typ := range []int8{0, 127, -2, -128} {
			in := &schema.Document{Value: []any{Extension{typ, bytes.Repeat([]byte{7}, tt.n)}, "next"}}
			data, err := Codec{}.Append(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(data[1:]), tt.head+string([]byte{byte(typ)})) {
				t.Errorf("%d bytes begin with % x", tt.n, data[1:min(8, len(data))])
			}
			var out schema.Document
			if err := (Codec{}).Decode(data, &out); err != nil {
				t.Errorf("%d bytes: %v", tt.n, err)
			}
			if list, ok := out.Value.([]any); !ok || !reflect.DeepEqual(list, in.Value) {
				t.Errorf("%d bytes of type %d are read as %T", tt.n, typ, out.Value)
			}
			r := NewReader(data[1:])
			got, content, err := r.Ext()
			if got != typ || len(content) != tt.n || err != nil || r.Len() != len("next")+1 {
				t.Errorf("%d bytes: type %d, %d bytes, %v", tt.n, got, len(content), err)
			}
		}
	}
}

// The type of timestamps is no application's: a malformed one is an error.
func TestMalformedTimestamps(t *testing.T) {
	for data, want := range map[string]string{
		"\xd4\xff\x00": "a timestamp of 1 bytes",
		"\xc7\x00\xff": "a timestamp of 0 bytes",
		"\xd7\xff\xee\x6b\x28\x00\x00\x00\x00\x00":                     "a timestamp of 1000000000 nanoseconds",
		"\xc7\x0c\xff\x3b\x9a\xca\x00\x00\x00\x00\x00\x00\x00\x00\x00": "a timestamp of 1000000000 nanoseconds",
	} {
		var doc schema.Document
		if err := (Codec{}).Decode([]byte(data), &doc); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("% x: %v, want %s", data, err, want)
		}
	}
}
