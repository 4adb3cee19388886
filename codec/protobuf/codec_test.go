package protobuf

import (
	"bytes"
	"encoding/hex"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/everywire/everywire/schema"
)

func ptr[T any](v T) *T { return &v }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is written, byte for byte, in the notation of protoscope's comments.
func TestAppend(t *testing.T) {
	tests := []struct {
		name string
		msg  any
		want string
	}{
		{"empty, but for the struct without a pointer", &all{}, "8201 00"},
		{"zero scalars", &leaf{}, ""},
		{"negative int32 as ten bytes", &all{I8: -1}, "10 ffffffffffffffffff01 8201 00"},
		{"optionals are written when zero", &all{OptBool: ptr(false), OptInt: ptr(int32(0)), OptStr: ptr("")}, "8201 00 f001 00 f801 00 8202 00"},
		{"packed list", &all{Ints: []int64{1, 300}}, "8201 00 b206 03 01ac02"},
		{"list of strings", &all{Strs: []string{"", "a"}}, "8201 00 d206 00 d206 01 61"},
		{"map entry with zero key and value", &all{ByStr: map[string]int32{"": 0}}, "8201 00 ca3e 04 0a00 1000"},
		{"time before 1970", &all{Time: time.Unix(-1, 5)}, "72 0d 08 ffffffffffffffffff01 10 05 8201 00"},
		{"negative duration", &all{Duration: -1500 * time.Millisecond}, "7a 16 08 ffffffffffffffffff01 10 80b6ca91feffffffff01 8201 00"},
		{"any", &all{Any: "x"}, "8201 00 a201 03 1a01 78"},
		{"nil in a list of any", &all{Anys: []any{nil}}, "8201 00 8207 02 0800"},
		{"nil *Document is absent, one that holds nil is not", &all{DocPtr: &schema.Document{}}, "8201 00 b201 02 0800"},
		{"document", &schema.Document{Value: []any{1, nil, true}}, "32 13 0a09 11 000000000000f03f 0a02 0800 0a02 2001"},
		{"nil document", &schema.Document{}, "0800"},
		{"empty containers", &schema.Document{Value: []any{[]any{}, map[string]any{}}}, "32 08 0a02 3200 0a02 2a00"},
		{"generated", &status.Status{Code: 5}, "0805"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Codec{}.Append(nil, tt.msg)
			if err != nil || !bytes.Equal(got, unhex(t, tt.want)) {
				t.Errorf("got %x, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

// What other encoders write, and what is skipped.
func TestDecode(t *testing.T) {
	tests := []struct {
		name, data string
		want       *all
	}{
		{"nothing", "", &all{}},
		{"last value wins", "0801 0800 62 01 61 62 01 62", &all{Str: "b"}},
		{"unpacked list", "b006 01 b006 ac02", &all{Ints: []int64{1, 300}}},
		{"packed and unpacked", "b206 02 0102 b006 03 b206 00 b206 01 04", &all{Ints: []int64{1, 2, 3, 4}}},
		{"unpacked floats", "c506 0000803f", &all{F32s: []float32{1}}},
		{"messages merge", "8a01 03 0a01 61 8a01 06 f8ffffff0f 05", &all{LeafPtr: &leaf{Name: "a", Count: 5}}},
		{"struct without a pointer merges", "8201 03 0a01 61 8201 06 f8ffffff0f 05", &all{Leaf: leaf{Name: "a", Count: 5}}},
		{"generated messages merge", "9a01 02 0805 9a01 03 1201 6d", &all{Status: &status.Status{Code: 5, Message: "m"}}},
		{"timestamps merge", "72 02 0807 72 02 1005", &all{Time: time.Unix(7, 5).UTC()}},
		{"structs in any merge", "a201 0b 2a09 0a07 0a0161 1202 0800 a201 0b 2a09 0a07 0a0162 1202 2001", &all{Any: map[string]any{"a": nil, "b": true}}},
		{"in a oneof the last member wins", "a201 05 2001 1a0178", &all{Any: "x"}},
		{"unknown fields", "c03e 05 c13e 0102030405060708 c23e 02 0102 c33e 08 01 c43e c53e 01020304 0801", &all{Bool: true}},
		{"a group inside an unknown group", "c33e 0b 0c c43e 0801", &all{Bool: true}},
		{"wire type that does not fit is unknown", "0a 01 01 100a", &all{I8: 10}},
		{"map entry without a key or value", "ca3e 00", &all{ByStr: map[string]int32{"": 0}}},
		{"time of a map that is absent", "fa3e 02 0805", &all{TimeBy: map[int32]time.Time{5: time.Unix(0, 0).UTC()}}},
		{"map entry with value first, and twice", "ca3e 07 1005 1006 0a0161", &all{ByStr: map[string]int32{"a": 6}}},
		{"the last entry of a key wins", "ca3e 05 0a0161 1001 ca3e 05 0a0161 1002", &all{ByStr: map[string]int32{"a": 2}}},
		{"message value of a map that is absent", "e23e 02 0801", &all{ByBool: map[bool]*leaf{true: {}}}},
		{"int32 loses its upper bits", "20 8080808010", &all{}},
		{"bool of any varint", "08 80808010", &all{Bool: true}},
		{"long varint of zero", "08 808000 1003", &all{I8: 3}},
		{"explicit zero of an optional", "f801 00", &all{OptInt: ptr(int32(0))}},
		{"empty text", "ba01 00", &all{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := unhex(t, tt.data)
			got := &all{Str: "left over", Ints: []int64{1}, LeafPtr: &leaf{}}
			if err := (Codec{}).Decode(data, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, sameAll); diff != "" {
				t.Errorf("%s", diff)
			}
			// What a generated message of that descriptor makes of it.
			desc := toDynamic(t, reflect.ValueOf(tt.want).Elem()).Descriptor()
			dyn := dynamicpb.NewMessage(desc)
			if err := proto.Unmarshal(data, dyn); err != nil {
				t.Errorf("dynamicpb: %v", err)
			}
		})
	}
}

func TestDecodeKeepsNothing(t *testing.T) {
	data, err := Codec{}.Append(nil, &all{Str: "abc", Bytes: []byte("abc"), Any: "abc", ByStr: map[string]int32{"abc": 1}})
	if err != nil {
		t.Fatal(err)
	}
	var got, want all
	if err := (Codec{}).Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	if err := (Codec{}).Decode(bytes.Clone(data), &want); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if diff := cmp.Diff(&want, &got, sameAll); diff != "" {
		t.Errorf("the message refers to the input:\n%s", diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct {
		name, data, want string
	}{
		{"cut tag", "80", "the input ends in the middle of a value"},
		{"cut value", "62 05 61", "str: the input ends in the middle of a value"},
		{"field number 0", "00 00", "invalid field number"},
		{"field number 2^29", "8080808010 00", "invalid field number"},
		{"field number 2^29 in any", "a201 06 8080808010 00", "any: invalid field number"},
		{"field number 2^29 in time", "72 06 8080808010 00", "time: invalid field number"},
		{"end of a group that did not begin", "0c", "mismatching end group"},
		{"varint of eleven bytes", "08 ffffffffffffffffffff01", "bool: variable length integer overflow"},
		{"int8", "10 8001", "i8: 128 does not fit int8"},
		{"int16", "18 808002", "i16: 32768 does not fit int16"},
		{"uint8", "38 8002", "u8: 256 does not fit uint8"},
		{"uint16 in a list", "ba06 04 01 808004", "u16s[1]: 65536 does not fit uint16"},
		{"string", "62 01 ff", "str: a string is not valid UTF-8"},
		{"string in a list", "d206 00 d206 01 ff", "strs[1]: a string is not valid UTF-8"},
		{"map key", "ca3e 03 0a01 ff", "byStr: a string is not valid UTF-8"},
		{"map value", "d23e 05 0801 1201 ff", `byI64["1"]: a string is not valid UTF-8`},
		{"nested", "9201 07 8a01 04 0a02 61ff", "all.leafPtr.name: a string is not valid UTF-8"},
		{"nanos", "72 06 10 8094ebdc03", "time: the Timestamp of 0 seconds and 1000000000 nanos"},
		{"year 10000", "72 07 08 80abb4 81b007", "time: the Timestamp of"},
		{"duration of two signs", "7a 0d 0801 10 ffffffffffffffffff01", "duration: the Duration of 1 seconds and -1 nanos is not valid"},
		{"duration of 300 years", "7a 06 08 80d4b2c623", "duration: the Duration does not fit time.Duration"},
		{"text", "ba01 01 78", "color: "},
		{"any", "a201 0c 2a0a 0a08 0a016b 12 03 1a01ff", `any["k"]: a string is not valid UTF-8`},
		{"any list", "a201 07 3205 0a03 1a01ff", `any[0]: a string is not valid UTF-8`},
		{"cut any", "a201 02 2a05", "any: the input ends in the middle of a value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Codec{}.Decode(unhex(t, tt.data), new(all))
			if err == nil || !strings.HasPrefix(err.Error(), "protobuf: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
	for _, msg := range []any{(*all)(nil), (*status.Status)(nil), all{}, nil} {
		if err := (Codec{}).Decode(nil, msg); err == nil {
			t.Errorf("%T: no error", msg)
		}
	}
	if err := (Codec{}).Decode([]byte("\x08"), new(status.Status)); err == nil || !strings.Contains(err.Error(), "google.rpc.Status") {
		t.Errorf("a generated message: %v", err)
	}
}

func TestAppendErrors(t *testing.T) {
	cyclic := &all{}
	cyclic.All = cyclic
	tests := []struct {
		msg  any
		want string
	}{
		{&all{Str: "\xff"}, "protobuf: str: a string is not valid UTF-8"},
		{&all{Strs: []string{"", "\xff"}}, "protobuf: strs[1]: a string"},
		{&all{ByI64: map[int64]string{7: "\xff"}}, `protobuf: byI64["7"]: a string`},
		{&all{All: &all{LeafPtr: &leaf{Name: "\xff"}}}, "protobuf: all.leafPtr.name: a string"},
		{&all{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "protobuf: time: the time 10000-01-01"},
		{&all{LeafPtrs: []*leaf{{}, nil}}, "protobuf: leafPtrs[1]: a nil pointer"},
		{&all{ByBool: map[bool]*leaf{true: nil}}, `protobuf: byBool["true"]: a nil pointer`},
		{&all{Any: map[string]any{"a": []any{int64(1<<53 + 1)}}}, `protobuf: any["a"][0]: google.protobuf.Value cannot hold the integer 9007199254740993`},
		{&schema.Document{Value: uint64(math.MaxUint64)}, "cannot hold the integer 18446744073709551615"},
		{&schema.Document{Value: int64(math.MaxInt64)}, "cannot hold the integer 9223372036854775807"},
		{&schema.Document{Value: schema.Number("36893488147419103232")}, "cannot hold the integer 36893488147419103232"},
		{&schema.Document{Value: struct{}{}}, "cannot hold a value of the Go type struct {}"},
		{cyclic, "nested deeper than 500 levels"},
		{(*all)(nil), "the message is a nil *protobuf.all"},
		{(*status.Status)(nil), "a nil *status.Status is no message"},
		{&status.Status{Message: "\xff"}, "protobuf: google.rpc.Status: "},
		{all{}, "not a pointer"},
		{nil, "not a pointer"},
	}
	for _, tt := range tests {
		got, err := Codec{}.Append([]byte("before"), tt.msg)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: got %v\nwant %s", tt.msg, err, tt.want)
		}
		if string(got) != "before" {
			t.Errorf("%T: dst is %q after an error", tt.msg, got)
		}
	}
}

// A document written by us is read by structpb, and what structpb writes is
// read as the value on the right.
func TestDocument(t *testing.T) {
	at := time.Unix(1, 500).UTC()
	tests := []struct{ in, want any }{
		{nil, nil}, {true, true}, {"", ""}, {int8(-5), int64(-5)}, {uint16(7), int64(7)}, {float32(0.5), 0.5},
		{int64(1 << 53), int64(1 << 53)}, {int64(-1 << 53), int64(-1 << 53)}, {int64(1 << 60), float64(1 << 60)}, {uint64(1 << 63), float64(1 << 63)},
		{int64(math.MinInt64), float64(math.MinInt64)}, {3.0, int64(3)}, {1e300, 1e300}, {math.Copysign(0, -1), math.Copysign(0, -1)},
		{math.Inf(1), math.Inf(1)}, {[]byte{0xff}, "/w=="}, {at, "1970-01-01T00:00:01.000000500Z"},
		{map[string]any{"a": []any{map[string]any{}}, "": nil}, map[string]any{"a": []any{map[string]any{}}, "": nil}},
		{schema.Document{Value: 1}, int64(1)}, {(*schema.Document)(nil), nil},
	}
	for _, tt := range tests {
		data, err := Codec{}.Append(nil, &schema.Document{Value: tt.in})
		if err != nil {
			t.Errorf("%v: %v", tt.in, err)
			continue
		}
		var value structpb.Value
		if err := (Codec{}).Decode(data, &value); err != nil {
			t.Errorf("%v: %v", tt.in, err)
		}
		again, err := Codec{}.Append(nil, &value)
		if err != nil {
			t.Errorf("%v: %v", tt.in, err)
		}
		for _, data := range [][]byte{data, again} {
			var doc schema.Document
			if err := (Codec{}).Decode(data, &doc); err != nil {
				t.Errorf("%v: %v", tt.in, err)
			}
			if diff := cmp.Diff(tt.want, doc.Value); diff != "" {
				t.Errorf("%v:\n%s", tt.in, diff)
			}
		}
	}
}

type chain struct {
	Next *chain `wire:"1"`
}

func TestDepth(t *testing.T) {
	record := func(n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	nest := func(n int, numbers ...protowire.Number) []byte {
		var b []byte
		for range n {
			for _, number := range numbers {
				b = record(number, b)
			}
		}
		return b
	}
	deepDoc := func(n int) *schema.Document {
		var v any
		for range n {
			v = []any{v}
		}
		return &schema.Document{Value: v}
	}
	deepChain := func(n int) *chain {
		var c *chain
		for range n {
			c = &chain{Next: c}
		}
		return c
	}
	tests := []struct {
		name string
		try  func(n int) error // n levels
	}{
		{"decode a document", func(n int) error { return Codec{}.Decode(nest(n, listValues, valueList), new(schema.Document)) }},
		{"decode a struct", func(n int) error { return Codec{}.Decode(nest(n-1, 1), new(chain)) }},
		{"decode an any", func(n int) error { return Codec{}.Decode(record(20, nest(n-1, listValues, valueList)), new(all)) }},
		{"encode a document", func(n int) error { _, err := Codec{}.Append(nil, deepDoc(n)); return err }},
		{"encode a struct", func(n int) error { _, err := Codec{}.Append(nil, deepChain(n)); return err }},
	}
	for _, tt := range tests {
		if err := tt.try(schema.MaxDepth); err != nil {
			t.Errorf("%s: %d levels: %v", tt.name, schema.MaxDepth, err)
		}
		if err := tt.try(schema.MaxDepth + 1); err == nil || !strings.Contains(err.Error(), "nested deeper than 500 levels") {
			t.Errorf("%s: %d levels: %v", tt.name, schema.MaxDepth+1, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		}
	}
	if err := (Codec{}).Decode(nest(schema.MaxDepth+1, listValues, valueList), new(structpb.Value)); err == nil {
		t.Error("a generated message: no error")
	}
	// Unknown groups that nest without end are no way round it.
	if err := (Codec{}).Decode(bytes.Repeat([]byte{0xc3, 0x3e}, 1<<20), new(all)); err == nil {
		t.Error("groups: no error")
	}
}

// A length must not make the decoder reserve memory for what it claims.
func TestHostileMemory(t *testing.T) {
	var before, after runtime.MemStats
	packed := protowire.AppendTag(nil, 102, protowire.BytesType)
	packed = append(packed, 0xff, 0xff, 0xff, 0xff, 0x0f) // claims 4 GiB
	packed = append(packed, make([]byte, 1000)...)
	_ = Codec{}.Decode(packed, new(all)) // plans are made once
	runtime.ReadMemStats(&before)
	if err := (Codec{}).Decode(packed, new(all)); err == nil {
		t.Error("no error")
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
		t.Errorf("%d bytes allocated for %d bytes of input", got, len(packed))
	}
}

func TestAllocations(t *testing.T) {
	type numbers struct {
		Numbers []int64 `wire:"1"`
		Next    *leaf   `wire:"2"`
	}
	msg := &numbers{Numbers: []int64{1, 2, 3, 1 << 40}, Next: &leaf{Name: "x"}}
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := (Codec{}).Append(buf, msg); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("Append allocates %v times", n)
	}
	data, err := Codec{}.Append(nil, msg)
	if err != nil {
		t.Fatal(err)
	}
	var out numbers
	if n := testing.AllocsPerRun(100, func() {
		if err := (Codec{}).Decode(data, &out); err != nil {
			t.Error(err)
		}
	}); n > 3 { // the list, the message, its string
		t.Errorf("Decode allocates %v times", n)
	}
}

// FuzzDecode holds the decoder to dynamicpb: what dynamicpb refuses is
// refused, and bytes mean the same as their canonical form, which is what
// dynamicpb makes of them.
func FuzzDecode(f *testing.F) {
	for _, msg := range []*all{
		{}, {I8: -1, U64: 1 << 63, F64: 0.5, Str: "x", Time: time.Unix(1, 2), Duration: time.Second},
		{LeafPtr: &leaf{Name: "a"}, All: &all{}, Status: &status.Status{Code: 5}, Any: map[string]any{"a": []any{nil, 1.5}}},
		{Ints: []int64{1, 300}, Strs: []string{"", "x"}, Leaves: []leaf{{}, {Name: "x"}}, F32s: []float32{1}, Times: []time.Time{time.Unix(5, 0)}},
		{ByStr: map[string]int32{"a": 1}, ByBool: map[bool]*leaf{true: {}}, Docs: map[string]any{"k": "v"}, OptInt: ptr(int32(0))},
	} {
		data, err := Codec{}.Append(nil, msg)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\xca>\x05\n\x010\b0")) // a map's key of another wire type
	desc := toDynamic(f, reflect.ValueOf(all{})).Descriptor()
	f.Fuzz(func(t *testing.T, data []byte) {
		var direct, canonical all
		err := Codec{}.Decode(data, &direct)
		if err != nil {
			return // narrower types, times out of range
		}
		dyn := dynamicpb.NewMessage(desc)
		panicked, dynErr := unmarshal(data, dyn)
		if panicked {
			return // theirs, not ours
		}
		if dynErr != nil {
			t.Fatalf("dynamicpb refuses it: %v", dynErr)
		}
		again, err := proto.Marshal(dyn)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Codec{}).Decode(again, &canonical); err != nil {
			t.Fatalf("the canonical form %x: %v", again, err)
		}
		if diff := cmp.Diff(&canonical, &direct, sameAll); diff != "" {
			t.Fatalf("the canonical form differs:\n%s", diff)
		}
		if _, err := (Codec{}).Append(nil, &direct); err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		var passed all
		if err := (Codec{}).Decode(passThrough(t, data), &passed); err != nil {
			t.Fatalf("after a program that knows less: %v", err)
		}
		if diff := cmp.Diff(&direct, &passed, sameAll); diff != "" {
			t.Fatalf("a program that knows less lost something:\n%s", diff)
		}
	})
}

// unmarshal is proto.Unmarshal, whose path for dynamic messages panics where the
// key of a map's entry has another wire type than its field (v1.36.12).
func unmarshal(data []byte, m proto.Message) (panicked bool, err error) {
	defer func() { panicked = recover() != nil }()
	return false, proto.Unmarshal(data, m)
}

func FuzzDocument(f *testing.F) {
	data, err := Codec{}.Append(nil, &schema.Document{Value: map[string]any{"a": []any{nil, true, 1, 1.5, "s", map[string]any{}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var doc, canonical schema.Document
		var value structpb.Value
		err := Codec{}.Decode(data, &doc)
		valueErr := Codec{}.Decode(data, &value)
		if err != nil {
			return
		}
		if valueErr != nil {
			t.Fatalf("structpb refuses it: %v", valueErr)
		}
		again, err := proto.Marshal(&value)
		if err != nil {
			t.Fatal(err)
		}
		if err := (Codec{}).Decode(again, &canonical); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(canonical, doc, sameAll); diff != "" {
			t.Fatalf("structpb reads it differently:\n%s", diff)
		}
	})
}
