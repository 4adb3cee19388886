package json_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
)

// Each text is refused with this error, behind "json: ".
func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct {
		msg        any
		text, want string
	}{
		// Syntax.
		{&ints{}, "", "line 1 column 1: the end of the text where a value should be"},
		{&ints{}, "nul", "line 1 column 1: 'n' where a value should be"},
		{&ints{}, "{", "line 1 column 2: the end of the text where a member's name should be"},
		{&ints{}, "{\n  \"i\":1\n  \"l\":2}", "line 3 column 3: '\"' where ',' or '}' should be"},
		{&ints{}, `{"i":1,}`, "line 1 column 8: '}' where a member's name should be"},
		{&ints{}, `{i:1}`, "line 1 column 2: 'i' where a member's name should be"},
		{&ints{}, `{'i':1}`, `line 1 column 2: '\'' where a member's name should be`},
		{&ints{}, `{"i" 1}`, "line 1 column 6: '1' where ':' should be"},
		{&ints{}, `{"i":}`, "line 1 column 6: i: '}' where a value should be"},
		{&ints{}, `{"l":[1,]}`, "line 1 column 9: l[1]: ']' where a value should be"},
		{&ints{}, `{"l":[1 2]}`, "line 1 column 9: l: '2' where ',' or ']' should be"},
		{&ints{}, `{"l":[1`, "line 1 column 8: l: the end of the text where ',' or ']' should be"},
		{&ints{}, `{} {}`, "line 1 column 4: '{' after the end of the value"},
		{&ints{}, "{}\x00", "line 1 column 3: '\\x00' after the end of the value"},
		{&ints{}, "\ufeff{}", `line 1 column 1: '\ufeff' where a value should be`},
		{&ints{}, `{"i":01}`, "line 1 column 6: i: malformed number"},
		{&ints{}, `{"i":-}`, "line 1 column 6: i: malformed number"},
		{&ints{}, `{"i":1.}`, "line 1 column 6: i: malformed number"},
		{&ints{}, `{"i":1e}`, "line 1 column 6: i: malformed number"},
		{&ints{}, `{"i":1e+}`, "line 1 column 6: i: malformed number"},
		{&ints{}, `{"i":+1}`, "line 1 column 6: i: '+' where a value should be"},
		{&ints{}, `{"i":.5}`, "line 1 column 6: i: '.' where a value should be"},
		{&ints{}, `{"i":0x10}`, "line 1 column 7: 'x' where ',' or '}' should be"},
		{&floats{}, `{"f64":NaN}`, "line 1 column 8: f64: 'N' where a value should be"},
		{&bools{}, `{"v":tru}`, "line 1 column 6: v: 't' where a value should be"},
		{&bools{}, `{"v":falsy}`, "line 1 column 6: v: 'f' where a value should be"},
		{&texts{}, `{"s":"abc`, "line 1 column 10: s: the text ends inside a string"},
		{&texts{}, `{"s":"abc\`, "line 1 column 11: s: the text ends inside a string"},
		{&texts{}, `{"s":"a\u00`, `line 1 column 8: s: \u without four hexadecimal digits`},
		{&texts{}, "{\"s\":\"a\nb\"}", "line 1 column 8: s: control character 0x0a inside a string"},
		{&texts{}, "{\"s\":\"\\t\x1f\"}", "line 1 column 9: s: control character 0x1f inside a string"},
		{&texts{}, `{"s":"\x"}`, `line 1 column 7: s: unknown escape \x`},
		{&texts{}, `{"s":"\u00g0"}`, `line 1 column 7: s: \u without four hexadecimal digits`},
		{&texts{}, `{"s":"\ud800"}`, `line 1 column 7: s: half a surrogate pair: \ud800`},
		{&texts{}, `{"s":"\udc00\ud800"}`, `line 1 column 7: s: half a surrogate pair: \udc00`},
		{&texts{}, `{"s":"\ud800\ud800"}`, `line 1 column 7: s: half a surrogate pair: \ud800`},
		{&texts{}, `{"s":"\ud800\n"}`, `line 1 column 7: s: half a surrogate pair: \ud800`},
		{&texts{}, "{\"s\":\"é\xff\"}", "line 1 column 8: s: byte 0xff is not UTF-8"},
		{&texts{}, "{\"s\":\"\\n\xc3\"}", "line 1 column 9: s: byte 0xc3 is not UTF-8"},
		{&texts{}, "{\"s\":\"\xed\xa0\x80\"}", "line 1 column 7: s: byte 0xed is not UTF-8"}, // a surrogate in UTF-8
		{&texts{}, "{\"\xff\":1}", "line 1 column 3: byte 0xff is not UTF-8"},
		{&texts{}, "{\"x\":\"\xff\"}", `line 1 column 7: ["x"]: byte 0xff is not UTF-8`},
		{&texts{}, `{"x":[1,{"y":01}]}`, `line 1 column 14: ["x"][1]["y"]: malformed number`},
		// Names.
		{&ints{}, `{"i":1,"i":2}`, `line 1 column 8: the name "i" stands twice in one object`},
		{&ints{}, `{"i":null,"\u0069":2}`, `line 1 column 11: the name "i" stands twice in one object`},
		{&ints{}, `{"x":1,"x":2}`, `line 1 column 8: the name "x" stands twice in one object`},
		{&ints{}, `{"x":{"y":1,"y":2}}`, `line 1 column 13: ["x"]: the name "y" stands twice in one object`},
		{&annotations.HttpRule{}, `{"responseBody":"","response_body":""}`, `line 1 column 20: the name "response_body" stands twice in one object`},
		{&annotations.HttpRule{}, `{"get":"a","put":"b"}`, "line 1 column 12: two members of the oneof pattern: the second is put"},
		{&ints{}, `{"m":{"1":1,"1.0":2}}`, `line 1 column 13: m: the name "1.0" stands twice in one object`},
		{&bools{}, `{"m":{"1":true}}`, `line 1 column 7: m: the key "1" is no bool, or out of its range`},
		{&ints{}, `{"m":{"32768":1}}`, `line 1 column 7: m: the key "32768" is no int16, or out of its range`},
		{&ints{}, `{"m":{"":1}}`, `line 1 column 7: m: the key "" is no int16, or out of its range`},
		{&uints{}, `{"m":{"-1":1}}`, `line 1 column 7: m: the key "-1" is no uint64, or out of its range`},
		{&uints{}, `{"m":{" 1":1}}`, `line 1 column 7: m: the key " 1" is no uint64, or out of its range`},
		// Kinds and ranges.
		{&ints{}, `null`, "line 1 column 1: null is not an object"},
		{&ints{}, `[]`, "line 1 column 1: an array is not an object"},
		{&ints{}, "{\n \"i\":1,\n \"l\":[1,2,\"x\"]}", `line 3 column 11: l[2]: "x" is not an integer`},
		{&ints{}, `{"i":{}}`, "line 1 column 6: i: an object is not an integer"},
		{&ints{}, `{"i":true}`, "line 1 column 6: i: true is not an integer"},
		{&ints{}, `{"i":1.5}`, "line 1 column 6: i: 1.5 is not an integer"},
		{&ints{}, `{"i":1e-1}`, "line 1 column 6: i: 1e-1 is not an integer"},
		{&ints{}, `{"i":" 1"}`, `line 1 column 6: i: " 1" is not an integer`},
		{&ints{}, `{"i":"1 "}`, `line 1 column 6: i: "1 " is not an integer`},
		{&ints{}, `{"i":""}`, `line 1 column 6: i: "" is not an integer`},
		{&ints{}, `{"i":"0x1"}`, `line 1 column 6: i: "0x1" is not an integer`},
		{&ints{}, `{"i8":128}`, "line 1 column 7: i8: 128 is out of range for int8"},
		{&ints{}, `{"i8":"-129"}`, `line 1 column 7: i8: "-129" is out of range for int8`},
		{&ints{}, `{"i16":32768}`, "line 1 column 8: i16: 32768 is out of range for int16"},
		{&ints{}, `{"i32":2147483648}`, "line 1 column 8: i32: 2147483648 is out of range for int32"},
		{&ints{}, `{"i64":9223372036854775808}`, "line 1 column 8: i64: 9223372036854775808 is out of range for int64"},
		{&ints{}, `{"i64":-9223372036854775809}`, "line 1 column 8: i64: -9223372036854775809 is out of range for int64"},
		{&ints{}, `{"i64":1e19}`, "line 1 column 8: i64: 1e19 is out of range for int64"},
		{&ints{}, `{"i64":1e999999999999999999999}`, "line 1 column 8: i64: 1e999999999999999999999 is out of range for int64"},
		{&ints{}, `{"l":[null]}`, "line 1 column 7: l[0]: null is not an integer"},
		{&ints{}, `{"m":{"1":null}}`, `line 1 column 11: m["1"]: null is not an integer`},
		{&uints{}, `{"u8":256}`, "line 1 column 7: u8: 256 is out of range for uint8"},
		{&uints{}, `{"u64":-1}`, "line 1 column 8: u64: -1 is out of range for uint64"},
		{&uints{}, `{"u64":18446744073709551616}`, "line 1 column 8: u64: 18446744073709551616 is out of range for uint64"},
		{&uints{}, `{"u64":100000000000000000000000000000000000000000000000000}`, "line 1 column 8: u64: 1000000000000000000000000000000000000000… is out of range for uint64"},
		{&floats{}, `{"f32":1e39}`, "line 1 column 8: f32: 1e39 is out of range for float32"},
		{&floats{}, `{"f64":-1e309}`, "line 1 column 8: f64: -1e309 is out of range for float64"},
		{&floats{}, `{"f64":"nan"}`, `line 1 column 8: f64: "nan" is not a number`},
		{&floats{}, `{"f64":"1_0"}`, `line 1 column 8: f64: "1_0" is not a number`},
		{&floats{}, `{"f64":[]}`, "line 1 column 8: f64: an array is not a number"},
		{&bools{}, `{"v":1}`, "line 1 column 6: v: 1 is not a bool"},
		{&bools{}, `{"v":"true"}`, `line 1 column 6: v: "true" is not a bool`},
		{&texts{}, `{"s":1}`, "line 1 column 6: s: 1 is not a string"},
		{&texts{}, `{"l":{}}`, "line 1 column 6: l: an object is not an array"},
		{&texts{}, `{"m":[]}`, "line 1 column 6: m: an array is not an object"},
		{&texts{}, `{"m":{"a b":1}}`, `line 1 column 13: m["a b"]: 1 is not a string`},
		{&blobs{}, `{"b":"a"}`, `line 1 column 6: b: "a" is not base64`},
		{&blobs{}, `{"b":"aGk=="}`, `line 1 column 6: b: "aGk==" is not base64`},
		{&blobs{}, `{"b":"aG=k"}`, `line 1 column 6: b: "aG=k" is not base64`},
		{&blobs{}, `{"b":"a Gk"}`, `line 1 column 6: b: "a Gk" is not base64`},
		{&blobs{}, `{"b":"===="}`, `line 1 column 6: b: "====" is not base64`},
		{&blobs{}, `{"b":"!A=="}`, `line 1 column 6: b: "!A==" is not base64`},
		{&blobs{}, `{"b":"AA!="}`, `line 1 column 6: b: "AA!=" is not base64`},
		{&blobs{}, `{"b":[256]}`, "line 1 column 7: b[0]: 256 is out of range for a byte"},
		{&blobs{}, `{"b":[0,-129]}`, "line 1 column 9: b[1]: -129 is out of range for a byte"},
		{&blobs{}, `{"b":[null]}`, "line 1 column 7: b[0]: null is not an integer"},
		{&blobs{}, `{"b":5}`, "line 1 column 6: b: 5 is not base64 or an array of bytes"},
		{&times{}, `{"t":0}`, "line 1 column 6: t: 0 is not an RFC 3339 time"},
		{&times{}, `{"t":"2023-02-29T00:00:00Z"}`, `line 1 column 6: t: "2023-02-29T00:00:00Z" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01T24:00:00Z"}`, `line 1 column 6: t: "2024-01-01T24:00:00Z" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01T12:00:60Z"}`, `line 1 column 6: t: "2024-01-01T12:00:60Z" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01T12:00:00"}`, `line 1 column 6: t: "2024-01-01T12:00:00" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01 12:00:00Z"}`, `line 1 column 6: t: "2024-01-01 12:00:00Z" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01T12:00:00.Z"}`, `line 1 column 6: t: "2024-01-01T12:00:00.Z" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01T12:00:00+24:00"}`, `line 1 column 6: t: "2024-01-01T12:00:00+24:00" is not an RFC 3339 time`},
		{&times{}, `{"t":"2024-01-01T12:00:00Zx"}`, `line 1 column 6: t: "2024-01-01T12:00:00Zx" is not an RFC 3339 time`},
		{&times{}, `{"t":"0001-01-01T00:00:00+00:01"}`, "line 1 column 6: t: the time is not within the years 1 to 9999"},
		{&times{}, `{"t":"9999-12-31T23:59:59-00:01"}`, "line 1 column 6: t: the time is not within the years 1 to 9999"},
		{&times{}, `{"d":"1"}`, `line 1 column 6: d: "1" is not a duration such as "1.5s"`},
		{&times{}, `{"d":".5s"}`, `line 1 column 6: d: ".5s" is not a duration such as "1.5s"`},
		{&times{}, `{"d":"1.s"}`, `line 1 column 6: d: "1.s" is not a duration such as "1.5s"`},
		{&times{}, `{"d":"1.0000000000s"}`, `line 1 column 6: d: "1.0000000000s" is not a duration such as "1.5s"`},
		{&times{}, `{"d":"--1s"}`, `line 1 column 6: d: "--1s" is not a duration such as "1.5s"`},
		{&times{}, `{"d":"1ms"}`, `line 1 column 6: d: "1ms" is not a duration such as "1.5s"`},
		{&times{}, `{"d":1}`, `line 1 column 6: d: 1 is not a duration such as "1.5s"`},
		{&times{}, `{"d":"9223372036.854775808s"}`, "line 1 column 6: d: the duration is out of range for time.Duration (about 292 years)"},
		{&times{}, `{"d":"-9223372036.854775809s"}`, "line 1 column 6: d: the duration is out of range for time.Duration (about 292 years)"},
		{&times{}, `{"d":"10000000000s"}`, "line 1 column 6: d: the duration is out of range for time.Duration (about 292 years)"},
		{&durationpb.Duration{}, `"315576000000.000000001s"`, `line 1 column 1: "315576000000.000000001s" is out of range for a duration (315576000000 seconds)`},
		{&durationpb.Duration{}, `"99999999999999999999s"`, `line 1 column 1: "99999999999999999999s" is out of range for a duration (315576000000 seconds)`},
		{&nested{}, `{"s":1}`, "line 1 column 6: s: 1 is not an object"},
		{&nested{}, `{"p":[]}`, "line 1 column 6: p: an array is not an object"},
		{&nested{}, `{"r":[null]}`, "line 1 column 7: r[0]: null is not an object"},
		{&nested{}, `{"r":[{"r":[{},{"l":[{"x":1},{"y_pos":"?"}]}]}]}`, `line 1 column 39: r[0].r[1].l[1].y_pos: "?" is not an integer`},
		{&nested{}, `{"q":{"1":null}}`, `line 1 column 11: q["1"]: null is not an object`},
		{&protos{}, `{"t":1}`, "line 1 column 6: t: 1 is not an RFC 3339 time"},
		{&protos{}, `{"h":{"body":1}}`, "line 1 column 14: h.body: 1 is not a string"},
		{&protos{}, `{"m":{"k":null}}`, `line 1 column 11: m["k"]: null is not an RFC 3339 time`},
		// Documents.
		{&schema.Document{}, "", "line 1 column 1: the end of the text where a value should be"},
		{&schema.Document{}, "{\"a\":[1,{\"b\n\":1}]}", `line 1 column 12: ["a"][1]: control character 0x0a inside a string`},
		{&schema.Document{}, `{"a":{"b":[01]}}`, `line 1 column 12: ["a"]["b"][0]: malformed number`},
		{&schema.Document{}, `{"a":1,"a":1}`, `line 1 column 8: the name "a" stands twice in one object`},
		{&schema.Document{}, `[1e999]`, "line 1 column 2: [0]: 1e999 is out of range for float64"},
		{&schema.Document{}, `[1,2`, "line 1 column 5: the end of the text where ',' or ']' should be"},
		{&anys{}, `{"m":{"a":nope}}`, `line 1 column 11: m["a"]: 'n' where a value should be`},
		// Generated messages.
		{&annotations.HttpRule{}, `{"additionalBindings":[{},null]}`, "line 1 column 27: additionalBindings[1]: null is not an object"},
		{&descriptorpb.FieldDescriptorProto{}, `{"type":"TYPE_NONE"}`, `line 1 column 9: type: "TYPE_NONE" is not a value of the enum google.protobuf.FieldDescriptorProto.Type`},
		{&descriptorpb.FieldDescriptorProto{}, `{"type":1.5}`, "line 1 column 9: type: 1.5 is not an integer"},
		{&descriptorpb.FieldDescriptorProto{}, `{"type":{}}`, "line 1 column 9: type: an object is not a name or number of the enum google.protobuf.FieldDescriptorProto.Type"},
		{&descriptorpb.UninterpretedOption{}, `{"name":[{"namePart":"a"}]}`, "line 1 column 1: required field google.protobuf.UninterpretedOption.NamePart.is_extension not set"},
		{&structpb.Value{}, `{"a":[1,nil]}`, `line 1 column 9: ["a"][1]: 'n' where a value should be`},
		{&structpb.Value{}, `1e400`, "line 1 column 1: 1e400 is out of range for float64"},
		{&structpb.Struct{}, `{"a":1,"a":1}`, `line 1 column 8: the name "a" stands twice in one object`},
		{&structpb.Struct{}, `[]`, "line 1 column 1: an array is not an object"},
		{&structpb.ListValue{}, `{}`, "line 1 column 1: an object is not an array"},
		{&wrapperspb.StringValue{}, `null`, "line 1 column 1: null is not a string"},
		{&fieldmaskpb.FieldMask{}, `"a_b"`, `line 1 column 1: "a_b" is not a path of a field mask`},
		{&fieldmaskpb.FieldMask{}, `"a,,b"`, `line 1 column 1: "" is not a path of a field mask`},
		{&anypb.Any{}, `{"@type":"type.googleapis.com/no.Such"}`, `line 1 column 1: @type: no message type is known for "type.googleapis.com/no.Such"`},
		{&anypb.Any{}, `{"@type":""}`, "line 1 column 12: @type: an empty type URL"},
		{&anypb.Any{}, `{"value":1}`, "line 1 column 1: google.protobuf.Any has no member @type"},
		{&anypb.Any{}, `{"@type":"type.googleapis.com/google.protobuf.Duration"}`, "line 1 column 57: google.protobuf.Any of google.protobuf.Duration has no member value"},
		{&anypb.Any{}, `{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1"}`, `line 1 column 65: value: "1" is not a duration such as "1.5s"`},
		{&anypb.Any{}, `{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s","value":"1s"}`, `line 1 column 70: the name "value" stands twice in one object`},
		{&anypb.Any{}, `{"@type":"type.googleapis.com/google.api.HttpRule","@type":"x"}`, `line 1 column 52: the name "@type" stands twice in one object`},
		{&anypb.Any{}, `{"@type":"type.googleapis.com/google.api.HttpRule","body":1}`, `line 1 column 59: body: 1 is not a string`},
		{&anypb.Any{}, `[]`, "line 1 column 1: an array is not an object"},
	} {
		err := codec.Decode([]byte(tt.text), tt.msg)
		if err == nil {
			t.Errorf("%T %s: no error; want %s", tt.msg, tt.text, tt.want)
		} else if err.Error() != "json: "+tt.want {
			t.Errorf("%T %s:\n got %s\nwant json: %s", tt.msg, tt.text, err, tt.want)
		}
	}
}

// The error's parts can be had without taking the text apart.
func TestErrorParts(t *testing.T) {
	err := codec.Decode([]byte("{\n\"l\":[true]}"), new(ints))
	var e *json.Error
	if !errors.As(err, &e) || e.Path != "l[0]" || e.Line != 2 || e.Column != 6 || e.Reason != "true is not an integer" {
		t.Errorf("%+v", e)
	}
}

func TestAppendErrors(t *testing.T) {
	loop := &nested{}
	loop.R = []*nested{loop}
	list := []any{nil}
	list[0] = list
	doc := &schema.Document{}
	doc.Value = map[string]any{"again": doc}
	rule := &annotations.HttpRule{}
	rule.AdditionalBindings = []*annotations.HttpRule{rule}
	for _, tt := range []struct {
		msg  any
		want string
	}{
		{&texts{S: "a\xff"}, "s: the string is not UTF-8"},
		{&texts{L: []string{"", "\xff"}}, "l[1]: the string is not UTF-8"},
		{&texts{M: map[string]string{"a\xff": ""}}, `m["a\xff"]: the string is not UTF-8`},
		{&texts{M: map[string]string{"a": "\xff"}}, `m["a"]: the string is not UTF-8`},
		{&nested{R: []*nested{{}, nil}}, "r[1]: a nil pointer in a list or map"},
		{&nested{Q: map[int32]*point{7: nil}}, `q["7"]: a nil pointer in a list or map`},
		{&protos{L: []*structpb.Value{nil}}, "l[0]: a nil pointer in a list or map"},
		{&protos{L: []*structpb.Value{{}}}, "l[0]: a google.protobuf.Value that holds nothing; null is a NullValue"},
		{&protos{H: &annotations.HttpRule{AdditionalBindings: []*annotations.HttpRule{nil}}}, "h.additionalBindings[0]: a nil pointer in a list or map"},
		{&times{T: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "t: the time 10000-01-01T00:00:00Z is not within the years 1 to 9999"},
		{&times{P: ptr(time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC))}, "p: the time 0000-12-31T23:59:59Z is not within the years 1 to 9999"},
		{&anys{A: make(chan int)}, "a: a document cannot hold a value of the Go type chan int"},
		{&anys{L: []any{map[string]any{"k": struct{}{}}}}, `l[0]["k"]: a document cannot hold a value of the Go type struct {}`},
		{&schema.Document{Value: []any{inf()}}, "[0]: a document cannot hold +Inf"},
		{&schema.Document{Value: schema.Number("1.5")}, `the Number "1.5" is not an integer`},
		{&schema.Document{Value: schema.Number("")}, `the Number "" is not an integer`},
		{&schema.Document{Value: schema.Number(`1,"x":2`)}, `the Number "1,\"x\":2" is not an integer`},
		{structpb.NewNumberValue(inf()), "a google.protobuf.Value cannot hold +Inf"},
		{&timestamppb.Timestamp{Nanos: -1}, "the Timestamp of 0 seconds and -1 nanoseconds is out of range"},
		{&durationpb.Duration{Seconds: 1, Nanos: -1}, "the Duration of 1 seconds and -1 nanoseconds is out of range or of two signs"},
		{&fieldmaskpb.FieldMask{Paths: []string{"a", "b_1"}}, `paths[1]: the path "b_1" has no JSON form`},
		{&anypb.Any{TypeUrl: "x/no.Such"}, `@type: no message type is known for "x/no.Such"`},
		{&descriptorpb.UninterpretedOption{Name: []*descriptorpb.UninterpretedOption_NamePart{{}}}, "required field google.protobuf.UninterpretedOption.NamePart.name_part not set"},
		{loop, "nested more than 500 deep (or a cycle of pointers)"},
		{&schema.Document{Value: list}, "nested more than 500 deep (or a cycle of pointers)"},
		{doc, "nested more than 500 deep (or a cycle of pointers)"},
		{rule, "nested more than 500 deep (or a cycle of pointers)"},
	} {
		b, err := codec.Append([]byte("kept"), tt.msg)
		if string(b) != "kept" {
			t.Errorf("%s: the slice is %q", tt.want, b)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "json: ") || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
	// After all these failures the pooled encoders must be as new.
	if b, err := codec.Append(nil, &schema.Document{Value: map[string]any{"a": []any{}}}); err != nil || string(b) != `{"a":[]}` {
		t.Errorf("%s, %v", b, err)
	}
}
