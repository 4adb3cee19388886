package json_test

import (
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/schema"
)

// everything has a field of each struct of the tables.
type everything struct {
	Bools  bools   `wire:"1"`
	Ints   ints    `wire:"2"`
	Uints  uints   `wire:"3"`
	Floats floats  `wire:"4"`
	Texts  texts   `wire:"5"`
	Blobs  blobs   `wire:"6"`
	Times  times   `wire:"7"`
	Addrs  addrs   `wire:"8"`
	Nested *nested `wire:"9"`
	Protos protos  `wire:"10"`
	Anys   anys    `wire:"11"`
	Wide   []*wide `wire:"12"`
}

// FuzzDecode gives any text to messages of all kinds. What can be read must be
// valid JSON, can be written, and is the same message when read again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `"a\u003d"`, `-0`, `1e400`, `[18446744073709551616,1.0,{"a":null}]`,
		`{"bools":{"v":true,"m":{"true":false}},"ints":{"i8":"-1","l":[1e3],"m":{"1":2}},"uints":{"q":"1"},"floats":{"f32":"NaN","l":[1.5,-0]}}`,
		`{"texts":{"s":"\ud83d\ude00","m":{"k":"v"}},"blobs":{"b":"-_8","l":[[1,-1]]},"times":{"t":"2024-02-29T12:00:00+01:30","d":"-1.5s"},"addrs":{"a":"::1","m":{"1.2.3.4":""}}}`,
		`{"nested":{"p":{"x":1},"r":[{"m":{"k":{}}}],"q":{"1":{}}},"protos":{"h":{"get":"a"},"l":[null,{"a":[1]}]},"anys":{"a":[],"p":null,"m":{"k":1}},"wide":[{"f70":1}],"unknown":[{}]}`,
		`{"b":true,"quotedI64":"5","color":"GREEN","oneNull":null,"value":null,"any":{"@type":"a/google.protobuf.Duration","value":"1s"},"byU64":{"1":2}}`,
		`{"@type":"x/google.protobuf.MethodOptions","deprecated":true,"[google.api.http]":{"put":"x"}}`,
		`{"name":"x.proto","messageType":[{"field":[{"type":11,"defaultValue":"x"}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, msg := range []any{new(everything), new(schema.Document)} {
			again := mustMessage(t, msg).New()
			text := roundTrip(t, data, msg, again)
			if text != nil && !cmp.Equal(msg, again, equal) {
				t.Errorf("%s\nread again (-first +second):\n%s", text, cmp.Diff(msg, again, equal))
			}
		}
		for _, msg := range []proto.Message{newKitchen(), new(structpb.Value), new(anypb.Any), new(descriptorpb.FileDescriptorProto)} {
			again := msg.ProtoReflect().New().Interface()
			text := roundTrip(t, data, msg, again)
			if text != nil && !proto.Equal(msg, again) {
				t.Errorf("%s\nread again (-first +second):\n%s", text, cmp.Diff(msg, again, protocmp.Transform(), cmpopts.EquateNaNs()))
			}
		}
	})
}

// roundTrip decodes data into msg, and what msg is written as, which it
// returns, into again. It returns nil if data is refused.
func roundTrip(t *testing.T, data []byte, msg, again any) []byte {
	if codec.Decode(data, msg) != nil {
		return nil
	}
	if !stdjson.Valid(data) {
		t.Errorf("%T: what was read is no JSON: %q", msg, data)
	}
	text, err := codec.Append(nil, msg)
	if err != nil {
		t.Fatalf("%T from %s cannot be written: %v", msg, data, err)
	}
	if !stdjson.Valid(text) {
		t.Errorf("%T: what was written is no JSON: %q", msg, text)
	}
	if err := codec.Decode(text, again); err != nil {
		t.Fatalf("%T: what was written cannot be read: %v\n%s", msg, err, text)
	}
	return text
}
