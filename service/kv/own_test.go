package kv

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOwnCodec(t *testing.T) {
	c := OwnCodec()
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SliceOfN(rapid.Byte(), 1, 300)
		key, value, version := some.Draw(t, "key"), some.Draw(t, "value"), rapid.Int64().Draw(t, "version")
		for _, in := range []any{
			&CreateRequest{Key: key, Value: value}, &CreateResponse{Version: version}, &RetrieveRequest{Key: key}, &RetrieveResponse{Value: value, Version: version},
			&UpdateRequest{Key: key, Value: value}, &UpdateResponse{Version: version}, &DeleteRequest{Key: key}, &DeleteResponse{},
		} {
			data, err := c.Append(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			out := reflect.New(reflect.TypeOf(in).Elem()).Interface()
			if err := c.Decode(data, out); err != nil || !reflect.DeepEqual(in, out) {
				t.Fatalf("%+v is read as %+v, %v", in, out, err)
			}
		}
	})
	now, second, version, tags := time.Now(), time.Second, int64(1), `"1"`
	for _, in := range []any{
		&CreateRequest{TTL: &second}, &UpdateRequest{TTL: &second}, &UpdateRequest{IfVersion: &version}, &UpdateRequest{IfMatch: &tags},
		&DeleteRequest{IfVersion: &version}, &DeleteRequest{IfMatch: &tags}, &RetrieveResponse{Expires: &now}, &ScanRequest{},
	} {
		if data, err := c.Append(nil, in); err == nil {
			t.Errorf("%+v is written as %q", in, data)
		}
	}
	for _, tt := range []struct {
		data string
		msg  any
	}{
		{"", new(CreateRequest)}, {"\x02a", new(UpdateRequest)}, {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", new(CreateRequest)},
		{"", new(RetrieveResponse)}, {"", new(CreateResponse)}, {"\x02x", new(UpdateResponse)}, {"x", new(DeleteResponse)},
	} {
		if err := c.Decode([]byte(tt.data), tt.msg); err == nil {
			t.Errorf("%q is read as %+v", tt.data, tt.msg)
		}
	}
}
