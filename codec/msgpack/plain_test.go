package msgpack

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/everywire/everywire/schema"
)

type all struct {
	_        struct{}              `wire:"by-order"`
	Bool     bool                  `json:"bool"`
	I8       int8                  `json:"i8"`
	Int      int                   `json:"int"`
	I64      int64                 `json:"i64,string"`
	U8       uint8                 `json:"u8"`
	U64      uint64                `json:"u64"`
	F32      float32               `json:"f32"`
	F64      float64               `json:"f64"`
	Str      string                `json:"str"`
	Bytes    []byte                `json:"bytes"`
	Time     time.Time             `json:"time"`
	Dur      time.Duration         `json:"dur"`
	Addr     netip.Addr            `json:"addr"`
	Leaf     leaf                  `json:"leaf"`
	LeafPtr  *leaf                 `json:"leafPtr"`
	Status   *status.Status        `json:"status"`
	Any      any                   `json:"any"`
	Doc      schema.Document       `json:"doc"`
	DocPtr   *schema.Document      `json:"docPtr"`
	OptInt   *int32                `json:"optInt"`
	OptStr   *string               `json:"optStr"`
	OptTime  *time.Time            `json:"optTime"`
	Ints     []int64               `json:"ints"`
	Strs     []string              `json:"strs"`
	Blobs    [][]byte              `json:"blobs"`
	Leaves   []*leaf               `json:"leaves"`
	Anys     []any                 `json:"anys"`
	ByStr    map[string]int32      `json:"byStr"`
	ByInt    map[int64]string      `json:"byInt"`
	ByU8     map[uint8]bool        `json:"byU8"`
	ByBool   map[bool]leaf         `json:"byBool"`
	ByAddr   map[netip.Addr]string `json:"byAddr"`
	PageSize int
}

type leaf struct {
	Name string `wire:"1"`
	Next *leaf  `wire:"2"`
}

var sameAll = cmp.Options{
	cmpopts.IgnoreFields(all{}, "_"), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), protocmp.Transform(),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func ptr[T any](v T) *T { return &v }

func full() *all {
	return &all{
		Bool: true, I8: -128, Int: -70000, I64: -1 << 63, U8: 255, U64: 1<<64 - 1, F32: 1.5, F64: 0.1,
		Str: "grüße", Bytes: []byte{0, 0xff}, Time: time.Unix(1514862245, 678901234).UTC(), Dur: -1500 * time.Millisecond,
		Addr: netip.MustParseAddr("::1"), Leaf: leaf{Name: "a", Next: &leaf{Name: "b"}}, LeafPtr: &leaf{},
		Status: &status.Status{Code: 5, Message: "gone"},
		Any:    map[string]any{"list": []any{nil, true, int64(1), 2.5, "s", []byte{1}, uint64(1 << 63)}},
		Doc:    schema.Document{Value: "x"}, DocPtr: &schema.Document{},
		OptInt: ptr(int32(0)), OptStr: ptr(""), OptTime: ptr(time.Unix(-1, 0).UTC()),
		Ints: []int64{0, -1, 1 << 40}, Strs: []string{"", "x"}, Blobs: [][]byte{{}, {1}},
		Leaves: []*leaf{{Name: "l"}, {}}, Anys: []any{nil, int64(7)},
		ByStr: map[string]int32{"b": 2, "a": 1}, ByInt: map[int64]string{-5: "minus", 7: ""},
		ByU8: map[uint8]bool{200: true}, ByBool: map[bool]leaf{true: {Name: "t"}, false: {}},
		ByAddr: map[netip.Addr]string{netip.MustParseAddr("1.2.3.4"): "v4", netip.MustParseAddr("::1"): "v6"}, PageSize: 3,
	}
}

func TestPlainRoundTrip(t *testing.T) {
	for _, in := range []*all{{}, full()} {
		data, err := Codec{}.Append([]byte("before"), in)
		if err != nil {
			t.Fatal(err)
		}
		data, ok := bytes.CutPrefix(data, []byte("before"))
		if !ok {
			t.Fatal("Append changed what was before")
		}
		again, err := Codec{}.Append(nil, in)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("a second encoding differs: %v", err)
		}
		out := &all{Str: "left over", OptInt: ptr(int32(9)), ByStr: map[string]int32{"left": 1}}
		if err := (Codec{}).Decode(data, out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, out, sameAll); diff != "" {
			t.Errorf("%s", diff)
		}
		for i := range data { // nothing refers to the input
			data[i] = 0xc1
		}
		if diff := cmp.Diff(in, out, sameAll); diff != "" {
			t.Errorf("the message refers to the input:\n%s", diff)
		}
	}
}

// What is written, byte for byte.
func TestPlainBytes(t *testing.T) {
	type numbers struct {
		Numbers []int64 `wire:"1"`
	}
	type maybe struct {
		PageSize *int   `wire:"2"`
		Next     *leaf  `wire:"1"`
		Data     []byte `wire:"3"`
	}
	type maps struct {
		Flags map[bool]int   `wire:"1"`
		Nums  map[int]string `wire:"2"`
	}
	type scalars struct {
		_ struct{} `wire:"by-order"`
		F float32
		D time.Duration
		T time.Time
		Q int64 `json:",string"`
	}
	tests := []struct {
		msg  any
		want string
	}{
		{&numbers{}, "\x81\xa7numbers\x90"},
		{&numbers{[]int64{1, -1, 300}}, "\x81\xa7numbers\x93\x01\xff\xcd\x01\x2c"},
		{&maybe{}, "\x81\xa4data\xc4\x00"},
		{&maybe{PageSize: ptr(0), Next: &leaf{}}, "\x83\xa4next\x81\xa4name\xa0\xa8pageSize\x00\xa4data\xc4\x00"},
		{&maps{}, "\x82\xa5flags\x80\xa4nums\x80"},
		{&maps{map[bool]int{true: 1, false: 0}, map[int]string{2: "b", -1: "a"}}, "\x82\xa5flags\x82\xc2\x00\xc3\x01\xa4nums\x82\xff\xa1a\x02\xa1b"},
		{&scalars{F: 1, D: 1500 * time.Millisecond, T: time.Unix(1, 0), Q: 5},
			"\x84\xa1f\xca\x3f\x80\x00\x00\xa1d\xa61.500s\xa1t\xd6\xff\x00\x00\x00\x01\xa1q\x05"},
	}
	for _, tt := range tests {
		got, err := Codec{}.Append(nil, tt.msg)
		if err != nil || string(got) != tt.want {
			t.Errorf("%+v:\n got %q, %v\nwant %q", tt.msg, got, err, tt.want)
		}
	}
}

// field returns a message of one field as peers may send it.
func one(name, value string) []byte {
	return append(AppendString([]byte{0x81}, name), value...)
}

// What is accepted beside what is written.
func TestPlainAccepts(t *testing.T) {
	tests := []struct {
		name, value string
		want        any // of the field called name
	}{
		{"bool", "\xc3", true},
		{"bool", "\xc0", false},
		{"i8", "\xd3\xff\xff\xff\xff\xff\xff\xff\x80", int8(-128)},
		{"i8", "\xcf\x00\x00\x00\x00\x00\x00\x00\x7f", int8(127)},
		{"i8", "\xcb\xc0\x60\x00\x00\x00\x00\x00\x00", int8(-128)},
		{"i8", "\xa4-128", int8(-128)},
		{"int", "\xd1\xff\x7f", -129},
		{"int", "\xca\x4b\x00\x00\x00", 8388608},
		{"i64", "\xb4-9223372036854775808", int64(-1 << 63)},
		{"u64", "\xb418446744073709551615", uint64(1<<64 - 1)},
		{"u64", "\xcb\x43\xe0\x00\x00\x00\x00\x00\x00", uint64(1 << 63)},
		{"u8", "\xd0\x7f", uint8(127)},
		{"f32", "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", float32(1.5)},
		{"f64", "\xca\x3f\xc0\x00\x00", 1.5},
		{"f64", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", float64(1 << 64)},
		{"f64", "\xd0\xff", -1.0},
		{"f64", "\xa41e-3", 0.001},
		{"str", "\xc4\x02ab", "ab"},
		{"bytes", "\xa2\xff\x00", []byte{0xff, 0}},
		{"bytes", "\x93\xff\xd0\x80\xcc\xff", []byte{0xff, 0x80, 0xff}},
		{"bytes", "\xc5\x00\x01a", []byte("a")},
		{"time", "\xb42018-01-02T03:04:05Z", time.Date(2018, 1, 2, 3, 4, 5, 0, time.UTC)},
		{"time", "\xb92018-01-02T03:04:05+01:00", time.Date(2018, 1, 2, 2, 4, 5, 0, time.UTC)},
		{"time", "\xc7\x0c\xff\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00", time.Unix(0, 1).UTC()},
		{"dur", "\xa41.5s", 1500 * time.Millisecond},
		{"dur", "\xad-0.000000001s", -time.Nanosecond},
		{"leaf", "\xc0", leaf{}},
		{"leafPtr", "\x81\xa4name\xa1x", &leaf{Name: "x"}},
		{"leafPtr", "\xc0", (*leaf)(nil)},
		{"ints", "\xc0", []int64(nil)},
		{"ints", "\xdd\x00\x00\x00\x01\xa17", []int64{7}},
		{"optInt", "\x00", ptr(int32(0))},
		{"docPtr", "\xc0", &schema.Document{}},
		{"byInt", "\x82\xa2-7\xa1a\x01\xa0", map[int64]string{-7: "a", 1: ""}},
		{"byBool", "\x82\xa4true\x80\xc2\x80", map[bool]leaf{true: {}, false: {}}},
		{"byU8", "\x81\xa3200\xc3", map[uint8]bool{200: true}},
		{"pageSize", "\x05", 5},
		{"page_size", "\x05", 5},
		{"other", "\x82\x01\x92\xc0\xc4\x01a\xc7\x01\x05a\xc0", nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %q", tt.name, tt.value), func(t *testing.T) {
			got := &all{}
			if err := (Codec{}).Decode(one(tt.name, tt.value), got); err != nil {
				t.Fatal(err)
			}
			want := &all{}
			m, err := schema.For(want)
			if err != nil {
				t.Fatal(err)
			}
			if f := m.ByName(tt.name); f != nil {
				reflect.ValueOf(want).Elem().Field(f.Index).Set(reflect.ValueOf(tt.want))
			}
			if diff := cmp.Diff(want, got, sameAll); diff != "" {
				t.Errorf("%s", diff)
			}
		})
	}
}

func TestPlainErrors(t *testing.T) {
	tests := []struct {
		data string
		want string
	}{
		{"", "byte 0: the input ends where a value should be"},
		{"\xc0", "byte 0: nil where a map is needed"},
		{"\x93\x01\x02\x03", "byte 0: an array where a map is needed"},
		{"\x80\x80", "byte 1: 1 bytes after the end of the value"},
		{"\xc1", "byte 0: the byte 0xc1 begins no value"},
		{"\x81", "byte 0: a map claims a length of 1 with 0 bytes left"},
		{"\x81\x01\x02", "byte 1: an integer as a key where a string is needed"},
		{"\x81\xa1\xff\x02", "byte 1: a string is not valid UTF-8"},
		{"\x82\xa2i8\x01\xa2i8\x01", `byte 5: the key "i8" occurs twice`},
		{"\x82\xa8pageSize\x01\xa9page_size\x01", `byte 11: the key "page_size" occurs twice`},
		{"\x82\xa1x\x01\xa1x\x01", `byte 4: the key "x" occurs twice`},
		{"\x81\xa2i8\xd1\x00\x80", "byte 4: i8: 128 is out of range for int8"},
		{"\x81\xa2i8\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "byte 4: i8: 18446744073709551615 is out of range for int8"},
		{"\x81\xa2u8\xff", "byte 4: u8: -1 is out of range for uint8"},
		{"\x81\xa3u64\xff", "byte 5: u64: -1 is out of range for uint64"},
		{"\x81\xa3i64\xcb\x43\xe0\x00\x00\x00\x00\x00\x00", "byte 5: i64: 9.223372036854776e+18 is out of range for int64"},
		{"\x81\xa3i64\xb39223372036854775808", "byte 5: i64: 9223372036854775808 is out of range for int64"},
		{"\x81\xa3int\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "byte 5: int: 1.5 is not an integer"},
		{"\x81\xa3int\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", "byte 5: int: NaN is not an integer"},
		{"\x81\xa3int\xc3", "byte 5: int: a bool where an integer is needed"},
		{"\x81\xa3f32\xcb\x7f\xef\xff\xff\xff\xff\xff\xff", "out of range for float32"},
		{"\x81\xa3f64\xa3inf", "byte 5: f64: a string where a number is needed"},
		{"\x81\xa4ints\x93\x01\x02\xa1a", "byte 9: ints[2]: a string where an integer is needed"},
		{"\x81\xa4ints\x91\xc0", "byte 7: ints[0]: nil where an integer is needed"},
		{"\x81\xa4leaf\x81\xa4next\x81\xa4name\x01", "byte 18: leaf.next.name: an integer where a string is needed"},
		{"\x81\xa5byStr\x81\xa1k\xa1x", `byte 10: byStr["k"]: a string where an integer is needed`},
		{"\x81\xa5byStr\x82\xa1k\x01\xa1k\x01", `byte 11: byStr["k"]: the key occurs twice`},
		{"\x81\xa5byInt\x82\x07\xa0\xa17\xa0", `byte 10: byInt["7"]: the key occurs twice`},
		{"\x81\xa5bytes\x91\xcd\x01\x00", "byte 8: bytes[0]: 256 is out of range for a byte"},
		{"\x81\xa4time\xa5today", `byte 6: time: "today" is not an RFC 3339 time`},
		{"\x81\xa4time\xd4\x01\x00", "byte 6: time: an extension of the unknown type 1"},
		{"\x81\xa4time\xd5\xff\x00\x00", "byte 6: time: a timestamp of 2 bytes"},
		{"\x81\xa4time\xd7\xff\xff\xff\xff\xff\x00\x00\x00\x00", "1073741823 nanoseconds"},
		{"\x81\xa4time\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", "not within the years 1 to 9999"},
		{"\x81\xa3dur\xa21h", `byte 5: dur: "1h" is not a duration`},
		{"\x81\xa3dur\xa60.5.5s", `is not a duration`},
		{"\x81\xa3dur\xae9223372037.00s", "out of range for time.Duration"},
		{"\x81\xa4addr\xa1x", "byte 6: addr: "},
		{"\x81\xa4time\xd4\x05\x00", "byte 6: time: an extension of the unknown type 5"},
		{"\x81\xa3any\x82\xa1a\x01\xa1a\x02", `byte 9: any: the key "a" occurs twice`},
		{"\x81\xa3any\x81\x01\x02", "byte 6: any: an integer as a key"},
		{"\x81\xa6status\x81\xa4code\xa1x", "byte 14: status.code: a string where an integer is needed"},
	}
	for _, tt := range tests {
		var a all
		err := Codec{}.Decode([]byte(tt.data), &a)
		if err == nil || !strings.HasPrefix(err.Error(), "msgpack: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n got %v\nwant %s", tt.data, err, tt.want)
		}
	}
}

func TestAppendErrors(t *testing.T) {
	cyclic := &leaf{Name: "x"}
	cyclic.Next = cyclic
	tests := []struct {
		msg  any
		want string
	}{
		{&all{Str: "\xff"}, "msgpack: str: the string is not valid UTF-8"},
		{&all{Strs: []string{"", "\xff"}}, "msgpack: strs[1]: the string"},
		{&all{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "msgpack: time: the time 10000-01-01T00:00:00Z is not"},
		{&all{Leaves: []*leaf{nil}}, "msgpack: leaves[0]: a nil pointer"},
		{&all{Any: map[string]any{"a": []any{schema.Number("1e99")}}}, `msgpack: any["a"][0]: MessagePack cannot hold the integer 1e99`},
		{&all{Any: struct{}{}}, "msgpack: any: a document cannot hold a value of the Go type struct {}"},
		{cyclic, "nested deeper than 500 levels"},
		{(*all)(nil), "the message is a nil *msgpack.all"},
		{(*status.Status)(nil), "the message is a nil *status.Status"},
		{all{}, "not a pointer"},
		{nil, "not a pointer"},
	}
	for _, tt := range tests {
		dst := []byte("before")
		got, err := Codec{}.Append(dst, tt.msg)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: got %v, want %s", tt.msg, err, tt.want)
		}
		if string(got) != "before" {
			t.Errorf("%T: dst is %q after an error", tt.msg, got)
		}
	}
}

// halfText can be written as text but not read back: it is a string.
type halfText string

func (halfText) MarshalText() ([]byte, error) { return []byte("never"), nil }

func TestHalfTextKeys(t *testing.T) {
	type msg struct {
		By map[halfText]halfText `wire:"1"`
	}
	in, out := &msg{By: map[halfText]halfText{"k": "v"}}, new(msg)
	data, err := Codec{}.Append(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := (Codec{}).Decode(data, out); err != nil || out.By["k"] != "v" {
		t.Errorf("got %v, %v", out, err)
	}
}
