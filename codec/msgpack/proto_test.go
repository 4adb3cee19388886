package msgpack

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire/schema"
)

// kindsFile has a field of every kind.
const kindsFile = `
name: "test/kinds.proto" package: "test" syntax: "proto3"
dependency: ["google/protobuf/any.proto", "google/protobuf/timestamp.proto", "google/protobuf/struct.proto", "google/protobuf/wrappers.proto"]
enum_type { name: "Color" value { name: "RED" number: 0 } value { name: "BLUE" number: 2 } }
message_type {
  name: "Kinds"
  field { name: "i32" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "s32" number: 2 type: TYPE_SINT32 label: LABEL_OPTIONAL }
  field { name: "sf32" number: 3 type: TYPE_SFIXED32 label: LABEL_OPTIONAL }
  field { name: "i64" number: 4 type: TYPE_INT64 label: LABEL_OPTIONAL options { jstype: JS_STRING } }
  field { name: "s64" number: 5 type: TYPE_SINT64 label: LABEL_OPTIONAL }
  field { name: "sf64" number: 6 type: TYPE_SFIXED64 label: LABEL_OPTIONAL }
  field { name: "u32" number: 7 type: TYPE_UINT32 label: LABEL_OPTIONAL }
  field { name: "f32" number: 8 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "u64" number: 9 type: TYPE_UINT64 label: LABEL_OPTIONAL }
  field { name: "f64" number: 10 type: TYPE_FIXED64 label: LABEL_OPTIONAL }
  field { name: "float" number: 11 type: TYPE_FLOAT label: LABEL_OPTIONAL }
  field { name: "double" number: 12 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "flag" number: 13 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "text" number: 14 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "data" number: 15 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "color" number: 16 type: TYPE_ENUM type_name: ".test.Color" label: LABEL_OPTIONAL }
  field { name: "page_size" number: 17 type: TYPE_INT32 label: LABEL_OPTIONAL proto3_optional: true oneof_index: 1 }
  field { name: "kinds" number: 18 type: TYPE_MESSAGE type_name: ".test.Kinds" label: LABEL_OPTIONAL }
  field { name: "colors" number: 19 type: TYPE_ENUM type_name: ".test.Color" label: LABEL_REPEATED }
  field { name: "list" number: 20 type: TYPE_MESSAGE type_name: ".test.Kinds" label: LABEL_REPEATED }
  field { name: "by_flag" number: 21 type: TYPE_MESSAGE type_name: ".test.Kinds.ByFlagEntry" label: LABEL_REPEATED }
  field { name: "by_int" number: 22 type: TYPE_MESSAGE type_name: ".test.Kinds.ByIntEntry" label: LABEL_REPEATED }
  field { name: "by_text" number: 23 type: TYPE_MESSAGE type_name: ".test.Kinds.ByTextEntry" label: LABEL_REPEATED }
  field { name: "left" number: 24 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "right" number: 25 type: TYPE_UINT64 label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "any" number: 26 type: TYPE_MESSAGE type_name: ".google.protobuf.Any" label: LABEL_OPTIONAL }
  field { name: "time" number: 27 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "value" number: 28 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" label: LABEL_OPTIONAL }
  field { name: "wrapped" number: 29 type: TYPE_MESSAGE type_name: ".google.protobuf.BytesValue" label: LABEL_OPTIONAL }
  field { name: "null" number: 30 type: TYPE_ENUM type_name: ".google.protobuf.NullValue" label: LABEL_OPTIONAL proto3_optional: true oneof_index: 2 }
  field { name: "values" number: 31 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" label: LABEL_REPEATED }
  nested_type { name: "ByFlagEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_BOOL label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".test.Kinds" label: LABEL_OPTIONAL } }
  nested_type { name: "ByIntEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_SINT64 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_ENUM type_name: ".test.Color" label: LABEL_OPTIONAL } }
  nested_type { name: "ByTextEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_BYTES label: LABEL_OPTIONAL } }
  oneof_decl { name: "side" } oneof_decl { name: "_page_size" } oneof_decl { name: "_null" }
}`

var kindsDesc = func() protoreflect.MessageDescriptor {
	fdp := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(kindsFile), fdp); err != nil {
		panic(err)
	}
	file, err := protodesc.NewFile(fdp, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return file.Messages().Get(0)
}()

func newKinds(t testing.TB, text string) *dynamicpb.Message {
	m := dynamicpb.NewMessage(kindsDesc)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// zeroKinds is what a message without any field set is written as.
func zeroKinds() map[string]any {
	return map[string]any{
		"i32": int64(0), "s32": int64(0), "sf32": int64(0), "i64": int64(0), "s64": int64(0), "sf64": int64(0),
		"u32": int64(0), "f32": int64(0), "u64": int64(0), "f64": int64(0), "float": 0.0, "double": 0.0,
		"flag": false, "text": "", "data": []byte{}, "color": "RED", "colors": []any{}, "list": []any{},
		"byFlag": map[string]any{}, "byInt": map[string]any{}, "byText": map[string]any{}, "values": []any{},
	}
}

func TestProtoForms(t *testing.T) {
	tests := []struct {
		text string
		want map[string]any // beside or instead of what is in zeroKinds
	}{
		{"", nil},
		{"i32: -1 s32: -2 sf32: -3 i64: -4 s64: -5 sf64: -9223372036854775808 u32: 4294967295 f32: 2 u64: 18446744073709551615 f64: 4",
			map[string]any{"i32": int64(-1), "s32": int64(-2), "sf32": int64(-3), "i64": int64(-4), "s64": int64(-5), "sf64": int64(math.MinInt64),
				"u32": int64(4294967295), "f32": int64(2), "u64": uint64(math.MaxUint64), "f64": int64(4)}},
		{`float: 1.5 double: 0.1 flag: true text: "ü" data: "\xff\x00" color: BLUE`,
			map[string]any{"float": 1.5, "double": 0.1, "flag": true, "text": "ü", "data": []byte{0xff, 0}, "color": "BLUE"}},
		{"color: 7 colors: [BLUE, RED, 9]", map[string]any{"color": int64(7), "colors": []any{"BLUE", "RED", int64(9)}}},
		{"page_size: 0", map[string]any{"pageSize": int64(0)}},
		{"kinds {}", map[string]any{"kinds": zeroKinds()}},
		{"list {} list {}", map[string]any{"list": []any{zeroKinds(), zeroKinds()}}},
		{`by_text { key: "k" value: "v" }`, map[string]any{"byText": map[string]any{"k": []byte("v")}}},
		{`left: ""`, map[string]any{"left": ""}},
		{"right: 0", map[string]any{"right": int64(0)}},
		{"time { seconds: 1 nanos: 5 }", map[string]any{"time": time.Unix(1, 5).UTC()}},
		{`value { struct_value { fields { key: "a" value { list_value { values { number_value: 1 } values { number_value: 1.5 } values { null_value: NULL_VALUE } values { bool_value: true } values { string_value: "s" } } } } } }`,
			map[string]any{"value": map[string]any{"a": []any{int64(1), 1.5, nil, true, "s"}}}},
		{"value { null_value: NULL_VALUE }", map[string]any{"value": nil}},
		{"values { null_value: NULL_VALUE }", map[string]any{"values": []any{nil}}},
		{"null: NULL_VALUE", map[string]any{"null": nil}},
		{`wrapped { value: "b" }`, map[string]any{"wrapped": []byte("b")}},
		{`any { [type.googleapis.com/google.rpc.Status] { code: 5 message: "m" } }`,
			map[string]any{"any": map[string]any{"@type": "type.googleapis.com/google.rpc.Status", "code": int64(5), "message": "m", "details": []any{}}}},
		{`any { [type.googleapis.com/google.protobuf.Duration] { seconds: 1 } }`,
			map[string]any{"any": map[string]any{"@type": "type.googleapis.com/google.protobuf.Duration", "value": "1s"}}},
		{"any {}", map[string]any{"any": map[string]any{}}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			in := newKinds(t, tt.text)
			data, err := Codec{}.Append(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			var doc schema.Document
			if err := (Codec{}).Decode(data, &doc); err != nil {
				t.Fatal(err)
			}
			want := zeroKinds()
			for k, v := range tt.want {
				want[k] = v
			}
			if diff := cmp.Diff(want, doc.Value); diff != "" {
				t.Errorf("%s", diff)
			}
			out := newKinds(t, "text: 'left over' page_size: 9")
			if err := (Codec{}).Decode(data, out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(in, out, protocmp.Transform()); diff != "" {
				t.Errorf("%s", diff)
			}
		})
	}
}

// Maps whose keys are no strings have native keys, in order.
func TestProtoMapKeys(t *testing.T) {
	data, err := Codec{}.Append(nil, newKinds(t, "by_flag { key: true value {} } by_flag { key: false value {} } by_int { key: 300 value: BLUE } by_int { key: -1 }"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\xa6byFlag\x82\xc2\xde", "\xa5byInt\x82\xff\xa3RED\xcd\x01\x2c\xa4BLUE"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q does not hold %q", data, want)
		}
	}
}

func TestProtoAccepts(t *testing.T) {
	tests := []struct {
		name, value string
		want        string
	}{
		{"i32", "\xcb\xc0\x00\x00\x00\x00\x00\x00\x00", "i32: -2"},
		{"i64", "\xa2-4", "i64: -4"},
		{"u64", "\xb418446744073709551615", "u64: 18446744073709551615"},
		{"color", "\x02", "color: BLUE"},
		{"color", "\xc4\x04BLUE", "color: BLUE"},
		{"color", "\xff", "color: -1"},
		{"page_size", "\x05", "page_size: 5"},
		{"kinds", "\xc0", ""},
		{"byInt", "\x82\xa2-1\x00\x07\xa4BLUE", "by_int { key: -1 } by_int { key: 7 value: BLUE }"},
		{"by_flag", "\x81\xa5false\x80", "by_flag { key: false value {} }"},
		{"data", "\x92\x01\xff", `data: "\x01\xff"`},
		{"time", "\xb41970-01-01T00:00:01Z", "time { seconds: 1 }"},
		{"value", "\xd6\xff\x00\x00\x00\x01", `value { string_value: "1970-01-01T00:00:01Z" }`},
		{"value", "\xc4\x01\xff", `value { string_value: "/w==" }`},
		{"value", "\xcf\x80\x00\x00\x00\x00\x00\x00\x00", "value { number_value: 9223372036854775808 }"},
		{"null", "\xc0", "null: NULL_VALUE"},
		{"unknown", "\x91\xc7\x01\x05\x00", ""},
		{"any", "\x82\xa5value\xa21s\xa5@type\xd9\x2ctype.googleapis.com/google.protobuf.Duration", `any { [type.googleapis.com/google.protobuf.Duration] { seconds: 1 } }`},
	}
	for _, tt := range tests {
		got := dynamicpb.NewMessage(kindsDesc)
		if err := (Codec{}).Decode(one(tt.name, tt.value), got); err != nil {
			t.Errorf("%s %q: %v", tt.name, tt.value, err)
			continue
		}
		if diff := cmp.Diff(newKinds(t, tt.want), got, protocmp.Transform()); diff != "" {
			t.Errorf("%s %q:\n%s", tt.name, tt.value, diff)
		}
	}
}

func TestProtoErrors(t *testing.T) {
	tests := []struct {
		data string
		want string
	}{
		{"\x81\xa3i32\xce\x80\x00\x00\x00", "byte 5: i32: 2147483648 is out of range for int32"},
		{"\x82\xa4left\xa0\xa5right\x00", "byte 7: two members of the oneof side: the second is right"},
		{"\x82\xa8pageSize\x00\xa9page_size\x00", `byte 11: the key "page_size" occurs twice`},
		{"\x82\xa1x\x00\xa1x\x00", `byte 4: the key "x" occurs twice`},
		{"\x81\xa5color\xa5GREEN", `byte 7: color: "GREEN" is not a value of the enum test.Color`},
		{"\x81\xa5byInt\x82\x01\x00\xa11\x00", `byte 10: byInt["1"]: the key occurs twice`},
		{"\x81\xa4list\x92\x80\xc0", "byte 8: list[1]: nil where a map is needed"},
		{"\x81\xa5value\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", "byte 7: value: google.protobuf.Value cannot hold the integer 9223372036854775807"},
		{"\x81\xa3any\x81\xa5@type\xa3x/y", `byte 5: any.@type: no message type is known for "x/y"`},
		{"\x81\xa3any\x81\xa1a\x01", "byte 5: any: a google.protobuf.Any without the key @type"},
		{"\x81\xa3any\x81\xa5@type\xd9\x2ctype.googleapis.com/google.protobuf.Duration", "without the key value"},
	}
	for _, tt := range tests {
		err := Codec{}.Decode([]byte(tt.data), dynamicpb.NewMessage(kindsDesc))
		if err == nil || !strings.HasPrefix(err.Error(), "msgpack: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n got %v\nwant %s", tt.data, err, tt.want)
		}
	}
	if _, err := (Codec{}).Append(nil, newKinds(t, `any { type_url: "x/y" value: "z" }`)); err == nil || !strings.Contains(err.Error(), `any.@type: no message type is known for "x/y"`) {
		t.Errorf("an unknown Any: %v", err)
	}
	if _, err := (Codec{}).Append(nil, newKinds(t, "value {}")); err == nil || !strings.Contains(err.Error(), "value: a google.protobuf.Value that holds nothing") {
		t.Errorf("an empty Value: %v", err)
	}
}

func TestWellKnownRoundTrip(t *testing.T) {
	detail, err := anypb.New(&errdetails.ErrorInfo{Reason: "r", Metadata: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	nested, err := anypb.New(detail)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := anypb.New(&emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	value, err := structpb.NewValue(map[string]any{"a": []any{1.0, 1.5, nil, "s", true, math.Copysign(0, -1), 1e300}})
	if err != nil {
		t.Fatal(err)
	}
	extended := &descriptorpb.MethodOptions{Deprecated: proto.Bool(true)}
	proto.SetExtension(extended, annotations.E_Http, &annotations.HttpRule{Pattern: &annotations.HttpRule_Get{Get: "/x"}})
	option := &descriptorpb.UninterpretedOption_NamePart{NamePart: proto.String("n"), IsExtension: proto.Bool(false)}
	for _, in := range []proto.Message{
		&status.Status{Code: 3, Message: "bad", Details: []*anypb.Any{detail, nested, empty}},
		timestamppb.New(time.Unix(-62135596800, 999999999)), timestamppb.New(time.Unix(253402300799, 0)),
		&durationpb.Duration{Seconds: 315576000000}, &durationpb.Duration{Seconds: -1, Nanos: -1000}, &durationpb.Duration{},
		&fieldmaskpb.FieldMask{Paths: []string{"a_b.c", "d"}}, &fieldmaskpb.FieldMask{},
		value, value.GetStructValue(), value.GetStructValue().Fields["a"].GetListValue(), structpb.NewNullValue(),
		wrapperspb.Int64(math.MinInt64), wrapperspb.UInt64(math.MaxUint64), wrapperspb.Double(math.Inf(-1)), wrapperspb.Float(0.1),
		wrapperspb.Bool(true), wrapperspb.String("s"), wrapperspb.Bytes([]byte{1}), wrapperspb.Int32(-1), wrapperspb.UInt32(0),
		&emptypb.Empty{}, extended, option, protodesc.ToFileDescriptorProto(kindsDesc.ParentFile()),
	} {
		data, err := Codec{}.Append(nil, in)
		if err != nil {
			t.Errorf("%v: %v", in, err)
			continue
		}
		out := in.ProtoReflect().New().Interface()
		if err := (Codec{}).Decode(data, out); err != nil {
			t.Errorf("%v: %v", in, err)
			continue
		}
		if diff := cmp.Diff(in, out, protocmp.Transform()); diff != "" {
			t.Errorf("%T:\n%s", in, diff)
		}
	}
}

// Well-known types as dynamic messages, as a proxy without generated code has
// them, are written like the generated ones.
func TestWellKnownDynamic(t *testing.T) {
	for _, known := range []proto.Message{
		timestamppb.New(time.Unix(1, 5)), &durationpb.Duration{Seconds: -1}, &fieldmaskpb.FieldMask{Paths: []string{"a_b"}},
		&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(1)}},
		&structpb.ListValue{Values: []*structpb.Value{structpb.NewBoolValue(true)}}, structpb.NewStringValue("s"), wrapperspb.Int64(5),
	} {
		want, err := Codec{}.Append(nil, known)
		if err != nil {
			t.Fatal(err)
		}
		dyn := dynamicpb.NewMessage(known.ProtoReflect().Descriptor())
		if err := (Codec{}).Decode(want, dyn); err != nil {
			t.Errorf("%T: %v", known, err)
		}
		if diff := cmp.Diff(known, dyn, protocmp.Transform()); diff != "" {
			t.Errorf("%T:\n%s", known, diff)
		}
		if got, err := (Codec{}).Append(nil, dyn); err != nil || string(got) != string(want) {
			t.Errorf("%T: %x, %v, want %x", known, got, err, want)
		}
	}
}

func TestWellKnownErrors(t *testing.T) {
	for _, m := range []proto.Message{
		&timestamppb.Timestamp{Seconds: 253402300800}, &timestamppb.Timestamp{Nanos: -1}, &durationpb.Duration{Seconds: 1, Nanos: -1},
		&durationpb.Duration{Seconds: 315576000001}, &fieldmaskpb.FieldMask{Paths: []string{"aB"}}, &fieldmaskpb.FieldMask{Paths: []string{"a__b"}},
		&fieldmaskpb.FieldMask{Paths: []string{"a b"}}, structpb.NewStringValue("\xff"), &structpb.ListValue{Values: []*structpb.Value{nil}},
		wrapperspb.String("\xff"),
	} {
		if got, err := (Codec{}).Append(nil, m); err == nil {
			t.Errorf("%v is written as %x", m, got)
		}
	}
	tests := []struct {
		msg  proto.Message
		data string
	}{
		{new(timestamppb.Timestamp), "\x05"}, {new(timestamppb.Timestamp), "\xc0"}, {new(durationpb.Duration), "\xa2s1"},
		{new(durationpb.Duration), "\xad315576000001s"}, {new(fieldmaskpb.FieldMask), "\xa3a_b"}, {new(fieldmaskpb.FieldMask), "\xa3a,,"},
		{new(structpb.Struct), "\x90"}, {new(structpb.Struct), "\x82\xa1a\x01\xa1a\x01"}, {new(structpb.ListValue), "\x80"},
		{new(structpb.Value), "\xd4\x05\x00"}, {new(wrapperspb.Int32Value), "\xce\xff\xff\xff\xff"}, {new(anypb.Any), "\xa1a"},
		{new(anypb.Any), "\x81\xa5@type\xa0"},
	}
	for _, tt := range tests {
		if err := (Codec{}).Decode([]byte(tt.data), tt.msg); err == nil || !strings.HasPrefix(err.Error(), "msgpack: byte ") {
			t.Errorf("%T %q: got %v", tt.msg, tt.data, err)
		}
	}
}

// A required field that is missing is an error both ways, as in protobuf.
func TestRequired(t *testing.T) {
	if _, err := (Codec{}).Append(nil, &descriptorpb.UninterpretedOption_NamePart{}); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("Append: %v", err)
	}
	if err := (Codec{}).Decode([]byte{0x80}, &descriptorpb.UninterpretedOption_NamePart{}); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("Decode: %v", err)
	}
}
