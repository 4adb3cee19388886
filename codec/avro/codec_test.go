package avro_test

import (
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/avro"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/schematest"
)

var _ everywire.PartialCodec = avro.Codec{}

func newLike(msg any) any { return reflect.New(reflect.TypeOf(msg).Elem()).Interface() }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// framed is a datum with the header that msg has.
func framed(t testing.TB, msg any, datum string) []byte {
	t.Helper()
	header, err := avro.Codec{}.Append(nil, newLike(msg))
	if err != nil {
		t.Fatal(err)
	}
	return append(header[:10:10], unhex(t, datum)...)
}

type (
	inner struct {
		N int32 `wire:"1"`
	}
	outer struct {
		Yes   bool             `wire:"1"`
		Big   int64            `wire:"2"`
		Text  *string          `wire:"3"`
		In    *inner           `wire:"4"`
		Longs []int64          `wire:"5"`
		Map   map[int32]string `wire:"6"`
		Half  float32          `wire:"7"`
	}
	unsigned struct {
		Small uint8  `wire:"1"`
		Big   uint64 `wire:"2"`
	}
	clock struct {
		At   time.Time     `wire:"1"`
		Span time.Duration `wire:"2"`
	}
	doc struct {
		V any `wire:"1"`
	}
	days struct {
		M map[time.Weekday]bool `wire:"1"`
	}
	empties struct {
		L []*schematest.Nothing `wire:"1"`
	}
)

// Data by hand, from the specification.
func TestBytes(t *testing.T) {
	text := "é"
	for _, c := range []struct {
		name  string
		msg   any
		datum string
	}{
		{"no fields", &schematest.Nothing{}, ""},
		{"all kinds", &outer{Yes: true, Big: -65, Text: &text, In: &inner{N: 1}, Longs: []int64{3, 27}, Map: map[int32]string{10: "b", -1: "a"}, Half: 0.5},
			"01 8101 02 04 c3a9 02 02 04 06 36 00  04 04 2d31 02 61 04 3130 02 62 00 0000003f"},
		{"nothing set", &outer{}, "00 00 00 00 00 00 00000000"},
		{"unsigned", &unsigned{255, math.MaxUint64}, "fe03 01"},
		{"time", &clock{time.Unix(1, 2), -1500 * time.Millisecond}, "02 04 01 ff93ebdc03"},
		{"a field's document", &doc{map[string]any{"a": int64(1)}}, "0e 7b2261223a317d"},
		{"a document", &schema.Document{Value: true}, "08 74727565"},
		{"keys that print themselves otherwise", &days{map[time.Weekday]bool{time.Monday: true}}, "02 02 31 01 00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := framed(t, c.msg, c.datum)
			got, err := avro.Codec{}.Append([]byte("before"), c.msg)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != "before"+string(want) {
				t.Errorf("written as %x, want %x", got[6:], want)
			}
			fresh := newLike(c.msg)
			if err := (avro.Codec{}).Decode(want, fresh); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.msg, fresh, schematest.Equal); diff != "" {
				t.Error(diff)
			}
		})
	}
	// Other writers cut arrays and maps into blocks, some with their sizes.
	var got outer
	if err := (avro.Codec{}).Decode(framed(t, &got, "00 00 00 00  02 06 01 02 36 00  01 08 02 31 02 61 02 02 32 02 62 00 00000000"), &got); err != nil {
		t.Fatal(err)
	}
	if want := (outer{Longs: []int64{3, 27}, Map: map[int32]string{1: "a", 2: "b"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
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
		{"too many of nothing", &empties{make([]*schematest.Nothing, 1<<16+1)}, "l: 65537 items that take no bytes"},
		{"generated", timestamppb.Now(), "google.protobuf.Timestamp is generated from a .proto file"},
		{"generated inside", &struct {
			T *timestamppb.Timestamp `wire:"1"`
		}{}, "has no form here"},
		{"the name of a time", &struct {
			_ struct{} `wire:"name=everywire.Timestamp"`
		}{}, "the name everywire.Timestamp of"},
		{"no message", 5, "int is not a pointer to a message"},
		{"nil", (*outer)(nil), "the message is a nil *avro_test.outer"},
	} {
		got, err := avro.Codec{}.Append([]byte("before"), c.msg)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "avro: ") {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if string(got) != "before" {
			t.Errorf("%s: returned %q", c.name, got)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		name, datum string
		msg         any
		want        string
	}{
		{"empty", "", new(inner), "byte 10: n: the input ends in the middle of an integer"},
		{"two", "02 02", new(inner), "byte 11: 1 bytes after the end of the datum"},
		{"not an int", "8080808010", new(inner), "byte 10: n: 2147483648 does not fit an int"},
		{"beyond 64 bits", "ffffffffffffffffffff01", new(inner), "n: an integer of more than 64 bits"},
		{"no boolean", "02", new(outer), "byte 10: yes: the byte 0x02 is no boolean"},
		{"no branch", "00 00 04", new(outer), "byte 12: text: a union of 2 branches has none of the number 2"},
		{"negative branch", "00 00 01", new(outer), "text: a union of 2 branches has none of the number -1"},
		{"string", "00 00 02 02 ff", new(outer), "byte 13: text: the string is not valid UTF-8"},
		{"cut", "00 00 02 08 6161", new(outer), "byte 13: text: a length of 4, but 2 bytes follow"},
		{"negative length", "00 00 02 01", new(outer), "text: a length of -1"},
		{"same key", "00 00 00 00 00 04 02 31 00 02 31 00 00 00000000", new(outer), `map["1"]: the key occurs twice`},
		{"key", "00 00 00 00 00 02 02 78 00 00 00000000", new(outer), `byte 16: map["x"]: the key is no int32`},
		{"uint8", "8004 00", new(unsigned), "byte 10: small: 256 is out of range for uint8"},
		{"negative", "01 00", new(unsigned), "byte 10: small: -1 is out of range for uint8"},
		{"nanoseconds", "00 80a8d6b907 00 00", new(clock), "byte 10: at: 0 seconds and 1000000000 nanoseconds"},
		{"document", "02 7b", new(doc), "byte 10: v: json: line 1 column 2"},
	} {
		err := avro.Codec{}.Decode(framed(t, c.msg, c.datum), c.msg)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "avro: ") {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	for _, data := range []string{"", "c3", "c3010102030405060", "0001020304050607080900"} {
		if err := (avro.Codec{}).Decode([]byte(data), new(inner)); err == nil || !strings.Contains(err.Error(), "no single-object encoding") {
			t.Errorf("%q: %v", data, err)
		}
	}
	err := avro.Codec{}.Decode(framed(t, new(outer), ""), new(inner))
	if err == nil || !strings.Contains(err.Error(), "is neither that of avro_test.inner (") {
		t.Errorf("another schema: %v", err)
	}
}

func TestCarries(t *testing.T) {
	for msg, want := range map[any]string{
		new(outer): "", new(schema.Document): "", new(schematest.Wide): "", new(timestamppb.Timestamp): "google.protobuf.Timestamp",
	} {
		m, err := schema.For(msg)
		if err != nil {
			t.Fatal(err)
		}
		err = avro.Codec{}.Carries(m)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%T: %v, want %q", msg, err, want)
		}
	}
}
