package json_test

import (
	"bytes"
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
)

var codec json.Codec

// One struct for each row of docs/spec/types.md.
type (
	bools struct {
		V bool          `wire:"1"`
		P *bool         `wire:"2"`
		L []bool        `wire:"3"`
		M map[bool]bool `wire:"4"`
	}
	ints struct {
		I8  int8            `wire:"1"`
		I16 int16           `wire:"2"`
		I32 int32           `wire:"3"`
		I64 int64           `wire:"4"`
		I   int             `wire:"5"`
		Q   int64           `wire:"6" json:",string"`
		P   *int64          `wire:"7"`
		L   []int64         `wire:"8"`
		L8  []int8          `wire:"9"`
		L32 []int32         `wire:"10"`
		LI  []int           `wire:"11"`
		LQ  []int64         `wire:"12" json:"lq,string"` //nolint:staticcheck // here it is for the elements
		M   map[int16]int64 `wire:"13"`
	}
	uints struct {
		U8  uint8             `wire:"1"`
		U16 uint16            `wire:"2"`
		U32 uint32            `wire:"3"`
		U64 uint64            `wire:"4"`
		Q   uint64            `wire:"5" json:",string"`
		L   []uint64          `wire:"6"`
		M   map[uint64]uint32 `wire:"7"`
	}
	floats struct {
		F32 float32   `wire:"1"`
		F64 float64   `wire:"2"`
		L   []float64 `wire:"3"`
		L32 []float32 `wire:"4"`
	}
	texts struct {
		S string            `wire:"1"`
		P *string           `wire:"2"`
		L []string          `wire:"3"`
		M map[string]string `wire:"4"`
	}
	blobs struct {
		B []byte            `wire:"1"`
		P *[]byte           `wire:"2"`
		L [][]byte          `wire:"3"`
		M map[string][]byte `wire:"4"`
	}
	times struct {
		T time.Time       `wire:"1"`
		D time.Duration   `wire:"2"`
		P *time.Time      `wire:"3"`
		L []time.Duration `wire:"4"`
	}
	addrs struct {
		A netip.Addr            `wire:"1"`
		P *netip.Addr           `wire:"2"`
		L []netip.Addr          `wire:"3"`
		M map[netip.Addr]string `wire:"4"`
	}
	point struct {
		X int32 `wire:"1"`
		Y int32 `wire:"2" json:"y_pos"`
	}
	nested struct {
		S point            `wire:"1"`
		P *point           `wire:"2"`
		L []point          `wire:"3"`
		R []*nested        `wire:"4"`
		M map[string]point `wire:"5"`
		Q map[int32]*point `wire:"6"`
	}
	protos struct {
		T *timestamppb.Timestamp            `wire:"1"`
		H *annotations.HttpRule             `wire:"2"`
		L []*structpb.Value                 `wire:"3"`
		M map[string]*timestamppb.Timestamp `wire:"4"`
	}
	anys struct {
		A any                        `wire:"1"`
		D schema.Document            `wire:"2"`
		P *schema.Document           `wire:"3"`
		L []any                      `wire:"4"`
		M map[string]schema.Document `wire:"5"`
	}
)

var equal = cmp.Options{protocmp.Transform(), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })}

func ptr[T any](v T) *T { return &v }

// Each text decodes to the value. The value is written as written, or as the
// text if written is empty.
func TestPlain(t *testing.T) {
	when := time.Date(2024, 2, 29, 12, 30, 15, 0, time.UTC)
	for _, tt := range []struct {
		name, text string
		want       any
		written    string
	}{
		{"bool", `{"v":true,"p":false,"l":[true,false],"m":{"false":true,"true":false}}`, &bools{true, ptr(false), []bool{true, false}, map[bool]bool{true: false, false: true}}, ""},
		{"bool zero", `{}`, &bools{}, `{"v":false,"l":[],"m":{}}`},
		{"null is absent", `{"v":null,"p":null,"l":null,"m":null}`, &bools{}, `{"v":false,"l":[],"m":{}}`},
		{"white space", " \t\r\n{ \"v\" : true , \"l\" : [ true , false ] } \n", &bools{V: true, L: []bool{true, false}}, `{"v":true,"l":[true,false],"m":{}}`},
		{"unknown members", `{"x":{"v":[1,{"a":"b"},null,-1.5e3,true]},"v":true,"V":false}`, &bools{V: true}, `{"v":true,"l":[],"m":{}}`},
		{
			"int", `{"i8":-128,"i16":32767,"i32":-2147483648,"i64":-9223372036854775808,"i":9007199254740993,"q":"9223372036854775807","p":0,"l":[1,-1],"l8":[127],"l32":[7],"li":[8],"lq":["1","2"],"m":{"-1":5,"10":6,"9":7}}`,
			&ints{-128, 32767, -2147483648, math.MinInt64, 9007199254740993, math.MaxInt64, ptr(int64(0)), []int64{1, -1}, []int8{127}, []int32{7}, []int{8}, []int64{1, 2}, map[int16]int64{-1: 5, 9: 7, 10: 6}},
			"",
		},
		{
			"int as string, exponent, fraction", `{"i8":"-128","i16":1e3,"i32":"1.0","i64":9223372036854775807,"i":1.5e1,"q":1200E-2,"l":["-9223372036854775808",100.00,-0,0e999999999999,0.000],"m":{"1e1":"1"}}`,
			&ints{I8: -128, I16: 1000, I32: 1, I64: math.MaxInt64, I: 15, Q: 12, L: []int64{math.MinInt64, 100, 0, 0, 0}, M: map[int16]int64{10: 1}},
			`{"i8":-128,"i16":1000,"i32":1,"i64":9223372036854775807,"i":15,"q":"12","l":[-9223372036854775808,100,0,0,0],"l8":[],"l32":[],"li":[],"lq":[],"m":{"10":1}}`,
		},
		{
			"uint", `{"u8":255,"u16":65535,"u32":4294967295,"u64":18446744073709551615,"q":"18446744073709551615","l":[0,18446744073709551615],"m":{"18446744073709551615":1}}`,
			&uints{255, 65535, 4294967295, math.MaxUint64, math.MaxUint64, []uint64{0, math.MaxUint64}, map[uint64]uint32{math.MaxUint64: 1}},
			"",
		},
		{"uint as others", `{"u8":"2.55e2","u64":1844674407370955161.5e1,"u16":-0}`, &uints{U8: 255, U64: math.MaxUint64}, `{"u8":255,"u16":0,"u32":0,"u64":18446744073709551615,"q":"0","l":[],"m":{}}`},
		{
			"float", `{"f32":0.1,"f64":1e-7,"l":[1,0.30000000000000004,1e+21,100000000000000000000,-0,5e-324],"l32":[3.4028235e+38,"NaN"]}`,
			&floats{0.1, 1e-7, []float64{1, 0.30000000000000004, 1e21, 1e20, math.Copysign(0, -1), 5e-324}, []float32{math.MaxFloat32, float32(math.NaN())}},
			"",
		},
		{"float as string", `{"f32":"-Infinity","f64":"Infinity","l":["NaN","1.5e2"]}`, &floats{float32(math.Inf(-1)), math.Inf(1), []float64{math.NaN(), 150}, nil}, `{"f32":"-Infinity","f64":"Infinity","l":["NaN",150],"l32":[]}`},
		{"string", `{"s":"","p":"","l":["a","b"],"m":{"":"x","a":"é","b\"":"/"}}`, &texts{"", ptr(""), []string{"a", "b"}, map[string]string{"": "x", "a": "é", `b"`: "/"}}, ""},
		{"string zero", `{}`, &texts{}, `{"s":"","l":[],"m":{}}`},
		{"escapes", `{"s":"\"\\\/\b\f\n\r\t\u0000\u001f\u007f\u00e9\u20AC\ud83d\ude00"}`, &texts{S: "\"\\/\b\f\n\r\t\x00\x1f\x7fé€😀"}, "{\"s\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7fé€😀\",\"l\":[],\"m\":{}}"},
		{"no HTML escapes", "{\"s\":\"<&>\u2028\",\"l\":[],\"m\":{}}", &texts{S: "<&>\u2028"}, ""},
		{"escaped name", `{"\u0073":"x"}`, &texts{S: "x"}, `{"s":"x","l":[],"m":{}}`},
		{"bytes", `{"b":"AAEC/w==","p":"","l":["","+/8="],"m":{"k":"aGk="}}`, &blobs{[]byte{0, 1, 2, 255}, ptr([]byte(nil)), [][]byte{nil, {0xfb, 0xff}}, map[string][]byte{"k": []byte("hi")}}, ""},
		{"bytes, URL alphabet, no padding, escapes", `{"b":"-_8","l":["aGk\u003d","aGk","aGkh",""]}`, &blobs{B: []byte{0xfb, 0xff}, L: [][]byte{[]byte("hi"), []byte("hi"), []byte("hi!"), nil}}, `{"b":"+/8=","l":["aGk=","aGk=","aGkh",""],"m":{}}`},
		{"bytes as array", `{"b":[-128,-1,0,127,"255",1e0],"l":[[],[104,105]]}`, &blobs{B: []byte{128, 255, 0, 127, 255, 1}, L: [][]byte{nil, []byte("hi")}}, `{"b":"gP8Af/8B","l":["","aGk="],"m":{}}`},
		{"time", `{"t":"2024-02-29T12:30:15Z","d":"1.500s","p":"0001-01-01T00:00:00Z","l":["0s","-0.000001s","9223372036.854775807s","-9223372036.854775808s"]}`, &times{when, 1500 * time.Millisecond, &time.Time{}, []time.Duration{0, -1000, math.MaxInt64, math.MinInt64}}, ""},
		{"time zero", `{}`, &times{}, `{"t":"0001-01-01T00:00:00Z","d":"0s","l":[]}`},
		{"time, offset, lower case", `{"t":"2024-02-29t14:00:15.123456789+01:30","d":"0.1s","p":"9999-12-31T23:59:59.999999999z"}`, &times{when.Add(123456789), 100 * time.Millisecond, ptr(time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)), nil}, `{"t":"2024-02-29T12:30:15.123456789Z","d":"0.100s","p":"9999-12-31T23:59:59.999999999Z","l":[]}`},
		{"time, many digits, leap second", `{"t":"2016-12-31T23:59:60Z","d":"3s","p":"2024-02-29T12:30:15.10000000099-00:00"}`, &times{time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC), 3 * time.Second, ptr(when.Add(100 * time.Millisecond)), nil}, `{"t":"2017-01-01T00:00:00Z","d":"3s","p":"2024-02-29T12:30:15.100Z","l":[]}`},
		{"text type", `{"a":"::1","p":"10.0.0.1","l":["1.2.3.4",""],"m":{"10.0.0.1":"b","9.0.0.1":"a"}}`, &addrs{netip.MustParseAddr("::1"), ptr(netip.MustParseAddr("10.0.0.1")), []netip.Addr{netip.MustParseAddr("1.2.3.4"), {}}, map[netip.Addr]string{netip.MustParseAddr("9.0.0.1"): "a", netip.MustParseAddr("10.0.0.1"): "b"}}, ""},
		{
			"struct", `{"s":{"x":1,"y_pos":2},"p":{"x":0,"y_pos":0},"l":[{"x":3,"y_pos":0}],"r":[{"s":{"x":0,"y_pos":0},"l":[],"r":[],"m":{},"q":{}}],"m":{"a":{"x":4,"y_pos":0}},"q":{"1":{"x":0,"y_pos":5}}}`,
			&nested{point{1, 2}, &point{}, []point{{X: 3}}, []*nested{{}}, map[string]point{"a": {X: 4}}, map[int32]*point{1: {Y: 5}}},
			"",
		},
		{"struct zero", `{"p":null}`, &nested{}, `{"s":{"x":0,"y_pos":0},"l":[],"r":[],"m":{},"q":{}}`},
		{
			"generated inside", `{"t":"1970-01-01T00:00:01Z","h":{"selector":"s","put":"/v1","body":"","additionalBindings":[],"responseBody":""},"l":[null,1.5,"x",{"a":[]}],"m":{"k":"1970-01-01T00:00:00Z"}}`,
			&protos{&timestamppb.Timestamp{Seconds: 1}, &annotations.HttpRule{Selector: "s", Pattern: &annotations.HttpRule_Put{Put: "/v1"}}, []*structpb.Value{structpb.NewNullValue(), structpb.NewNumberValue(1.5), structpb.NewStringValue("x"), structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewListValue(&structpb.ListValue{})}})}, map[string]*timestamppb.Timestamp{"k": {}}},
			"",
		},
		{"generated inside, absent", `{"t":null}`, &protos{}, `{"l":[],"m":{}}`},
		{
			"any", `{"a":{"b":[1,"x"]},"d":[null],"p":null,"l":[null,true,1.5,{}],"m":{"k":null,"l":"v"}}`,
			&anys{map[string]any{"b": []any{int64(1), "x"}}, schema.Document{Value: []any{nil}}, &schema.Document{}, []any{nil, true, 1.5, map[string]any{}}, map[string]schema.Document{"k": {}, "l": {Value: "v"}}},
			"",
		},
		{"any absent", `{}`, &anys{}, `{"a":null,"d":null,"l":[],"m":{}}`},
		{"protobuf names", `{"y_pos":2}`, &point{Y: 2}, `{"x":0,"y_pos":2}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := []byte(tt.text)
			m := mustMessage(t, tt.want)
			got := m.New()
			if err := codec.Decode(data, got); err != nil {
				t.Fatal(err)
			}
			clear(data) // a reference to data would show now
			if diff := cmp.Diff(tt.want, got, equal); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			written := tt.written
			if written == "" {
				written = tt.text
			}
			b, err := codec.Append([]byte("before"), got)
			if err != nil || string(b) != "before"+written {
				t.Errorf("written, error %v:\n%s\nwant:\n%s", err, b, written)
			}
			again := m.New()
			if err := codec.Decode([]byte(written), again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, again, equal); diff != "" {
				t.Errorf("decoded again (-want +got):\n%s", diff)
			}
		})
	}
}

// A struct may have more fields than one word has bits.
func TestManyMembers(t *testing.T) {
	var unknown strings.Builder
	for i := range 40 {
		unknown.WriteString(`,"` + strings.Repeat("u", i+1) + `":1`)
	}
	if err := codec.Decode([]byte(`{"x":1`+unknown.String()+`}`), new(point)); err != nil {
		t.Error(err)
	}
	if err := codec.Decode([]byte(`{"x":1`+unknown.String()+`,"uuuu":2}`), new(point)); err == nil {
		t.Error("a duplicate among many unknown members was not seen")
	}
	w := new(wide)
	if err := codec.Decode([]byte(`{"f70":1,"f1":2,"f66":3}`), w); err != nil || w.F70 != 1 || w.F1 != 2 || w.F66 != 3 {
		t.Errorf("%v, %+v", err, w)
	}
	for _, text := range []string{`{"f70":1,"f1":2,"f70":3}`, `{"f1":1,"f1":2}`, `{"f65":1,"f66":2,"f65":3}`} {
		if err := codec.Decode([]byte(text), w); err == nil || !strings.Contains(err.Error(), "stands twice") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDecodeResets(t *testing.T) {
	n := &nested{S: point{X: 1}, P: &point{}, L: []point{{}}, M: map[string]point{"a": {}}}
	if err := codec.Decode([]byte(`{}`), n); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&nested{}, n); diff != "" {
		t.Error(diff)
	}
	h := &annotations.HttpRule{Selector: "x"}
	if err := codec.Decode([]byte(`{}`), h); err != nil || h.Selector != "" {
		t.Error(err, h)
	}
	d := &schema.Document{Value: 1}
	if err := codec.Decode([]byte(`null`), d); err != nil || d.Value != nil {
		t.Error(err, d)
	}
}

var errRefused = errors.New("refused")

// A half has one half of a text type, and so is a number.
type half int

func (half) MarshalText() ([]byte, error) { return nil, errRefused }

func TestHalfText(t *testing.T) {
	type halves struct {
		H half          `wire:"1"`
		M map[half]half `wire:"2"`
	}
	const text = `{"h":1,"m":{"2":3}}`
	h := new(halves)
	if err := codec.Decode([]byte(text), h); err != nil {
		t.Fatal(err)
	}
	if b, err := codec.Append(nil, h); err != nil || string(b) != text {
		t.Errorf("%s, %v", b, err)
	}
}

// A stubborn marshals and unmarshals only the text "ok".
type stubborn string

func (s stubborn) MarshalText() ([]byte, error) {
	if s != "ok" {
		return nil, errRefused
	}
	return []byte(s), nil
}

func (s *stubborn) UnmarshalText(text []byte) error {
	if string(text) != "ok" {
		return errRefused
	}
	*s = "ok"
	return nil
}

type stubborns struct {
	L []stubborn            `wire:"1"`
	M map[stubborn]stubborn `wire:"2"`
}

func TestTextErrors(t *testing.T) {
	s := new(stubborns)
	if err := codec.Decode([]byte(`{"l":["ok","ok"],"m":{"ok":"ok"}}`), s); err != nil {
		t.Fatal(err)
	}
	if b, err := codec.Append(nil, s); err != nil || string(b) != `{"l":["ok","ok"],"m":{"ok":"ok"}}` {
		t.Errorf("%s, %v", b, err)
	}
	for text, want := range map[string]string{
		`{"l":["ok","no"]}`: "json: line 1 column 12: l[1]: refused",
		`{"m":{"no":"ok"}}`: "json: line 1 column 7: m: refused",
		`{"m":{"ok":"no"}}`: `json: line 1 column 12: m["ok"]: refused`,
		`{"l":[1]}`:         "json: line 1 column 7: l[0]: 1 is not a string",
	} {
		err := codec.Decode([]byte(text), s)
		if err == nil || err.Error() != want || strings.Contains(want, "refused") != errors.Is(err, errRefused) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for _, bad := range []*stubborns{{L: []stubborn{"x"}}, {M: map[stubborn]stubborn{"x": "ok"}}, {M: map[stubborn]stubborn{"ok": "x"}}} {
		if _, err := codec.Append(nil, bad); !errors.Is(err, errRefused) {
			t.Errorf("Append(%v): %v", bad, err)
		}
	}
}

// TestBytesAsArray: every kind of message writes bytes as signed integers if it
// is told so, and reads them back.
func TestBytesAsArray(t *testing.T) {
	type data struct {
		One  []byte            `wire:"1"`
		Many [][]byte          `wire:"2"`
		Map  map[string][]byte `wire:"3"`
		Any  any               `wire:"4"`
	}
	arrays := json.Codec{BytesAsArray: true}
	in := data{One: []byte{0, 127, 128, 255}, Many: [][]byte{{1}, {}}, Map: map[string][]byte{"k": {200}}, Any: []byte{9}}
	text, err := arrays.Append(nil, &in)
	if want := `{"one":[0,127,-128,-1],"many":[[1],[]],"map":{"k":[-56]},"any":[9]}`; err != nil || string(text) != want {
		t.Fatalf("%s, %v, want %s", text, err, want)
	}
	var out data
	if err := codec.Decode(text, &out); err != nil || !bytes.Equal(out.One, in.One) || !bytes.Equal(out.Map["k"], in.Map["k"]) {
		t.Errorf("%+v, %v", out, err)
	}
	generated := wrapperspb.Bytes([]byte{128})
	if text, err = arrays.Append(nil, generated); err != nil || string(text) != "[-128]" {
		t.Errorf("%s, %v", text, err)
	}
	read := new(wrapperspb.BytesValue)
	if err := codec.Decode(text, read); err != nil || !proto.Equal(read, generated) {
		t.Errorf("%v, %v", read, err)
	}
	// The option is the codec's, not the encoder's that is reused.
	if text, err = codec.Append(nil, generated); err != nil || string(text) != `"gA=="` {
		t.Errorf("%s, %v", text, err)
	}
}
