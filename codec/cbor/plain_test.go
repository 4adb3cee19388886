package cbor

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	fx "github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/schema"
)

type all struct {
	_       struct{}              `wire:"by-order"`
	Bool    bool                  `json:"bool"`
	I8      int8                  `json:"i8"`
	I64     int64                 `json:"i64,string"`
	U8      uint8                 `json:"u8"`
	U64     uint64                `json:"u64"`
	F32     float32               `json:"f32"`
	F64     float64               `json:"f64"`
	Str     string                `json:"str"`
	Bytes   []byte                `json:"bytes"`
	Time    time.Time             `json:"time"`
	Dur     time.Duration         `json:"dur"`
	Addr    netip.Addr            `json:"addr"`
	Leaf    leaf                  `json:"leaf"`
	LeafPtr *leaf                 `json:"leafPtr"`
	Status  *status.Status        `json:"status"`
	Any     any                   `json:"any"`
	Doc     schema.Document       `json:"doc"`
	OptInt  *int32                `json:"optInt"`
	Ints    []int64               `json:"ints"`
	Strs    []string              `json:"strs"`
	Blobs   [][]byte              `json:"blobs"`
	Leaves  []*leaf               `json:"leaves"`
	ByStr   map[string]int32      `json:"byStr"`
	ByInt   map[int64]string      `json:"byInt"`
	ByBool  map[bool]leaf         `json:"byBool"`
	ByAddr  map[netip.Addr]string `json:"byAddr"`
}

type leaf struct {
	Name string `wire:"1"`
	Next *leaf  `wire:"2"`
}

var sameAll = cmp.Options{
	cmpopts.IgnoreFields(all{}, "_"), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), protocmp.Transform(),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func full() *all {
	return &all{
		Bool: true, I8: -128, I64: -1 << 63, U8: 255, U64: 1<<64 - 1, F32: 1.5, F64: 0.1,
		Str: "grüße", Bytes: []byte{0, 0xff}, Time: time.Unix(1514862245, 678901234).UTC(), Dur: -1500 * time.Millisecond,
		Addr: netip.MustParseAddr("::1"), Leaf: leaf{Name: "a", Next: &leaf{Name: "b"}}, LeafPtr: &leaf{},
		Status: &status.Status{Code: 5, Message: "gone"},
		Any:    object{"list": list(nil, true, int64(1), 2.5, "s", []byte{1}, uint64(1<<63), time.Unix(1, 0).UTC(), schema.Number("18446744073709551616"))},
		Doc:    schema.Document{Value: "x"}, OptInt: new(int32),
		Ints: []int64{0, -1, 1 << 40}, Strs: []string{"", "x"}, Blobs: [][]byte{{}, {1}}, Leaves: []*leaf{{Name: "l"}, {}},
		ByStr: map[string]int32{"b": 2, "a": 1}, ByInt: map[int64]string{-5: "minus", 7: ""}, ByBool: map[bool]leaf{true: {Name: "t"}, false: {}},
		ByAddr: map[netip.Addr]string{netip.MustParseAddr("1.2.3.4"): "v4", netip.MustParseAddr("::1"): "v6"},
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
		if again, err := (Codec{}).Append(nil, in); err != nil || !bytes.Equal(again, data) {
			t.Errorf("a second encoding differs: %v", err)
		}
		if err := fx.Wellformed(data); err != nil {
			t.Errorf("%x: %v", data, err)
		}
		out := &all{Str: "left over", OptInt: new(int32), ByStr: map[string]int32{"left": 1}}
		if err := (Codec{}).Decode(data, out); err != nil {
			t.Fatal(err)
		}
		for i := range data { // nothing refers to the input
			data[i] = 0xff
		}
		if diff := cmp.Diff(in, out, sameAll); diff != "" {
			t.Errorf("%s", diff)
		}
	}
}

// What is written, byte for byte.
func TestPlainBytes(t *testing.T) {
	type scalars struct {
		_ struct{} `wire:"by-order"`
		F float32
		D time.Duration
		T time.Time
		Q int64 `json:",string"`
	}
	type maybe struct {
		PageSize *int   `wire:"2"`
		Data     []byte `wire:"3"`
	}
	type maps struct {
		Flags map[bool]int   `wire:"1"`
		Nums  map[int]string `wire:"2"`
	}
	for _, tt := range []struct {
		msg  any
		want string
	}{
		{&maybe{}, "\xa1\x64data\x40"},
		{&maybe{PageSize: new(int)}, "\xa2\x68pageSize\x00\x64data\x40"},
		{&maps{map[bool]int{true: 1, false: 0}, map[int]string{2: "b", -1: "a"}}, "\xa2\x65flags\xa2\xf4\x00\xf5\x01\x64nums\xa2\x20\x61a\x02\x61b"},
		{&scalars{F: 0.1, D: 1500 * time.Millisecond, T: time.Unix(1, 5), Q: 5},
			"\xa4\x61f\xfa\x3d\xcc\xcc\xcd\x61d\x661.500s\x61t\xc0\x78\x1e1970-01-01T00:00:01.000000005Z\x61q\x05"},
	} {
		if got, err := (Codec{}).Append(nil, tt.msg); err != nil || string(got) != tt.want {
			t.Errorf("%+v:\n got %q, %v\nwant %q", tt.msg, got, err, tt.want)
		}
	}
}

// one returns a message of one field as peers may send it.
func one(name, value string) []byte {
	return append(appendString([]byte{0xa1}, name), value...)
}

// What is accepted beside what is written.
func TestPlainAccepts(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		want        any // of the field called name
	}{
		{"bool", "\xf7", false},
		{"bool", "\xd9\xd9\xf7\xf5", true},
		{"i8", "\x3b\x00\x00\x00\x00\x00\x00\x00\x7f", int8(-128)},
		{"i8", "\xf9\xd8\x00", int8(-128)},
		{"i8", "\x64-128", int8(-128)},
		{"u8", "\xd8\x2a\x18\xff", uint8(255)},
		{"u64", "\xfa\x5f\x00\x00\x00", uint64(1 << 63)},
		{"f32", "\xfb\x3f\xf8\x00\x00\x00\x00\x00\x00", float32(1.5)},
		{"f64", "\xf9\x3e\x00", 1.5},
		{"f64", "\x20", -1.0},
		{"f64", "\x641e-3", 0.001},
		{"str", "\x7f\x62ab\x60\x61c\xff", "abc"},
		{"str", "\xd8\x20\x62ab", "ab"},
		{"bytes", "\xd8\x40\x41\xff", []byte{0xff}}, // a typed array of bytes, RFC 8746
		{"bytes", "\x83\x20\x38\x7f\x18\xff", []byte{0xff, 0x80, 0xff}},
		{"bytes", "\x5f\x41\x01\x41\x02\xff", []byte{1, 2}},
		{"time", "\x742018-01-02T03:04:05Z", time.Date(2018, 1, 2, 3, 4, 5, 0, time.UTC)},
		{"time", "\xc0\x78\x192018-01-02T03:04:05+01:00", time.Date(2018, 1, 2, 2, 4, 5, 0, time.UTC)},
		{"time", "\xc1\x20", time.Unix(-1, 0).UTC()},
		{"time", "\xc1\xfb\xbf\xe0\x00\x00\x00\x00\x00\x00", time.Unix(-1, 5e8).UTC()},
		{"dur", "\x641.5s", 1500 * time.Millisecond},
		{"leafPtr", "\xbf\x64name\x61x\xff", &leaf{Name: "x"}},
		{"leafPtr", "\xf6", (*leaf)(nil)},
		{"ints", "\xf6", []int64(nil)},
		{"ints", "\x9f\x617\x08\xff", []int64{7, 8}},
		{"byInt", "\xa2\x62-7\x61a\x01\x60", map[int64]string{-7: "a", 1: ""}},
		{"byBool", "\xa2\x64true\xa0\xf4\xa0", map[bool]leaf{true: {}, false: {}}},
		{"other", "\xa2\x01\x82\xf0\xc1\x40\x5f\x41\x01\xff\xf8\xff", nil},
	} {
		t.Run(fmt.Sprintf("%s %q", tt.name, tt.value), func(t *testing.T) {
			got, want := &all{}, &all{}
			if err := (Codec{}).Decode(one(tt.name, tt.value), got); err != nil {
				t.Fatal(err)
			}
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
	for _, tt := range []struct{ data, want string }{
		{"", "cbor: byte 0: the input ends where a value should be"},
		{"\xf6", "cbor: byte 0: null where a map is needed"},
		{"\xa0\xa0", "cbor: byte 1: 1 bytes after the end of the value"},
		{"\xa1", "cbor: byte 0: a map claims a length of 1 with 0 bytes left"},
		{"\xa1\x01\x02", "cbor: byte 1: an integer as a key where a string is needed"},
		{"\xa1\x41a\x02", "cbor: byte 1: a byte string as a key where a string is needed"},
		{"\xa1\x61\xff\x02", "cbor: byte 1: a string is not valid UTF-8"},
		{"\xa2\x62i8\x01\x62i8\x01", `cbor: byte 5: the key "i8" occurs twice`},
		{"\xa2\x61x\x01\x61x\x01", `cbor: byte 4: the key "x" occurs twice`},
		{"\xa1\x62i8\x18\x80", "cbor: byte 4: i8: 128 is out of range for int8"},
		{"\xa1\x62u8\x20", "cbor: byte 4: u8: -1 is out of range for uint8"},
		{"\xa1\x62u8\xf9\x3e\x00", "cbor: byte 4: u8: 1.5 is not an integer"},
		{"\xa1\x62u8\xf0", "cbor: byte 4: u8: a simple value where an integer is needed"},
		{"\xa1\x63str\x41a", "cbor: byte 5: str: a byte string where a text string is needed"},
		{"\xa1\x63str\xc0\x61a", "cbor: byte 5: str: a tagged time where a text string is needed"},
		{"\xa1\x65bytes\x61a", "cbor: byte 7: bytes: a text string where a byte string is needed"},
		{"\xa1\x65byStr\xa2\x61k\x01\x61k\x01", `cbor: byte 11: byStr["k"]: the key occurs twice`},
		{"\xa1\x64ints\x83\x01\x02\x61a", "cbor: byte 9: ints[2]: a text string where an integer is needed"},
		{"\xa1\x64ints\x9f\x01\x02\x61a\xff", "cbor: ints[2]: a text string where an integer is needed"},
		{"\xbf\x62i8\xff", "cbor: byte 4: a break between a key and its value"},
		{"\xa1\x64time\x65today", `cbor: byte 6: time: "today" is not an RFC 3339 time`},
		{"\xa1\x64time\xc0\x65today", `cbor: byte 6: time: "today" is not an RFC 3339 time`},
		{"\xa1\x64time\xc0\x01", "cbor: byte 7: time: an integer where a text string is needed"},
		{"\xa1\x64time\xc1\x61a", "cbor: byte 7: time: a text string where an integer is needed"},
		{"\xa1\x64time\xc1\xf9\x7e\x00", "time: the time of NaN seconds is not within the years 1 to 9999"},
		{"\xa1\x64time\xc1\x1b\x00\x00\x00\xff\xff\xff\xff\xff", "cbor: byte 6: time: the time is not within the years 1 to 9999"},
		{"\xa1\x64time\x01", "cbor: byte 6: time: an integer where a timestamp or an RFC 3339 string is needed"},
		{"\xa1\x63any\xa2\x61a\x01\x61a\x02", `cbor: byte 9: any: the key "a" occurs twice`},
		{"\xa1\x66status\xa1\x64code\x61x", "cbor: byte 14: status.code: a text string where an integer is needed"},
	} {
		if err := (Codec{}).Decode([]byte(tt.data), new(all)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q:\n got %v\nwant %s", tt.data, err, tt.want)
		}
	}
}

func TestAppendErrors(t *testing.T) {
	cyclic := &leaf{Name: "x"}
	cyclic.Next = cyclic
	for _, tt := range []struct {
		msg  any
		want string
	}{
		{&all{Strs: []string{"", "\xff"}}, "cbor: strs[1]: the string is not valid UTF-8"},
		{&all{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "cbor: time: the time 10000-01-01T00:00:00Z is not"},
		{&all{Any: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "cbor: any: the time 10000-01-01T00:00:00Z is not"},
		{&all{Any: object{"a": list(schema.Number("1e99"))}}, `cbor: any["a"][0]: CBOR cannot hold the number 1e99`},
		{&all{Any: struct{}{}}, "cbor: any: a document cannot hold a value of the Go type struct {}"},
		{cyclic, "nested deeper than 500 levels"},
		{(*all)(nil), "the message is a nil *cbor.all"},
	} {
		got, err := Codec{}.Append([]byte("before"), tt.msg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || string(got) != "before" {
			t.Errorf("%T: got %q, %v, want %s", tt.msg, got, err, tt.want)
		}
	}
}

// common has what we and fxamacker/cbor write alike.
type common struct {
	B  bool             `wire:"1" json:"b"`
	I  int64            `wire:"2" json:"i"`
	U  uint64           `wire:"3" json:"u"`
	F  float64          `wire:"4" json:"f"`
	G  float32          `wire:"5" json:"g"`
	S  string           `wire:"6" json:"s"`
	D  []byte           `wire:"7" json:"d"`
	L  []int64          `wire:"8" json:"l"`
	M  map[string]int64 `wire:"9" json:"m"`
	T  time.Time        `wire:"10" json:"t"`
	P  *int32           `wire:"11" json:"p"`
	In *common          `wire:"12" json:"in"`
}

// TestOther writes and reads with fxamacker/cbor what this codec reads and
// writes.
func TestOther(t *testing.T) {
	options := fx.EncOptions{
		ShortestFloat: fx.ShortestFloat16, NaNConvert: fx.NaNConvert7e00, Time: fx.TimeRFC3339Nano, TimeTag: fx.EncTagRequired,
		NilContainers: fx.NilContainerAsEmpty, BigIntConvert: fx.BigIntConvertShortest,
	}
	theirs, err := options.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	draw := rapid.Custom(func(t *rapid.T) *common {
		return &common{
			B: rapid.Bool().Draw(t, "b"), I: rapid.Int64().Draw(t, "i"), U: rapid.Uint64().Draw(t, "u"),
			F: rapid.OneOf(rapid.Float64(), rapid.Map(rapid.Float32(), func(f float32) float64 { return float64(f) }),
				rapid.Map(rapid.Uint16(), fromHalf)).Draw(t, "f"),
			G: rapid.Float32().Draw(t, "g"), S: rapid.String().Draw(t, "s"), D: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "d"),
			L: rapid.SliceOfN(rapid.Int64(), 0, 30).Draw(t, "l"), M: rapid.MapOfN(rapid.String(), rapid.Int64(), 0, 1).Draw(t, "m"),
			T: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanos")).UTC(),
			P: rapid.Ptr(rapid.Int32(), true).Draw(t, "p"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		in := draw.Draw(rt, "in")
		in.In = rapid.Ptr(rapid.Map(draw, func(c *common) common { return *c }), true).Draw(rt, "nested")
		ours, err := Codec{}.Append(nil, in)
		if err != nil {
			rt.Fatal(err)
		}
		fromOurs := new(common)
		if err := fx.Unmarshal(ours, fromOurs); err != nil {
			rt.Fatalf("%x: %v", ours, err)
		}
		other, err := theirs.Marshal(in)
		if err != nil {
			rt.Fatal(err)
		}
		fromOther := new(common)
		if err := (Codec{}).Decode(other, fromOther); err != nil {
			rt.Fatalf("%x: %v", other, err)
		}
		for _, got := range []*common{fromOurs, fromOther} {
			if diff := cmp.Diff(in, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
				rt.Errorf("%s", diff)
			}
		}
	})
}

// Every half is written as itself, and read as another decoder reads it.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		half := []byte{simpleFloat16, byte(h >> 8), byte(h)}
		var want float64
		if err := fx.Unmarshal(half, &want); err != nil {
			t.Fatal(err)
		}
		got := fromHalf(uint16(h))
		if !same(got, want) {
			t.Fatalf("%04x is read as %v, want %v", h, got, want)
		}
		if written := appendFloat64(nil, got); got == got && !bytes.Equal(written, half) { // but not NaN
			t.Fatalf("%v is written as %x, want %x", got, written, half)
		}
	}
}
