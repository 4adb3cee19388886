package schematest

import (
	"net/netip"
	"time"

	"github.com/everywire/everywire/schema"
)

// Full returns a message with a value in every field; of those that can be
// written in more than one way, one that all texts of numbers keep.
func Full() *Wide {
	yes, long, ulong, half, text, data := true, int64(-1<<63), uint64(1<<64-1), 0.5, "", []byte{}
	when, span := time.Unix(1514862245, 678901234).UTC(), -1500*time.Millisecond
	part := Part{PageSize: 5, Named: "grüße", Labels: map[string]string{"b": "", "": "empty"}}
	v4, v6 := netip.MustParseAddr("1.2.3.4"), netip.MustParseAddr("::1")
	docs := []schema.Document{{}, {Value: []any{int64(1), "two"}}}
	w := &Wide{Addr: v6, AddrP: &v4, Addrs: []netip.Addr{v4, {}}, AddrMap: map[netip.Addr]string{v6: "six", v4: ""}}
	w.Flag, w.FlagP, w.Flags, w.FlagMap = true, &yes, []bool{true, false, true, true, false, false, false, false, true}, map[bool]int8{true: -128, false: 0}
	w.Tiny, w.Short, w.Word, w.Long, w.Number, w.LongP = -128, -32768, -1<<31, -1<<63, 7, &long
	w.Words, w.Longs, w.Numbers = []int32{-1, 1 << 30}, []int64{1 << 62, -1}, []int{3, 0}
	w.LongMap, w.ShortMap = map[int64]int32{-1: 1, 1 << 40: 0}, map[int16]int64{-5: 5, 7: 1 << 40}
	w.UTiny, w.UShort, w.UWord, w.ULong, w.UNumber, w.ULongP = 255, 65535, 1<<32-1, 1<<64-1, 9, &ulong
	w.UWords, w.ULongs, w.ULongMap, w.UShortMap = []uint32{1<<32 - 1}, []uint64{1 << 63}, map[uint64]bool{1: true, 2: false}, map[uint16]uint8{3: 4}
	w.Single, w.Real, w.RealP, w.Singles, w.Reals = 1.5, -0.25, &half, []float32{0.5, -2}, []float64{0.125}
	w.RealMap, w.SingleMap = map[string]float64{"half": 0.5, "none": 0}, map[uint32]float32{1: 0.5}
	w.Text, w.TextP, w.Texts, w.TextMap = "a\x00b", &text, []string{"", "x", "a longer one"}, map[string]string{"k": "v", "a": ""}
	w.Data, w.DataP, w.Blobs, w.BlobMap = []byte{0, 0xff}, &data, [][]byte{{}, {1}, {2, 3}}, map[string][]byte{"x": {9}, "y": {}}
	w.Instant, w.InstantP, w.Instants, w.TimeMap = when, &when, []time.Time{when, {}}, map[string]time.Time{"now": when, "never": {}}
	w.Span, w.SpanP, w.Spans, w.SpanMap = span, new(time.Duration), []time.Duration{0, -1, time.Hour}, map[int32]time.Duration{-1: span, 0: 0}
	w.Part, w.PartP, w.Parts, w.PartPs = part, &part, []Part{part, {}, part}, []*Part{{}, &part}
	w.PartMap, w.PartPMap = map[string]Part{"p": part, "q": {}}, map[int64]*Part{-1: &part, 1: {}}
	w.Any, w.Anys, w.AnyMap = map[string]any{"a": []any{nil, int64(1), 2.5}}, []any{nil, "s", true}, map[string]any{"n": nil, "o": map[string]any{}}
	w.Doc.Value, w.DocP, w.Docs, w.DocPMap = "x", &docs[0], docs, map[bool]*schema.Document{true: &docs[1], false: &docs[0]}
	w.Self, w.Selves, w.Nothings, w.Last = &Wide{Addr: v4}, []*Wide{{Text: "self"}}, make([]Nothing, 3), "last"
	return w
}
