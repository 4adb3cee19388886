// Package codec_test holds the codecs to each other: docs/spec/types.md is one
// table for all of them, and for plain structs and generated messages alike.
package codec_test

import (
	"bytes"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/codec/cbor"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/wiretest"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

type codec interface {
	Name() string
	Append(dst []byte, msg any) ([]byte, error)
	Decode(data []byte, msg any) error
}

var codecs = []codec{json.Codec{}, msgpack.Codec{}, cbor.Codec{}, protobuf.Codec{}}

// wide has a field for every row of the table, as one value, optional, list
// and map, where there is such a thing. Its times, durations and structs are
// behind pointers, as in generated messages: what has no presence is written by
// a plain struct and cannot be there in a generated message.
type wide struct {
	Bool    bool            `wire:"1"`
	BoolP   *bool           `wire:"2"`
	BoolL   []bool          `wire:"3"`
	BoolM   map[bool]int8   `wire:"4"`
	I8      int8            `wire:"5"`
	I16     int16           `wire:"6"`
	I32     int32           `wire:"7"`
	I64     int64           `wire:"8"`
	Int     int             `wire:"9"`
	I32P    *int32          `wire:"10"`
	I64P    *int64          `wire:"11"`
	I8L     []int8          `wire:"12"`
	I64L    []int64         `wire:"13"`
	IntL    []int           `wire:"14"`
	I16M    map[int16]int64 `wire:"15"`
	I64M    map[int64]int32 `wire:"16"`
	Quoted  int64           `wire:"17" json:",string"`
	QuotedL []uint64        `wire:"18" json:"quoted_list,string"` //nolint:staticcheck // here it is for the elements
	U8      uint8           `wire:"19"`
	U16     uint16          `wire:"20"`
	U32     uint32          `wire:"21"`
	U64     uint64          `wire:"22"`
	Uint    uint            `wire:"23"`
	U64P    *uint64         `wire:"24"`
	U32L    []uint32        `wire:"25"`
	U64L    []uint64        `wire:"26"`
	U64M    map[uint64]bool `wire:"27"`
	U8M     map[uint8]uint8 `wire:"28"`

	F32  float32            `wire:"30"`
	F64  float64            `wire:"31"`
	F64P *float64           `wire:"32"`
	F32L []float32          `wire:"33"`
	F64L []float64          `wire:"34"`
	F64M map[string]float64 `wire:"35"`

	Str    string                `wire:"40"`
	StrP   *string               `wire:"41"`
	StrL   []string              `wire:"42"`
	StrM   map[string]string     `wire:"43"`
	Addr   netip.Addr            `wire:"44"`
	AddrP  *netip.Addr           `wire:"45"`
	AddrL  []netip.Addr          `wire:"46"`
	AddrM  map[netip.Addr]string `wire:"47"`
	Bytes  []byte                `wire:"48"`
	BytesP *[]byte               `wire:"49"`
	BytesL [][]byte              `wire:"50"`
	BytesM map[string][]byte     `wire:"51"`

	TimeP *time.Time               `wire:"60"`
	TimeL []time.Time              `wire:"61"`
	TimeM map[string]time.Time     `wire:"62"`
	DurP  *time.Duration           `wire:"63"`
	DurL  []time.Duration          `wire:"64"`
	DurM  map[int32]time.Duration  `wire:"65"`
	Sub   *sub                     `wire:"100"`
	SubL  []sub                    `wire:"101"`
	SubPL []*sub                   `wire:"102"`
	SubM  map[string]*sub          `wire:"103"`
	Probe *probepb.RunRequest      `wire:"536870911"`
	Nodes []*probepb.Node          `wire:"200"`
	NodeM map[uint32]*probepb.Node `wire:"201"`
}

type sub struct {
	PageSize int32  `wire:"1"`
	Named    string `wire:"7" json:"other_name"`
	Self     *wide  `wire:"20000"`
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	return rapid.Ptr(g, true).Draw(t, label)
}

func list[T any](t *rapid.T, g *rapid.Generator[T], label string) []T {
	return rapid.SliceOfN(g, 0, 4).Draw(t, label)
}

func mapOf[K comparable, V any](t *rapid.T, k *rapid.Generator[K], v *rapid.Generator[V], label string) map[K]V {
	return rapid.MapOfN(k, v, 0, 4).Draw(t, label)
}

var (
	blob  = rapid.SliceOfN(rapid.Byte(), 0, 8)
	clock = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).UTC()
	})
	span = rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })
	addr = rapid.Custom(func(t *rapid.T) netip.Addr {
		if rapid.Bool().Draw(t, "v4") {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "ip")))
		}
		return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "ip")))
	})
	f32 = rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32}))
	f64 = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1e21, 1e-7}))
	i64 = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64, 1<<53 + 1}))
	u64 = rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{math.MaxUint64, 1 << 63}))
)

func drawWide(t *rapid.T, depth int) *wide {
	w := &wide{
		Bool: rapid.Bool().Draw(t, "bool"), BoolP: maybe(t, rapid.Bool(), "boolP"), BoolL: list(t, rapid.Bool(), "boolL"), BoolM: mapOf(t, rapid.Bool(), rapid.Int8(), "boolM"),
		I8: rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"), I32: rapid.Int32().Draw(t, "i32"), I64: i64.Draw(t, "i64"), Int: rapid.Int().Draw(t, "int"),
		I32P: maybe(t, rapid.Int32(), "i32P"), I64P: maybe(t, i64, "i64P"), I8L: list(t, rapid.Int8(), "i8L"), I64L: list(t, i64, "i64L"), IntL: list(t, rapid.Int(), "intL"),
		I16M: mapOf(t, rapid.Int16(), i64, "i16M"), I64M: mapOf(t, i64, rapid.Int32(), "i64M"), Quoted: i64.Draw(t, "quoted"), QuotedL: list(t, u64, "quotedL"),
		U8: rapid.Uint8().Draw(t, "u8"), U16: rapid.Uint16().Draw(t, "u16"), U32: rapid.Uint32().Draw(t, "u32"), U64: u64.Draw(t, "u64"), Uint: rapid.Uint().Draw(t, "uint"),
		U64P: maybe(t, u64, "u64P"), U32L: list(t, rapid.Uint32(), "u32L"), U64L: list(t, u64, "u64L"), U64M: mapOf(t, u64, rapid.Bool(), "u64M"), U8M: mapOf(t, rapid.Uint8(), rapid.Uint8(), "u8M"),
		F32: f32.Draw(t, "f32"), F64: f64.Draw(t, "f64"), F64P: maybe(t, f64, "f64P"), F32L: list(t, f32, "f32L"), F64L: list(t, f64, "f64L"), F64M: mapOf(t, rapid.String(), f64, "f64M"),
		Str: rapid.String().Draw(t, "str"), StrP: maybe(t, rapid.String(), "strP"), StrL: list(t, rapid.String(), "strL"), StrM: mapOf(t, rapid.String(), rapid.String(), "strM"),
		AddrP: maybe(t, addr, "addrP"), AddrL: list(t, addr, "addrL"), AddrM: mapOf(t, addr, rapid.String(), "addrM"),
		Bytes: blob.Draw(t, "bytes"), BytesP: maybe(t, blob, "bytesP"), BytesL: list(t, blob, "bytesL"), BytesM: mapOf(t, rapid.String(), blob, "bytesM"),
		TimeP: maybe(t, clock, "timeP"), TimeL: list(t, clock, "timeL"), TimeM: mapOf(t, rapid.String(), clock, "timeM"),
		DurP: maybe(t, span, "durP"), DurL: list(t, span, "durL"), DurM: mapOf(t, rapid.Int32(), span, "durM"),
	}
	if rapid.Bool().Draw(t, "addr") {
		w.Addr = addr.Draw(t, "addr")
	}
	for range rapid.IntRange(0, 3).Draw(t, "nodes") {
		w.Nodes = append(w.Nodes, drawNode(t, 2))
	}
	if depth == 0 {
		return w
	}
	subs := rapid.Custom(func(t *rapid.T) *sub {
		s := &sub{PageSize: rapid.Int32().Draw(t, "pageSize"), Named: rapid.String().Draw(t, "named")}
		if depth > 1 && rapid.IntRange(0, 3).Draw(t, "self") == 0 {
			s.Self = drawWide(t, depth-2)
		}
		return s
	})
	w.SubPL, w.SubM = list(t, subs, "subPL"), mapOf(t, rapid.String(), subs, "subM")
	for _, s := range list(t, subs, "subL") {
		w.SubL = append(w.SubL, *s)
	}
	if rapid.Bool().Draw(t, "sub") {
		w.Sub = subs.Draw(t, "sub")
		w.NodeM = map[uint32]*probepb.Node{rapid.Uint32().Draw(t, "key"): drawNode(t, 2)}
	}
	return w
}

func drawNode(t *rapid.T, depth int) *probepb.Node {
	n := &probepb.Node{Label: rapid.String().Draw(t, "label")}
	for depth > 0 && rapid.Bool().Draw(t, "child") {
		depth--
		n.Children = append(n.Children, drawNode(t, depth))
	}
	return n
}

var equal = cmp.Options{
	protocmp.Transform(), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

// agree holds the codecs to each other: a plain struct, and the same as a
// generated message, are written alike by all of them, and each reads what the
// other wrote.
func agree(t *rapid.T, plain any, newPlain func() any, newTwin func() proto.Message) {
	t.Helper()
	data, err := protobuf.Codec{}.Append(nil, plain)
	if err != nil {
		t.Fatalf("protobuf: %v", err)
	}
	twin := newTwin()
	if err := (protobuf.Codec{}).Decode(data, twin); err != nil {
		t.Fatalf("protobuf: %v", err)
	}
	for _, c := range codecs {
		fromPlain, err := c.Append(nil, plain)
		if err != nil {
			t.Fatalf("%s: a plain struct: %v", c.Name(), err)
		}
		fromTwin, err := c.Append(nil, twin)
		if err != nil {
			t.Fatalf("%s: a generated message: %v", c.Name(), err)
		}
		if c.Name() != "protobuf" && !bytes.Equal(fromPlain, fromTwin) { // protobuf's maps have no order
			t.Errorf("%s: the plain struct is\n%q\nand the generated message\n%q", c.Name(), fromPlain, fromTwin)
		}
		for from, data := range map[string][]byte{"plain": fromPlain, "generated": fromTwin} {
			gotPlain, gotTwin := newPlain(), newTwin()
			if err := c.Decode(data, gotPlain); err != nil {
				t.Fatalf("%s: %s to plain: %v\n%q", c.Name(), from, err, data)
			}
			if diff := cmp.Diff(plain, gotPlain, equal); diff != "" {
				t.Errorf("%s: %s to plain (-want +got):\n%s", c.Name(), from, diff)
			}
			if err := c.Decode(data, gotTwin); err != nil {
				t.Fatalf("%s: %s to generated: %v\n%q", c.Name(), from, err, data)
			}
			if !proto.Equal(twin, gotTwin) { // which takes a NaN for a NaN
				t.Errorf("%s: %s to generated (-want +got):\n%s", c.Name(), from, cmp.Diff(twin, gotTwin, equal))
			}
		}
	}
}

// The twin of wide is a dynamic message of the descriptor that is derived from
// it.
func TestWideAgrees(t *testing.T) {
	m, err := schema.For(new(wide))
	if err != nil {
		t.Fatal(err)
	}
	desc, err := m.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		agree(t, drawWide(t, 2), func() any { return new(wide) }, func() proto.Message { return dynamicpb.NewMessage(desc) })
	})
}

// The twin of the probe's request is generated code, from a .proto that was
// written by hand.
func TestProbeAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agree(t, drawProbe(t), func() any { return new(wiretest.RunRequest) }, func() proto.Message { return new(probepb.RunRequest) })
	})
}

func drawProbe(t *rapid.T) *wiretest.RunRequest {
	values := rapid.Custom(func(t *rapid.T) *wiretest.Values { return &wiretest.Values{Values: list(t, blob, "values")} })
	r := &wiretest.RunRequest{
		Name: rapid.String().Draw(t, "name"), Payload: blob.Draw(t, "payload"), Numbers: list(t, i64, "numbers"),
		Big: i64.Draw(t, "big"), Ubig: u64.Draw(t, "ubig"), Ratio: f64.Draw(t, "ratio"), Flag: rapid.Bool().Draw(t, "flag"),
		Labels: mapOf(t, rapid.String(), rapid.String(), "labels"), Maybe: maybe(t, rapid.Int32(), "maybe"),
		At: maybe(t, clock, "at"), Wait: maybe(t, span, "wait"), Code: rapid.Uint32().Draw(t, "code"),
		Header: mapOf(t, rapid.String(), values, "header"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "details") {
		r.Details = append(r.Details, &wiretest.Detail{Reason: rapid.String().Draw(t, "reason")})
	}
	if rapid.Bool().Draw(t, "tree") {
		r.Tree = &wiretest.Node{Label: rapid.String().Draw(t, "label"), Children: []*wiretest.Node{{}, {Children: []*wiretest.Node{{Label: "leaf"}}}}}
	}
	return r
}

// What JSON accepts for a field, MessagePack and CBOR accept in the same words, for
// plain structs and generated messages alike, and what one refuses all refuse.
// The exceptions of the table are not here: base64, and integers written with
// an exponent or a fraction inside a string.
func TestSameAccepted(t *testing.T) {
	m, err := schema.For(new(wide))
	if err != nil {
		t.Fatal(err)
	}
	desc, err := m.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		`{"bool":true}`: true, `{"bool":null}`: true, `{"bool":"true"}`: false, `{"bool":1}`: false,
		`{"i32":"12"}`: true, `{"i32":1e1}`: true, `{"i32":-0}`: true, `{"i32":" 1"}`: false, `{"i32":1.5}`: false, `{"i32":""}`: false, `{"i32":"+1"}`: false,
		`{"i32":2147483648}`: false, `{"u32":-1}`: false, `{"u64":18446744073709551615}`: true, `{"u64":"18446744073709551615"}`: true, `{"i64":"9223372036854775808"}`: false,
		`{"f32":"NaN"}`: true, `{"f64":"-Infinity"}`: true, `{"f64":"inf"}`: false, `{"f32":1e39}`: false, `{"f64":"1.5"}`: true, `{"f64":"1e400"}`: false,
		`{"f64":"0x10"}`: false, `{"f64":"1_0"}`: false, `{"f64":""}`: false, `{"f64":".5"}`: false, `{"f64":"5."}`: false, `{"f64":"01"}`: false, `{"f64":"+1"}`: false,
		`{"str":"x"}`: true, `{"str":1}`: false, `{"addr":"1.2.3.4"}`: true, `{"addrM":{"::1":"a"}}`: true,
		`{"bytes":[1,-1,255]}`: true, `{"bytes":[1.0]}`: true, `{"bytes":[256]}`: false, `{"bytes":[-129]}`: false, `{"bytes":null}`: true,
		`{"timeP":"2024-02-29t12:00:00z"}`: true, `{"timeP":"2016-12-31T23:59:60Z"}`: true, `{"timeP":"2024-02-29T12:00:00.1234567891Z"}`: true,
		`{"timeP":"2024-02-29T12:00:00+02:00"}`: true, `{"timeP":"0000-01-01T00:00:00Z"}`: false, `{"timeP":"2024-02-29 12:00:00Z"}`: false,
		`{"timeP":"2024-02-29T12:00:00,5Z"}`: false, `{"timeP":"2024-02-29T1:00:00Z"}`: false, `{"timeP":"2024-02-29T12:00:00+24:00"}`: false, `{"timeP":1}`: false,
		`{"durP":"-1.5s"}`: true, `{"durP":"1.0000000001s"}`: false, `{"durP":"1"}`: false, `{"durP":"+1s"}`: false, `{"durP":".5s"}`: false, `{"durP":"315576000001s"}`: false, `{"durP":1}`: false,
		`{"boolL":null}`: true, `{"boolL":[null]}`: false, `{"strL":[null]}`: false, `{"subPl":[null]}`: false, `{"subL":[null]}`: false, `{"boolL":{}}`: false,
		`{"strM":null}`: true, `{"strM":{"a":null}}`: false, `{"subM":{"a":null}}`: false, `{"strM":[]}`: false,
		`{"boolM":{"true":1}}`: true, `{"boolM":{"True":1}}`: false, `{"i16M":{"-1":1}}`: true, `{"i16M":{"a":1}}`: false, `{"u64M":{"-1":true}}`: false,
		`{"sub":{"pageSize":1}}`: true, `{"sub":{"page_size":1}}`: true, `{"sub":{"PageSize":"x"}}`: true, `{"sub":{"pageSize":1,"page_size":1}}`: false,
		`{"sub":null}`: true, `{"sub":[]}`: false, `{"quoted":5}`: true, `{"quoted":"5"}`: true, `{"x":[{"a":[1]}]}`: true, `[]`: false, `null`: false,
	} {
		mp, cb := binaryOf(t, msgpack.Codec{}, text), binaryOf(t, cbor.Codec{}, text)
		for name, decode := range map[string]func(any) error{
			"json":    func(msg any) error { return json.Codec{}.Decode([]byte(text), msg) },
			"msgpack": func(msg any) error { return msgpack.Codec{}.Decode(mp, msg) },
			"cbor":    func(msg any) error { return cbor.Codec{}.Decode(cb, msg) },
		} {
			plain, twin := new(wide), dynamicpb.NewMessage(desc)
			plainErr, twinErr := decode(plain), decode(twin)
			if (plainErr == nil) != ok || (twinErr == nil) != ok {
				t.Errorf("%s: %s: plain %v, generated %v", name, text, plainErr, twinErr)
				continue
			}
			if !ok {
				continue
			}
			want := new(wide)
			if err := (json.Codec{}).Decode([]byte(text), want); err != nil {
				t.Fatal(err)
			}
			data, err := protobuf.Codec{}.Append(nil, twin)
			if err != nil {
				t.Fatal(err)
			}
			fromTwin := new(wide)
			if err := (protobuf.Codec{}).Decode(data, fromTwin); err != nil {
				t.Fatal(err)
			}
			for _, got := range []*wide{plain, fromTwin} {
				if diff := cmp.Diff(want, got, equal); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", name, text, diff)
				}
			}
		}
	}
}

// binaryOf is the same document in another codec, for which it must not have a
// name twice.
func binaryOf(t *testing.T, c codec, text string) []byte {
	t.Helper()
	doc := new(schema.Document)
	if err := (json.Codec{}).Decode([]byte(text), doc); err != nil {
		t.Fatal(err)
	}
	data, err := c.Append(nil, doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A time in a document is the same text in JSON and in protobuf, which have no
// form of their own for it there.
func TestDocumentTimes(t *testing.T) {
	for _, nanos := range []int64{0, 5e8, 123456000, 1} {
		doc := &schema.Document{Value: time.Unix(1, nanos)}
		var want schema.Document
		for i, c := range codecs {
			if c.Name() == "msgpack" || c.Name() == "cbor" {
				continue
			}
			data, err := c.Append(nil, doc)
			if err != nil {
				t.Fatal(err)
			}
			var got schema.Document
			if err := c.Decode(data, &got); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s: %v, want %v", c.Name(), got, want)
			}
		}
	}
}

// A cycle of pointers is an error in every codec, also where package proto
// would walk it for required fields.
func TestCycles(t *testing.T) {
	plain := &sub{}
	plain.Self = &wide{Sub: plain}
	node := &probepb.Node{}
	node.Children = []*probepb.Node{node}
	message := &descriptorpb.DescriptorProto{}
	message.NestedType = []*descriptorpb.DescriptorProto{message}
	for _, c := range codecs {
		for _, msg := range []any{plain, node, message, &wide{Nodes: []*probepb.Node{node}}} {
			if _, err := c.Append(nil, msg); err == nil {
				t.Errorf("%s: %T: no error", c.Name(), msg)
			}
		}
	}
}

// lower is a text type of which two values have one text.
type lower string

func (l lower) MarshalText() ([]byte, error) { return []byte(strings.ToLower(string(l))), nil }

func (l *lower) UnmarshalText(b []byte) error { *l = lower(b); return nil }

func TestKeysOfOneText(t *testing.T) {
	type message struct {
		M map[lower]int `wire:"1"`
	}
	for _, c := range codecs {
		if data, err := c.Append(nil, &message{map[lower]int{"a": 1, "A": 2, "b": 3}}); err == nil || !strings.Contains(err.Error(), "two keys have this text") {
			t.Errorf("%s: %q, %v", c.Name(), data, err)
		}
		if _, err := c.Append(nil, &message{map[lower]int{"A": 2, "b": 3}}); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}

// An error names the place, but not at any length: it travels in headers.
func TestLongPaths(t *testing.T) {
	deep := any(math.NaN())
	for range schema.MaxDepth {
		deep = map[string]any{strings.Repeat("\x01", 100): deep}
	}
	text := strings.Repeat(`{"`+strings.Repeat(`\u0001`, 100)+`":`, schema.MaxDepth) + "x"
	errs := map[string]error{"reading": json.Codec{}.Decode([]byte(text), new(schema.Document))}
	_, errs["writing"] = json.Codec{}.Append(nil, &schema.Document{Value: deep})
	deep = schema.Number("x")
	for range schema.MaxDepth {
		deep = []any{deep}
	}
	for _, c := range codecs {
		_, errs[c.Name()] = c.Append(nil, &schema.Document{Value: deep})
	}
	for name, err := range errs {
		if err == nil || len(err.Error()) > 600 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// Each google.protobuf.Any holds its message as bytes, so one inside another is
// copied once more for each level. What a small number of bytes can cost that
// way is bounded.
func TestAnyInAny(t *testing.T) {
	nest := func(levels, size int) string {
		return strings.Repeat(`{"@type":"/google.protobuf.Any","value":`, levels) +
			`{"@type":"/google.protobuf.Value","value":"` + strings.Repeat("a", size) + `"}` + strings.Repeat("}", levels)
	}
	for _, tt := range []struct {
		levels, size int
		ok           bool
	}{{15, 1 << 20, true}, {30, 1, true}, {400, 1 << 20, false}} {
		text := nest(tt.levels, tt.size)
		var msg anypb.Any
		if err := (json.Codec{}).Decode([]byte(text), &msg); (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "too many google.protobuf.Any") {
			t.Errorf("json: %d levels around %d bytes: %v", tt.levels, tt.size, err)
		}
		for _, c := range []codec{msgpack.Codec{}, cbor.Codec{}} {
			if err := c.Decode(binaryOf(t, c, text), &msg); (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "too many google.protobuf.Any") {
				t.Errorf("%s: %d levels around %d bytes: %v", c.Name(), tt.levels, tt.size, err)
			}
		}
	}
}
