package json_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/metric"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// kitchen is a message with a field of every kind, made at run time.
const kitchen = `
name: "kitchen.proto"  package: "test"  syntax: "proto3"
dependency: "google/protobuf/struct.proto"
dependency: "google/protobuf/timestamp.proto"
dependency: "google/protobuf/wrappers.proto"
dependency: "google/protobuf/any.proto"
enum_type { name: "Color"  value { name: "RED" number: 0 }  value { name: "GREEN" number: 1 }  value { name: "VERT" number: 1 }  options { allow_alias: true } }
message_type {
  name: "Kitchen"
  field { name: "b" number: 1 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "i32" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "s32" number: 3 type: TYPE_SINT32 label: LABEL_OPTIONAL }
  field { name: "f32" number: 4 type: TYPE_SFIXED32 label: LABEL_OPTIONAL }
  field { name: "u32" number: 5 type: TYPE_UINT32 label: LABEL_OPTIONAL }
  field { name: "x32" number: 6 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
  field { name: "i64" number: 7 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "quoted_i64" number: 8 type: TYPE_SINT64 label: LABEL_OPTIONAL options { jstype: JS_STRING } }
  field { name: "number_i64" number: 9 type: TYPE_SFIXED64 label: LABEL_OPTIONAL options { jstype: JS_NUMBER } }
  field { name: "u64" number: 10 type: TYPE_UINT64 label: LABEL_OPTIONAL }
  field { name: "quoted_list" number: 11 type: TYPE_FIXED64 label: LABEL_REPEATED options { jstype: JS_STRING } }
  field { name: "flt" number: 12 type: TYPE_FLOAT label: LABEL_OPTIONAL }
  field { name: "dbl" number: 13 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "str" number: 14 type: TYPE_STRING label: LABEL_OPTIONAL json_name: "theString" }
  field { name: "byt" number: 15 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "color" number: 16 type: TYPE_ENUM type_name: ".test.Color" label: LABEL_OPTIONAL }
  field { name: "colors" number: 17 type: TYPE_ENUM type_name: ".test.Color" label: LABEL_REPEATED }
  field { name: "self" number: 18 type: TYPE_MESSAGE type_name: ".test.Kitchen" label: LABEL_OPTIONAL }
  field { name: "opt" number: 19 type: TYPE_INT64 label: LABEL_OPTIONAL proto3_optional: true oneof_index: 1 }
  field { name: "one_str" number: 20 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "one_null" number: 21 type: TYPE_ENUM type_name: ".google.protobuf.NullValue" label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "one_value" number: 22 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "value" number: 23 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" label: LABEL_OPTIONAL }
  field { name: "values" number: 24 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" label: LABEL_REPEATED }
  field { name: "time" number: 25 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "wrap" number: 26 type: TYPE_MESSAGE type_name: ".google.protobuf.Int64Value" label: LABEL_OPTIONAL }
  field { name: "any" number: 27 type: TYPE_MESSAGE type_name: ".google.protobuf.Any" label: LABEL_OPTIONAL }
  field { name: "by_bool" number: 28 type: TYPE_MESSAGE type_name: ".test.Kitchen.ByBoolEntry" label: LABEL_REPEATED }
  field { name: "by_i32" number: 29 type: TYPE_MESSAGE type_name: ".test.Kitchen.ByI32Entry" label: LABEL_REPEATED }
  field { name: "by_i64" number: 30 type: TYPE_MESSAGE type_name: ".test.Kitchen.ByI64Entry" label: LABEL_REPEATED }
  field { name: "by_u32" number: 31 type: TYPE_MESSAGE type_name: ".test.Kitchen.ByU32Entry" label: LABEL_REPEATED }
  field { name: "by_u64" number: 32 type: TYPE_MESSAGE type_name: ".test.Kitchen.ByU64Entry" label: LABEL_REPEATED }
  field { name: "by_str" number: 33 type: TYPE_MESSAGE type_name: ".test.Kitchen.ByStrEntry" label: LABEL_REPEATED }
  field { name: "nulls" number: 34 type: TYPE_ENUM type_name: ".google.protobuf.NullValue" label: LABEL_REPEATED }
  nested_type { name: "ByBoolEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_BOOL label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
  nested_type { name: "ByI32Entry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_SINT32 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_BYTES label: LABEL_OPTIONAL } }
  nested_type { name: "ByI64Entry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_SFIXED64 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_ENUM type_name: ".test.Color" label: LABEL_OPTIONAL } }
  nested_type { name: "ByU32Entry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_FIXED32 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_FLOAT label: LABEL_OPTIONAL } }
  nested_type { name: "ByU64Entry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_UINT64 label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL } }
  nested_type { name: "ByStrEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } field { name: "value" number: 2 type: TYPE_MESSAGE type_name: ".test.Kitchen" label: LABEL_OPTIONAL } }
  oneof_decl { name: "one" }
  oneof_decl { name: "_opt" }
}`

var kitchenDesc = func() protoreflect.MessageDescriptor {
	file := new(descriptorpb.FileDescriptorProto)
	if err := prototext.Unmarshal([]byte(kitchen), file); err != nil {
		panic(err)
	}
	fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return fd.Messages().Get(0)
}()

func newKitchen() proto.Message { return dynamicpb.NewMessage(kitchenDesc) }

// zeroKitchen is how an empty kitchen is written.
const zeroKitchen = `{"b":false,"i32":0,"s32":0,"f32":0,"u32":0,"x32":0,"i64":0,"quotedI64":"0","numberI64":0,"u64":0,"quotedList":[],"flt":0,"dbl":0,"theString":"","byt":"","color":"RED","colors":[],"values":[],"byBool":{},"byI32":{},"byI64":{},"byU32":{},"byU64":{},"byStr":{},"nulls":[]}`

// kitchenWith is the empty kitchen with some members replaced.
func kitchenWith(pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(zeroKitchen)
}

var (
	httpRule = &annotations.HttpRule{Selector: "s", Pattern: &annotations.HttpRule_Get{Get: ""}, AdditionalBindings: []*annotations.HttpRule{
		{Pattern: &annotations.HttpRule_Custom{Custom: &annotations.CustomHttpPattern{Kind: "k", Path: "/p"}}},
	}}
	methodWithOptions = func() *descriptorpb.MethodOptions {
		o := &descriptorpb.MethodOptions{Deprecated: proto.Bool(false), IdempotencyLevel: descriptorpb.MethodOptions_IDEMPOTENT.Enum()}
		proto.SetExtension(o, annotations.E_Http, httpRule)
		proto.SetExtension(o, annotations.E_MethodSignature, []string{"a,b", ""})
		return o
	}()
)

func mustAny(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}

func mustValue(v any) *structpb.Value {
	x, err := structpb.NewValue(v)
	if err != nil {
		panic(err)
	}
	return x
}

// Each text decodes to the message, and is what the message is written as
// unless written says otherwise.
func TestGenerated(t *testing.T) {
	for _, tt := range []struct {
		text    string
		want    proto.Message
		written string
	}{
		{`{"selector":"s","get":"","body":"","additionalBindings":[{"selector":"","body":"","custom":{"kind":"k","path":"/p"},"additionalBindings":[],"responseBody":""}],"responseBody":""}`, httpRule, `{"selector":"s","get":"","body":"","additionalBindings":[{"selector":"","body":"","custom":{"kind":"k","path":"/p"},"additionalBindings":[],"responseBody":""}],"responseBody":""}`},
		{`{"response_body":"b","unknown":[{}]}`, &annotations.HttpRule{ResponseBody: "b"}, `{"selector":"","body":"","additionalBindings":[],"responseBody":"b"}`},
		{
			`{"deprecated":false,"idempotencyLevel":"IDEMPOTENT","uninterpretedOption":[],"[google.api.method_signature]":["a,b",""],"[google.api.http]":{"selector":"s","get":"","body":"","additionalBindings":[{"selector":"","body":"","custom":{"kind":"k","path":"/p"},"additionalBindings":[],"responseBody":""}],"responseBody":""}}`,
			methodWithOptions, "",
		},
		{`{"[no.such.extension]":1,"[]":1,"[google.api.field_behavior]":1}`, &descriptorpb.MethodOptions{}, `{"uninterpretedOption":[]}`},
		{`{"name":"n","type":"TYPE_BYTES","number":0}`, &descriptorpb.FieldDescriptorProto{Name: proto.String("n"), Type: descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum(), Number: proto.Int32(0)}, `{"name":"n","number":0,"type":"TYPE_BYTES"}`},
		{`{"type":99}`, &descriptorpb.FieldDescriptorProto{Type: descriptorpb.FieldDescriptorProto_Type(99).Enum()}, ""},
		{`{"type":12.0}`, &descriptorpb.FieldDescriptorProto{Type: descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()}, `{"type":"TYPE_BYTES"}`},
		{`{"name":[],"stringValue":""}`, &descriptorpb.UninterpretedOption{StringValue: []byte{}}, ""},
		{`{}`, &emptypb.Empty{}, ""},
		// Well-known types.
		{`"1970-01-01T00:00:00Z"`, &timestamppb.Timestamp{}, ""},
		{`"1969-12-31T23:59:59.999999999Z"`, &timestamppb.Timestamp{Seconds: -1, Nanos: 999999999}, ""},
		{`"0001-01-01T00:00:00Z"`, &timestamppb.Timestamp{Seconds: -62135596800}, ""},
		{`"9999-12-31T23:59:59.999Z"`, &timestamppb.Timestamp{Seconds: 253402300799, Nanos: 999000000}, ""},
		{`"0s"`, &durationpb.Duration{}, ""},
		{`"-0.000001s"`, &durationpb.Duration{Nanos: -1000}, ""},
		{`"-315576000000s"`, &durationpb.Duration{Seconds: -315576000000}, ""},
		{`"1.50s"`, &durationpb.Duration{Seconds: 1, Nanos: 5e8}, `"1.500s"`},
		{`"a,bC.dE"`, &fieldmaskpb.FieldMask{Paths: []string{"a", "b_c.d_e"}}, ""},
		{`""`, &fieldmaskpb.FieldMask{}, ""},
		{`9007199254740993`, wrapperspb.Int64(9007199254740993), ""},
		{`"18446744073709551615"`, wrapperspb.UInt64(math.MaxUint64), `18446744073709551615`},
		{`0`, wrapperspb.Int32(0), ""},
		{`4294967295`, wrapperspb.UInt32(math.MaxUint32), ""},
		{`"Infinity"`, wrapperspb.Double(math.Inf(1)), ""},
		{`0.1`, wrapperspb.Float(0.1), ""},
		{`true`, wrapperspb.Bool(true), ""},
		{`""`, wrapperspb.String(""), ""},
		{`"AA=="`, wrapperspb.Bytes([]byte{0}), ""},
		{`null`, structpb.NewNullValue(), ""},
		{`{"":[null,true,false,0,1.5,"x",{}],"b":1e+100,"a":-1}`, mustValue(map[string]any{"": []any{nil, true, false, 0, 1.5, "x", map[string]any{}}, "a": -1, "b": 1e100}), `{"":[null,true,false,0,1.5,"x",{}],"a":-1,"b":1e+100}`},
		{`[]`, &structpb.ListValue{}, ""},
		{`{}`, &structpb.Struct{}, ""},
		// Any.
		{`{}`, &anypb.Any{}, ""},
		{`{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}`, mustAny(durationpb.New(1e9)), ""},
		{`{"value":"1s","x":{},"@type":"type.googleapis.com/google.protobuf.Duration"}`, mustAny(durationpb.New(1e9)), `{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}`},
		{`{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}`, mustAny(&emptypb.Empty{}), ""},
		{`{"@type":"type.googleapis.com/google.protobuf.Empty"}`, mustAny(&emptypb.Empty{}), `{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}`},
		{`{"@type":"type.googleapis.com/google.api.CustomHttpPattern","kind":"k","path":""}`, mustAny(&annotations.CustomHttpPattern{Kind: "k"}), ""},
		{`{"kind":"k","@type":"type.googleapis.com/google.api.CustomHttpPattern"}`, mustAny(&annotations.CustomHttpPattern{Kind: "k"}), `{"@type":"type.googleapis.com/google.api.CustomHttpPattern","kind":"k","path":""}`},
		{`{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/google.protobuf.Value","value":null}}`, mustAny(mustAny(structpb.NewNullValue())), ""},
	} {
		checkProto(t, tt.text, tt.want, tt.written)
	}
}

func checkProto(t *testing.T, text string, want proto.Message, written string) {
	t.Helper()
	if written == "" {
		written = text
	}
	data := []byte(text)
	got := want.ProtoReflect().New().Interface()
	if err := codec.Decode(data, got); err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	clear(data) // a reference to data would show now
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
	b, err := codec.Append(nil, want)
	if err != nil || string(b) != written {
		t.Errorf("written, error %v:\n%s\nwant:\n%s", err, b, written)
	}
}

// The same for a dynamic message with fields of every kind.
func TestKitchen(t *testing.T) {
	for _, tt := range []struct {
		text    string
		set     string // the message as protobuf's text format
		written string
	}{
		{`{}`, ``, zeroKitchen},
		{`{"b":null,"i32":null,"self":null,"opt":null,"oneStr":null,"time":null,"wrap":null,"color":null,"quoted_list":null,"byStr":null}`, ``, zeroKitchen},
		{
			`{"b":true,"i32":"-1","s32":-2147483648,"f32":1e2,"u32":4294967295,"x32":1,"i64":-9223372036854775808,"quoted_i64":5,"numberI64":"6","u64":18446744073709551615,"quotedList":["1",2],"flt":0.5,"dbl":"NaN","str":"s","byt":[255]}`,
			`b: true i32: -1 s32: -2147483648 f32: 100 u32: 4294967295 x32: 1 i64: -9223372036854775808 quoted_i64: 5 number_i64: 6 u64: 18446744073709551615 quoted_list: [1, 2] flt: 0.5 dbl: nan str: "s" byt: "\xff"`,
			kitchenWith(`"b":false`, `"b":true`, `"i32":0`, `"i32":-1`, `"s32":0`, `"s32":-2147483648`, `"f32":0`, `"f32":100`, `"u32":0`, `"u32":4294967295`, `"x32":0`, `"x32":1`, `"i64":0`, `"i64":-9223372036854775808`, `"quotedI64":"0"`, `"quotedI64":"5"`, `"numberI64":0`, `"numberI64":6`, `"u64":0`, `"u64":18446744073709551615`, `"quotedList":[]`, `"quotedList":["1","2"]`, `"flt":0`, `"flt":0.5`, `"dbl":0`, `"dbl":"NaN"`, `"theString":""`, `"theString":"s"`, `"byt":""`, `"byt":"/w=="`),
		},
		{`{"color":"VERT","colors":["GREEN",0,"RED",-7]}`, `color: GREEN colors: [GREEN, RED, RED, -7]`, kitchenWith(`"color":"RED"`, `"color":"GREEN"`, `"colors":[]`, `"colors":["GREEN","RED","RED",-7]`)},
		{`{"opt":0}`, `opt: 0`, kitchenWith(`"values"`, `"opt":0,"values"`)},
		{`{"oneStr":""}`, `one_str: ""`, kitchenWith(`"values"`, `"oneStr":"","values"`)},
		{`{"oneNull":null}`, `one_null: NULL_VALUE`, kitchenWith(`"values"`, `"oneNull":null,"values"`)},
		{`{"oneNull":"NULL_VALUE"}`, `one_null: NULL_VALUE`, kitchenWith(`"values"`, `"oneNull":null,"values"`)},
		{`{"oneNull":0,"oneStr":null}`, `one_null: NULL_VALUE`, kitchenWith(`"values"`, `"oneNull":null,"values"`)},
		{`{"oneValue":null}`, `one_value: {null_value: NULL_VALUE}`, kitchenWith(`"values"`, `"oneValue":null,"values"`)},
		{`{"value":null,"values":[null,1,{"a":[]}],"nulls":[null,0]}`, `value: {null_value: NULL_VALUE} values: [{null_value: NULL_VALUE}, {number_value: 1}, {struct_value: {fields: {key: "a" value: {list_value: {}}}}}] nulls: [NULL_VALUE, NULL_VALUE]`, kitchenWith(`"values":[]`, `"value":null,"values":[null,1,{"a":[]}]`, `"nulls":[]`, `"nulls":[null,null]`)},
		{`{"time":"1970-01-01T00:00:01Z","wrap":"7","any":{"@type":"a/google.protobuf.Int64Value","value":1}}`, `time: {seconds: 1} wrap: {value: 7} any: {type_url: "a/google.protobuf.Int64Value" value: "\x08\x01"}`, kitchenWith(`"byBool"`, `"time":"1970-01-01T00:00:01Z","wrap":7,"any":{"@type":"a/google.protobuf.Int64Value","value":1},"byBool"`)},
		{
			`{"byBool":{"true":"t","false":"f"},"byI32":{"-1":"","10":"AA==","9":""},"byI64":{"-9223372036854775808":"GREEN","2":5},"byU32":{"4294967295":1.5},"byU64":{"18446744073709551615":"1"},"byStr":{"b":{},"a":{}}}`,
			`by_bool: {key: true value: "t"} by_bool: {key: false value: "f"} by_i32: {key: -1} by_i32: {key: 10 value: "\x00"} by_i32: {key: 9} by_i64: {key: -9223372036854775808 value: GREEN} by_i64: {key: 2 value: 5} by_u32: {key: 4294967295 value: 1.5} by_u64: {key: 18446744073709551615 value: 1} by_str: {key: "a" value: {}} by_str: {key: "b" value: {}}`,
			kitchenWith(`"byBool":{}`, `"byBool":{"false":"f","true":"t"}`, `"byI32":{}`, `"byI32":{"-1":"","10":"AA==","9":""}`, `"byI64":{}`, `"byI64":{"-9223372036854775808":"GREEN","2":5}`, `"byU32":{}`, `"byU32":{"4294967295":1.5}`, `"byU64":{}`, `"byU64":{"18446744073709551615":1}`, `"byStr":{}`, `"byStr":{"a":`+zeroKitchen+`,"b":`+zeroKitchen+`}`),
		},
	} {
		want := newKitchen()
		if err := prototext.Unmarshal([]byte(tt.set), want); err != nil {
			t.Fatal(err)
		}
		checkProto(t, tt.text, want, tt.written)
	}
}

func TestKitchenErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"str":"","theString":""}`, `line 1 column 11: the name "theString" stands twice in one object`},
		{`{"oneStr":"","oneNull":null}`, "line 1 column 14: two members of the oneof one: the second is oneNull"},
		{`{"oneValue":null,"oneStr":"a"}`, "line 1 column 18: two members of the oneof one: the second is oneStr"},
		{`{"byBool":{"True":""}}`, `line 1 column 12: byBool: the key "True" is no bool, or out of its range`},
		{`{"byI32":{"2147483648":""}}`, `line 1 column 11: byI32: the key "2147483648" is no int32, or out of its range`},
		{`{"byI64":{"1.5":""}}`, `line 1 column 11: byI64: the key "1.5" is no int64, or out of its range`},
		{`{"byU32":{"-1":0}}`, `line 1 column 11: byU32: the key "-1" is no uint32, or out of its range`},
		{`{"byU64":{"1":0,"1e0":0}}`, `line 1 column 17: byU64: the name "1e0" stands twice in one object`},
		{`{"byStr":{"a":null}}`, `line 1 column 15: byStr["a"]: null is not an object`},
		{`{"byStr":{"a":{"self":{"i32":true}}}}`, `line 1 column 30: byStr["a"].self.i32: true is not an integer`},
		{`{"quotedList":[null]}`, "line 1 column 16: quotedList[0]: null is not an integer"},
		{`{"i32":2147483648}`, "line 1 column 8: i32: 2147483648 is out of range for int32"},
		{`{"u32":-1}`, "line 1 column 8: u32: -1 is out of range for uint32"},
		{`{"color":2147483648}`, "line 1 column 10: color: 2147483648 is out of range for an enum"},
		{`{"color":"red"}`, `line 1 column 10: color: "red" is not a value of the enum test.Color`},
		{`{"flt":3.5e38}`, "line 1 column 8: flt: 3.5e38 is out of range for float32"},
	} {
		if err := codec.Decode([]byte(tt.text), newKitchen()); err == nil || err.Error() != "json: "+tt.want {
			t.Errorf("%s:\n got %v\nwant json: %s", tt.text, err, tt.want)
		}
	}
}

// The cost of Any inside Any is bounded, also where @type comes last.
func TestAnyInAny(t *testing.T) {
	nest := func(n int) []byte {
		return []byte(strings.Repeat(`{"value":`, n) + `{"@type":"x/google.protobuf.BoolValue","value":true}` + strings.Repeat(`,"@type":"x/google.protobuf.Any"}`, n))
	}
	if err := codec.Decode(nest(8), new(anypb.Any)); err != nil {
		t.Error(err)
	}
	if err := codec.Decode(nest(400), new(anypb.Any)); err == nil || !strings.Contains(err.Error(), "too many google.protobuf.Any") {
		t.Error(err)
	}
}

// protojson is the oracle: each understands what the other writes.
func checkOracle(t interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}, m proto.Message,
) {
	t.Helper()
	ours, err := codec.Append(nil, m)
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	theirs, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	full, err := protojson.MarshalOptions{EmitDefaultValues: true, UseEnumNumbers: true, UseProtoNames: true, Multiline: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got := m.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(ours, got); err != nil {
		t.Fatalf("protojson does not read what we write: %v\n%s", err, ours)
	}
	if !proto.Equal(m, got) {
		t.Fatalf("protojson reads what we write as another message (-want +got):\n%s", cmp.Diff(m, got, equal))
	}
	for _, text := range [][]byte{ours, theirs, full} {
		got := m.ProtoReflect().New().Interface()
		if err := codec.Decode(text, got); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !proto.Equal(m, got) {
			t.Fatalf("%s (-want +got):\n%s", text, cmp.Diff(m, got, equal))
		}
	}
}

func TestOracle(t *testing.T) {
	for _, m := range []proto.Message{
		httpRule,
		methodWithOptions,
		&metric.MetricDescriptor{Name: "n", ValueType: metric.MetricDescriptor_DISTRIBUTION, Metadata: &metric.MetricDescriptor_MetricDescriptorMetadata{SamplePeriod: durationpb.New(1500)}},
		// Descriptors have extensions, groups' names, enums and required fields.
		protodesc.ToFileDescriptorProto(descriptorpb.File_google_protobuf_descriptor_proto),
		protodesc.ToFileDescriptorProto(annotations.File_google_api_http_proto),
		protodesc.ToFileDescriptorProto(metric.File_google_api_metric_proto),
		mustValue(map[string]any{"a": []any{1, 2.5, "x", nil, true, map[string]any{"é\u2028": "\x00"}}}),
		mustAny(methodWithOptions),
	} {
		checkOracle(t, m)
	}
}
