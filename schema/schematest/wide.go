// Package schematest has a message with every kind of field, for tests of codecs
// and of what describes messages.
package schematest

import (
	"math"
	"net/netip"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/schema"
)

// Wide has a field for every row of docs/spec/types.md that plain structs have
// of themselves: as one value, optional, as a list, and in a map.
type Wide struct {
	_ struct{} `wire:"name=wide.Wide"`

	Flag    bool          `wire:"1"`
	FlagP   *bool         `wire:"2"`
	Flags   []bool        `wire:"3"`
	FlagMap map[bool]int8 `wire:"4"`

	Tiny     int8            `wire:"5"`
	Short    int16           `wire:"6"`
	Word     int32           `wire:"7"`
	Long     int64           `wire:"8"`
	Number   int             `wire:"9"`
	LongP    *int64          `wire:"10"`
	Words    []int32         `wire:"11"`
	Longs    []int64         `wire:"12"`
	Numbers  []int           `wire:"13"`
	LongMap  map[int64]int32 `wire:"14"`
	ShortMap map[int16]int64 `wire:"15"`

	UTiny     uint8            `wire:"16"`
	UShort    uint16           `wire:"17"`
	UWord     uint32           `wire:"18"`
	ULong     uint64           `wire:"19"`
	UNumber   uint             `wire:"20"`
	ULongP    *uint64          `wire:"21"`
	UWords    []uint32         `wire:"22"`
	ULongs    []uint64         `wire:"23"`
	ULongMap  map[uint64]bool  `wire:"24"`
	UShortMap map[uint16]uint8 `wire:"25"`

	Single    float32            `wire:"30"`
	Real      float64            `wire:"31"`
	RealP     *float64           `wire:"32"`
	Singles   []float32          `wire:"33"`
	Reals     []float64          `wire:"34"`
	RealMap   map[string]float64 `wire:"35"`
	SingleMap map[uint32]float32 `wire:"36"`

	Text    string                `wire:"40" doc:"The text.\nIt may have */ in it."`
	TextP   *string               `wire:"41"`
	Texts   []string              `wire:"42"`
	TextMap map[string]string     `wire:"43"`
	Addr    netip.Addr            `wire:"44"`
	AddrP   *netip.Addr           `wire:"45"`
	Addrs   []netip.Addr          `wire:"46"`
	AddrMap map[netip.Addr]string `wire:"47"`
	Data    []byte                `wire:"48"`
	DataP   *[]byte               `wire:"49"`
	Blobs   [][]byte              `wire:"50"`
	BlobMap map[string][]byte     `wire:"51"`

	Instant  time.Time                 `wire:"60"`
	InstantP *time.Time                `wire:"61"`
	Instants []time.Time               `wire:"62"`
	TimeMap  map[string]time.Time      `wire:"63"`
	Span     time.Duration             `wire:"64"`
	SpanP    *time.Duration            `wire:"65"`
	Spans    []time.Duration           `wire:"66"`
	SpanMap  map[int32]time.Duration   `wire:"67"`
	Part     Part                      `wire:"70"`
	PartP    *Part                     `wire:"71"`
	Parts    []Part                    `wire:"72"`
	PartPs   []*Part                   `wire:"73"`
	PartMap  map[string]Part           `wire:"74"`
	PartPMap map[int64]*Part           `wire:"75"`
	Any      any                       `wire:"80"`
	Doc      schema.Document           `wire:"81"`
	DocP     *schema.Document          `wire:"82"`
	Anys     []any                     `wire:"83"`
	Docs     []schema.Document         `wire:"84"`
	AnyMap   map[string]any            `wire:"85"`
	DocPMap  map[bool]*schema.Document `wire:"86"`
	Self     *Wide                     `wire:"90"`
	Selves   []*Wide                   `wire:"91"`
	Nothing  Nothing                   `wire:"92"`
	Nothings []Nothing                 `wire:"93"`
	Last     string                    `wire:"300"`
}

// Part is a message in another.
type Part struct {
	_ struct{} `wire:"name=wide.Part"`

	PageSize int32             `wire:"1"`
	Named    string            `wire:"7" json:"other_name"`
	Labels   map[string]string `wire:"20"`
	Whole    *Wide             `wire:"100"`
}

// Nothing has no fields.
type Nothing struct {
	_ struct{} `wire:"name=wide.Nothing"`
}

// Equal are options of package cmp: what is the same message is equal.
var Equal = cmp.Options{
	cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(Wide{}, Part{}, Nothing{}),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
}

var (
	blob  = rapid.SliceOfN(rapid.Byte(), 0, 8)
	clock = rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).UTC()
	})
	span  = rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) })
	addr  = rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), func(b []byte) netip.Addr { return netip.AddrFrom4([4]byte(b)) })
	f32   = rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(-1)), math.MaxFloat32, math.SmallestNonzeroFloat32}))
	f64   = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64}))
	i64   = rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
	u64   = rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{math.MaxUint64, 1 << 63}))
	str   = rapid.String()
	value = rapid.Custom(func(t *rapid.T) any { return drawAny(t, 2) })
	doc   = rapid.Map(value, func(v any) schema.Document { return schema.Document{Value: v} })
)

func drawAny(t *rapid.T, depth int) any {
	most := 7
	if depth == 0 {
		most = 5
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "int")
	case 3:
		return rapid.Uint64Min(1<<63).Draw(t, "uint")
	case 4:
		return rapid.Float64().Draw(t, "float")
	case 5:
		return rapid.String().Draw(t, "string")
	case 6:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, drawAny(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "len") {
		m[rapid.String().Draw(t, "key")] = drawAny(t, depth-1)
	}
	return m
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T], label string) *T {
	return rapid.Ptr(g, true).Draw(t, label)
}

func list[T any](t *rapid.T, g *rapid.Generator[T], label string) []T {
	return rapid.SliceOfN(g, 0, 3).Draw(t, label)
}

func pointers[T any](g *rapid.Generator[T]) *rapid.Generator[*T] { return rapid.Ptr(g, false) }

// Draw draws a message, in which others of its type nest so deep. Maps have as
// many entries as most says.
func Draw(t *rapid.T, depth, most int) *Wide {
	w := &Wide{
		Flag: rapid.Bool().Draw(t, "flag"), FlagP: maybe(t, rapid.Bool(), "flagP"), Flags: list(t, rapid.Bool(), "flags"), FlagMap: dict(t, rapid.Bool(), rapid.Int8(), most),
		Tiny: rapid.Int8().Draw(t, "tiny"), Short: rapid.Int16().Draw(t, "short"), Word: rapid.Int32().Draw(t, "word"), Long: i64.Draw(t, "long"), Number: rapid.Int().Draw(t, "number"),
		LongP: maybe(t, i64, "longP"), Words: list(t, rapid.Int32(), "words"), Longs: list(t, i64, "longs"), Numbers: list(t, rapid.Int(), "numbers"),
		LongMap: dict(t, i64, rapid.Int32(), most), ShortMap: dict(t, rapid.Int16(), i64, most),
		UTiny: rapid.Uint8().Draw(t, "uTiny"), UShort: rapid.Uint16().Draw(t, "uShort"), UWord: rapid.Uint32().Draw(t, "uWord"), ULong: u64.Draw(t, "uLong"), UNumber: rapid.Uint().Draw(t, "uNumber"),
		ULongP: maybe(t, u64, "uLongP"), UWords: list(t, rapid.Uint32(), "uWords"), ULongs: list(t, u64, "uLongs"),
		ULongMap: dict(t, u64, rapid.Bool(), most), UShortMap: dict(t, rapid.Uint16(), rapid.Uint8(), most),
		Single: f32.Draw(t, "single"), Real: f64.Draw(t, "real"), RealP: maybe(t, f64, "realP"), Singles: list(t, f32, "singles"), Reals: list(t, f64, "reals"),
		RealMap: dict(t, str, f64, most), SingleMap: dict(t, rapid.Uint32(), f32, most),
		Text: str.Draw(t, "text"), TextP: maybe(t, str, "textP"), Texts: list(t, str, "texts"), TextMap: dict(t, str, str, most),
		AddrP: maybe(t, addr, "addrP"), Addrs: list(t, addr, "addrs"), AddrMap: dict(t, addr, str, most),
		Data: blob.Draw(t, "data"), DataP: maybe(t, blob, "dataP"), Blobs: list(t, blob, "blobs"), BlobMap: dict(t, str, blob, most),
		Instant: clock.Draw(t, "instant"), InstantP: maybe(t, clock, "instantP"), Instants: list(t, clock, "instants"), TimeMap: dict(t, str, clock, most),
		Span: span.Draw(t, "span"), SpanP: maybe(t, span, "spanP"), Spans: list(t, span, "spans"), SpanMap: dict(t, rapid.Int32(), span, most),
		Any: value.Draw(t, "any"), Doc: doc.Draw(t, "doc"), DocP: maybe(t, doc, "docP"), Anys: list(t, value, "anys"), Docs: list(t, doc, "docs"),
		AnyMap: dict(t, str, value, most), DocPMap: dict(t, rapid.Bool(), pointers(doc), most),
		Nothings: make([]Nothing, rapid.IntRange(0, 3).Draw(t, "nothings")), Last: str.Draw(t, "last"),
	}
	if rapid.Bool().Draw(t, "hasAddr") {
		w.Addr = addr.Draw(t, "addr")
	}
	part := rapid.Custom(func(t *rapid.T) Part {
		p := Part{PageSize: rapid.Int32().Draw(t, "pageSize"), Named: str.Draw(t, "named"), Labels: dict(t, str, str, most)}
		if depth > 1 && rapid.IntRange(0, 7).Draw(t, "whole") == 0 {
			p.Whole = Draw(t, depth-2, most)
		}
		return p
	})
	w.Part, w.PartP, w.Parts, w.PartPs = part.Draw(t, "part"), maybe(t, part, "partP"), list(t, part, "parts"), list(t, pointers(part), "partPs")
	w.PartMap, w.PartPMap = dict(t, str, part, most), dict(t, rapid.Int64(), pointers(part), most)
	if depth > 0 && rapid.Bool().Draw(t, "self") {
		w.Self = Draw(t, depth-1, most)
		w.Selves = []*Wide{Draw(t, depth-1, most)}
	}
	return w
}

func dict[K comparable, V any](t *rapid.T, k *rapid.Generator[K], v *rapid.Generator[V], most int) map[K]V {
	return rapid.MapOfN(k, v, 0, most).Draw(t, "map")
}
