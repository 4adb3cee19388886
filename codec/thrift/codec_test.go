package thrift_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/thrift"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

func newLike(msg any) any { return reflect.New(reflect.TypeOf(msg).Elem()).Interface() }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type (
	inner struct {
		N int32 `wire:"1"`
	}
	outer struct {
		Yes   bool             `wire:"1"`
		No    bool             `wire:"2"`
		Big   int64            `wire:"20"`
		Text  *string          `wire:"21"`
		In    *inner           `wire:"22"`
		Bools []bool           `wire:"23"`
		Map   map[int32]string `wire:"24"`
		Half  float64          `wire:"25"`
	}
	signed struct {
		Small uint8  `wire:"1"`
		Big   uint64 `wire:"2"`
	}
	real32 struct {
		F float32 `wire:"1"`
	}
	clock struct {
		At   time.Time     `wire:"1"`
		Span time.Duration `wire:"2"`
	}
	doc struct {
		V any `wire:"1"`
	}
)

// Bytes by hand, from the two specifications.
func TestBytes(t *testing.T) {
	text := "é"
	sixteen := make([]bool, 16)
	for _, c := range []struct {
		name            string
		msg             any
		binary, compact string
	}{
		{"no fields", &schematest.Nothing{}, "00", "00"},
		{"all kinds of headers", &outer{Yes: true, Big: -1, Text: &text, In: &inner{N: 1}, Bools: []bool{true, false}, Map: map[int32]string{2: "b", -1: "a"}, Half: 0.5},
			"02 0001 01  02 0002 00  0a 0014 ffffffffffffffff  0b 0015 00000002 c3a9  0c 0016 08 0001 00000001 00" +
				"0f 0017 02 00000002 01 00  0d 0018 08 0b 00000002 ffffffff 00000001 61 00000002 00000001 62  04 0019 3fe0000000000000  00",
			"11  12  06 28 01  18 02 c3a9  1c 15 02 00  19 21 01 02  1b 02 58 01 01 61 04 01 62  17 000000000000e03f  00"},
		{"nothing set", &outer{},
			"02 0001 00  02 0002 00  0a 0014 0000000000000000  0f 0017 02 00000000  0d 0018 08 0b 00000000  04 0019 0000000000000000  00",
			"12  12  06 28 00  39 01  1b 00  17 0000000000000000  00"},
		{"a long list", &struct {
			L []bool `wire:"1"`
		}{sixteen}, "0f 0001 02 00000010" + strings.Repeat("00", 16) + "00", "19 f1 10" + strings.Repeat("02", 16) + "00"},
		{"unsigned", &signed{255, math.MaxUint64}, "0a 0001 00000000000000ff 0a 0002 ffffffffffffffff 00", "16 fe03 16 01 00"},
		{"time", &clock{time.Unix(1, 2), -1500 * time.Millisecond},
			"0c 0001 0a 0001 0000000000000001 08 0002 00000002 00  0c 0002 0a 0001 ffffffffffffffff 08 0002 e2329b00 00  00",
			"1c 16 02 15 04 00  1c 16 01 15 ff93ebdc03 00  00"},
		{"a field's document", &doc{map[string]any{"a": int64(1)}}, "0b 0001 00000007 7b2261223a317d 00", "18 07 7b2261223a317d 00"},
		{"a document", &schema.Document{Value: true}, "0b 0001 00000004 74727565 00", "18 04 74727565 00"},
	} {
		for codec, want := range map[thrift.Codec]string{thrift.Binary: c.binary, thrift.Compact: c.compact} {
			t.Run(c.name+" by "+codec.Name(), func(t *testing.T) {
				got, err := codec.Append([]byte("before"), c.msg)
				if err != nil {
					t.Fatal(err)
				}
				if want := "before" + string(unhex(t, want)); string(got) != want {
					t.Errorf("written as %x, want %x", got, want)
				}
				fresh := newLike(c.msg)
				if err := codec.Decode(unhex(t, want), fresh); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.msg, fresh, schematest.Equal); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// What another version of the schema has is passed over, whatever it is.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	type later struct {
		N  int32           `wire:"1"`
		W  schematest.Wide `wire:"2"`
		WP *schematest.Wide
		_  struct{} `wire:"by-order"`
	}
	type earlier struct {
		N    int32  `wire:"1"`
		W    string `wire:"2"` // another type now
		Last string `wire:"4"`
	}
	full := &later{N: 5}
	full.W.Flags, full.W.FlagMap = []bool{true}, map[bool]int8{true: 1}
	full.W.Texts, full.W.Parts = []string{"a"}, []schematest.Part{{Labels: map[string]string{"x": "y"}}}
	full.W.Reals, full.W.Instants, full.W.PartMap = []float64{1}, []time.Time{time.Unix(0, 0)}, map[string]schematest.Part{"p": {}}
	full.WP = &full.W
	for _, codec := range codecs {
		data, err := codec.Append(nil, full)
		if err != nil {
			t.Fatal(err)
		}
		got := earlier{Last: "is reset"}
		if err := codec.Decode(data, &got); err != nil || got != (earlier{N: 5}) {
			t.Errorf("%s: %+v, %v", codec.Name(), got, err)
		}
	}
	// What we never write: i8, i16, sets, UUIDs, lists in lists, and maps with structs as keys.
	for codec, data := range map[everywire.Codec]string{
		thrift.Binary: "03 0009 7f  06 000a 7fff  0e 000b 08 00000001 00000001  10 000c 000102030405060708090a0b0c0d0e0f" +
			"0f 000d 0f 00000001 0a 00000001 0000000000000001  0d 000e 0c 02 00000001 00 01  08 0001 00000005 00",
		thrift.Compact: "93 7f  14 fe01  1a 15 02  1d 000102030405060708090a0b0c0d0e0f  19 19 16 02  1b 01 c1 00 01  05 02 0a 00",
	} {
		var got earlier
		if err := codec.Decode(unhex(t, data), &got); err != nil || got != (earlier{N: 5}) {
			t.Errorf("%s: %+v, %v", codec.Name(), got, err)
		}
	}
	// The specification of the compact protocol lets lists of bools be of type 2,
	// and an empty list's type is nobody's business.
	var got outer
	if err := thrift.Compact.Decode(unhex(t, "09 2e 22 01 02 00"), &got); err != nil || !reflect.DeepEqual(got.Bools, []bool{true, false}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := thrift.Binary.Decode(unhex(t, "0f 0017 00 00000000 00"), &got); err != nil || len(got.Bools) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAppendErrors(t *testing.T) {
	type parts struct {
		Parts []*schematest.Part `wire:"1"`
	}
	cycle := &schematest.Wide{}
	cycle.Self = cycle
	for _, c := range []struct {
		name string
		msg  any
		want string
	}{
		{"string", &parts{[]*schematest.Part{{}, {Labels: map[string]string{"k": "\xff"}}}}, `parts[1].labels["k"]: the string is not valid UTF-8`},
		{"nil element", &parts{[]*schematest.Part{nil}}, "parts[0]: a nil pointer in a list or map"},
		{"time", &clock{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "at: the time 10000-01-01T00:00:00Z is not within the years 1 to 9999"},
		{"document", &doc{math.NaN()}, "v: json: a document cannot hold NaN"},
		{"cycle", cycle, "nested deeper than 500 levels"},
		{"generated", timestamppb.Now(), "google.protobuf.Timestamp is generated from a .proto file"},
		{"generated inside", &struct {
			Parts []struct {
				V *wrapperspb.BoolValue `wire:"1"`
			} `wire:"1"`
		}{}, "BoolValue has no form here"},
		{"number", &struct {
			N int `wire:"32768"`
		}{}, "N: the field number 32768 is above 32767"},
		{"no message", 5, "int is not a pointer to a message"},
		{"nil", (*outer)(nil), "the message is a nil *thrift_test.outer"},
		{"pointer to a pointer", new(*outer), "is not a pointer to a message"},
	} {
		for _, codec := range codecs {
			got, err := codec.Append([]byte("before"), c.msg)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "thrift: ") {
				t.Errorf("%s by %s: error %v, want %q", c.name, codec.Name(), err, c.want)
			}
			if string(got) != "before" {
				t.Errorf("%s by %s: returned %q", c.name, codec.Name(), got)
			}
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		codec everywire.Codec
		data  string
		msg   any
		want  string
	}{
		{"empty", thrift.Binary, "", new(outer), "byte 0: the input ends in the middle of a value"},
		{"two structs", thrift.Binary, "00 00", new(outer), "byte 1: 1 bytes after the end of the struct"},
		{"twice", thrift.Binary, "02 0001 01 02 0001 01 00", new(outer), "byte 4: yes: the field occurs twice"},
		{"twice, out of order", thrift.Compact, "21 01 02 01 04 00", new(outer), "no: the field occurs twice"},
		{"unknown type", thrift.Binary, "09 0001 00", new(outer), "byte 0: a field of an unknown type (0x09)"},
		{"unknown type", thrift.Compact, "1e 00", new(outer), "byte 0: a field of an unknown type (0x1e)"},
		{"beyond i16", thrift.Compact, "01 feff03 11 00", new(outer), "byte 4: a field number above 32767"},
		{"not an i16", thrift.Compact, "01 80808010 00", new(outer), "does not fit an i16"},
		{"not an i32", thrift.Compact, "15 8080808010 00", new(inner), "byte 1: n: 2147483648 does not fit an i32"},
		{"beyond 64 bits", thrift.Compact, "15 ffffffffffffffffffff01 00", new(inner), "byte 1: n: an integer of more than 64 bits"},
		{"elements", thrift.Binary, "0f 0017 08 00000001 00000001 00", new(outer), "byte 3: bools: a list of i32 where one of bool is needed"},
		{"entries", thrift.Compact, "0b 30 01 55 02 02 00", new(outer), "map: a map from i32 to i32 where one from i32 to string is needed"},
		{"unknown elements", thrift.Binary, "0f 0017 07 00000001 00000001 00", new(outer), "bools: elements of an unknown type (0x07)"},
		{"same key", thrift.Binary, "0d 0018 08 0b 00000002 00000001 00000000 00000001 00000000 00", new(outer), `map["1"]: the key occurs twice`},
		{"string", thrift.Binary, "0b 0015 00000001 ff 00", new(outer), "byte 3: text: the string is not valid UTF-8"},
		{"uint8", thrift.Binary, "0a 0001 0000000000000100 00", new(signed), "byte 3: small: 256 is out of range for uint8"},
		{"negative", thrift.Binary, "0a 0001 ffffffffffffffff 00", new(signed), "byte 3: small: -1 is out of range for uint8"},
		{"float32", thrift.Binary, "04 0001 7e37e43c8800759c 00", new(real32), "byte 3: f: 1e+300 is out of range for float32"},
		{"nanoseconds", thrift.Compact, "1c 25 80a8d6b907 00 00", new(clock), "byte 1: at: 0 seconds and 1000000000 nanoseconds"},
		{"signs", thrift.Compact, "2c 16 02 15 01 00 00", new(clock), "span: 1 seconds and -1 nanoseconds are no duration"},
		{"document", thrift.Compact, "18 01 7b 00", new(doc), "byte 1: v: json: line 1 column 2"},
		{"cut", thrift.Binary, "0b 0015 00000003 6161", new(outer), "byte 3: text: a length or count of 3, but only 2 bytes follow"},
		{"negative length", thrift.Binary, "0b 0015 ffffffff", new(outer), "text: the length or count -1 is negative"},
	} {
		err := c.codec.Decode(unhex(t, c.data), c.msg)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "thrift: ") {
			t.Errorf("%s by %s: error %v, want %q", c.name, c.codec.Name(), err, c.want)
		}
	}
}

func TestCarries(t *testing.T) {
	for msg, want := range map[any]string{
		new(outer): "", new(schema.Document): "", new(schematest.Wide): "",
		new(timestamppb.Timestamp): "google.protobuf.Timestamp",
		new(struct {
			N int `wire:"40000"`
		}): "40000",
	} {
		m, err := schema.For(msg)
		if err != nil {
			t.Fatal(err)
		}
		err = thrift.Compact.Carries(m)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%T: %v, want %q", msg, err, want)
		}
	}
}
