package msgpack

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/schema"
)

func addSeeds(f *testing.F) {
	data, err := Codec{}.Append(nil, full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	data, err = Codec{}.Append(nil, newKinds(f, `i32: 5 kinds { left: "x" } any { [type.googleapis.com/google.rpc.Status] { code: 5 } } value { list_value {} } by_flag { key: true value {} }`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("\x81\xa4ints\xdd\xff\xff\xff\xff"))
	f.Add([]byte("\x82\xa1a\x93\xc0\xc4\x01\xff\xd6\xff\x00\x00\x00\x01\xa1b\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"))
}

// reencode checks that what was decoded can be written, and that the bytes so
// written mean the same to the decoder and stay as they are.
func reencode(t *testing.T, msg, again any) {
	first, err := Codec{}.Append(nil, msg)
	if err != nil {
		t.Fatalf("what was decoded cannot be encoded: %v", err)
	}
	if err := (Codec{}).Decode(first, again); err != nil {
		t.Fatalf("%x: what was encoded cannot be decoded: %v", first, err)
	}
	second, err := Codec{}.Append(nil, again)
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("encoded again:\n%x\n%x, %v", first, second, err)
	}
	var s ScanState
	if n, err := Scan(first, &s, len(first)); n != len(first) || err != nil {
		t.Fatalf("%x: Scan finds %d, %v", first, n, err)
	}
}

func FuzzDocument(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var doc, again schema.Document
		if (Codec{}).Decode(data, &doc) == nil {
			reencode(t, &doc, &again)
		}
	})
}

func FuzzPlain(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var msg, again all
		if (Codec{}).Decode(data, &msg) == nil {
			reencode(t, &msg, &again)
		}
	})
}

func FuzzProto(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		msg, again := dynamicpb.NewMessage(kindsDesc), dynamicpb.NewMessage(kindsDesc)
		if (Codec{}).Decode(data, msg) == nil {
			reencode(t, msg, again)
		}
	})
}

// FuzzProtoRoundTrip sends messages as protobuf can make them through
// MessagePack.
func FuzzProtoRoundTrip(f *testing.F) {
	for _, text := range []string{"i32: -1", "kinds { list {} }", "null: 3", "kinds { value { null_value: 2 } }", "by_int { key: -1 value: BLUE }", "value { number_value: 1.5 }", "float: nan"} {
		data, err := proto.Marshal(newKinds(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, out := dynamicpb.NewMessage(kindsDesc), dynamicpb.NewMessage(kindsDesc)
		if (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, in) != nil {
			return
		}
		data, err := Codec{}.Append(nil, in)
		if err != nil {
			return // a Timestamp out of range, an unknown Any, an empty Value
		}
		oneNull(t, in)
		if err := (Codec{}).Decode(data, out); err != nil {
			t.Fatalf("%v\n%x: %v", in, data, err)
		}
		if bytes.Contains(data, []byte("@type")) {
			return // what is in an Any need not have been in canonical form
		}
		if diff := cmp.Diff(in, out, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("%s", diff)
		}
	})
}

// oneNull gives every NullValue its only name: other numbers, which protobuf
// keeps, are nil here, too.
func oneNull(t *testing.T, m proto.Message) {
	if err := protorange.Range(m.ProtoReflect(), func(p protopath.Values) error {
		step := p.Index(-1).Step
		if step.Kind() != protopath.FieldAccessStep {
			return nil
		}
		if fd := step.FieldDescriptor(); !fd.IsList() && fd.Enum() != nil && fd.Enum().FullName() == "google.protobuf.NullValue" {
			p.Index(-2).Value.Message().Set(fd, protoreflect.ValueOfEnum(0))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestIntegersByRapid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		i, u := rapid.Int64().Draw(rt, "i"), rapid.Uint64().Draw(rt, "u")
		r := NewReader(AppendUint(AppendInt(nil, i), u))
		if got, err := r.Int64(); got != i || err != nil {
			rt.Fatalf("%d is read as %d, %v", i, got, err)
		}
		if got, err := r.Uint64(); got != u || err != nil {
			rt.Fatalf("%d is read as %d, %v", u, got, err)
		}
		if err := r.End(); err != nil {
			rt.Fatal(err)
		}
	})
}
