package protobuf

import (
	"bytes"
	"encoding"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// The oracle: a dynamic message of the derived descriptor, filled in by
// reflection, must have the encoding that the codec writes, and the codec must
// read what the dynamic message writes.

type color struct{ r, g byte }

func (c color) MarshalText() ([]byte, error) {
	if c == (color{}) {
		return nil, nil
	}
	return fmt.Appendf(nil, "%02x%02x", c.r, c.g), nil
}

func (c *color) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%02x%02x", &c.r, &c.g)
	return err
}

type all struct {
	_         struct{}                 `wire:"name=test.All"`
	Bool      bool                     `wire:"1"`
	I8        int8                     `wire:"2"`
	I16       int16                    `wire:"3"`
	I32       int32                    `wire:"4"`
	Int       int                      `wire:"5"`
	I64       int64                    `wire:"6" json:",string"`
	U8        uint8                    `wire:"7"`
	U32       uint32                   `wire:"8"`
	U64       uint64                   `wire:"9"`
	F32       float32                  `wire:"10"`
	F64       float64                  `wire:"11"`
	Str       string                   `wire:"12"`
	Bytes     []byte                   `wire:"13"`
	Time      time.Time                `wire:"14"`
	Duration  time.Duration            `wire:"15"`
	Leaf      leaf                     `wire:"16"`
	LeafPtr   *leaf                    `wire:"17"`
	All       *all                     `wire:"18"`
	Status    *status.Status           `wire:"19"`
	Any       any                      `wire:"20"`
	Doc       schema.Document          `wire:"21"`
	DocPtr    *schema.Document         `wire:"22"`
	Color     color                    `wire:"23"`
	OptBool   *bool                    `wire:"30"`
	OptInt    *int32                   `wire:"31"`
	OptStr    *string                  `wire:"32"`
	OptTime   *time.Time               `wire:"33"`
	OptF64    *float64                 `wire:"34"`
	OptColor  *color                   `wire:"35"`
	Bools     []bool                   `wire:"101"`
	Ints      []int64                  `wire:"102"`
	U16s      []uint16                 `wire:"103"`
	F32s      []float32                `wire:"104"`
	F64s      []float64                `wire:"105"`
	Strs      []string                 `wire:"106"`
	Blobs     [][]byte                 `wire:"107"`
	Times     []time.Time              `wire:"108"`
	Durations []time.Duration          `wire:"109"`
	Leaves    []leaf                   `wire:"110"`
	LeafPtrs  []*leaf                  `wire:"111"`
	Anys      []any                    `wire:"112"`
	Colors    []color                  `wire:"113"`
	ByStr     map[string]int32         `wire:"1001"`
	ByI64     map[int64]string         `wire:"1002"`
	ByU8      map[uint8]float32        `wire:"1003"`
	ByBool    map[bool]*leaf           `wire:"1004"`
	ByColor   map[color]leaf           `wire:"1005"`
	Docs      map[string]any           `wire:"1006"`
	TimeBy    map[int32]time.Time      `wire:"1007"`
	DurBy     map[uint64]time.Duration `wire:"1008"`
	BytesBy   map[string][]byte        `wire:"1009"`
	Labels    labels                   `wire:"1010"`
	BoolBy    map[string]bool          `wire:"1011"`
	I64By     map[string]int64         `wire:"1012"`
	IntBy     map[string]int           `wire:"1013"`
	F64By     map[string]float64       `wire:"1014"`
	ByI32     map[int32]string         `wire:"1015"`
	I64ByI64  map[int64]int64          `wire:"1016"`
}

// labels is a map with a name of its own.
type labels map[string]string

type leaf struct {
	_     struct{} `wire:"name=test.Leaf"`
	Name  string   `wire:"1"`
	Count int      `wire:"536870911"`
}

// toDynamic is the oracle's way of reading a plain struct.
func toDynamic(t testing.TB, v reflect.Value) *dynamicpb.Message {
	m, err := schema.Of(v.Type())
	if err != nil {
		t.Fatal(err)
	}
	desc, err := m.Descriptor()
	if err != nil {
		t.Fatal(err)
	}
	dyn := dynamicpb.NewMessage(desc)
	for _, f := range m.Fields {
		fd := desc.Fields().ByNumber(f.Number)
		fv := v.Field(f.Index)
		switch {
		case f.MapKey != schema.Invalid:
			for it := fv.MapRange(); it.Next(); {
				key := toScalar(t, fd.MapKey(), it.Key()).MapKey()
				dyn.Mutable(fd).Map().Set(key, toScalar(t, fd.MapValue(), it.Value()))
			}
		case f.Repeated:
			for i := range fv.Len() {
				dyn.Mutable(fd).List().Append(toScalar(t, fd, fv.Index(i)))
			}
		case fv.Kind() == reflect.Pointer || fv.Kind() == reflect.Interface:
			if !fv.IsNil() {
				if f.Optional {
					fv = fv.Elem()
				}
				dyn.Set(fd, toScalar(t, fd, fv))
			}
		case f.Kind == schema.Time && fv.Interface().(time.Time).IsZero(),
			f.Kind == schema.Duration && fv.IsZero(),
			f.Kind == schema.Any && fv.IsZero():
		default:
			dyn.Set(fd, toScalar(t, fd, fv))
		}
	}
	return dyn
}

func toScalar(t testing.TB, fd protoreflect.FieldDescriptor, v reflect.Value) protoreflect.Value {
	var m proto.Message
	switch x := v.Interface().(type) {
	case time.Time:
		m = timestamppb.New(x)
	case time.Duration:
		m = durationpb.New(x)
	case proto.Message:
		m = x
	case schema.Document:
		m = toValue(t, x.Value)
	case *schema.Document:
		m = toValue(t, x.Value)
	case encoding.TextMarshaler:
		b, err := x.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		return protoreflect.ValueOfString(string(b))
	}
	switch {
	case m != nil:
	case v.Kind() == reflect.Interface:
		m = toValue(t, v.Interface())
	case v.Kind() == reflect.Pointer:
		m = toDynamic(t, v.Elem())
	case v.Kind() == reflect.Struct:
		m = toDynamic(t, v)
	}
	if m != nil {
		return protoreflect.ValueOfMessage(m.ProtoReflect())
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(v.Bool())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(v.Int()))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(v.Int())
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(v.Uint()))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(v.Uint())
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(v.Float()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(v.Float())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(v.String())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(v.Bytes())
	}
	t.Fatalf("no oracle for %s", fd.FullName())
	return protoreflect.Value{}
}

func toValue(t testing.TB, v any) *structpb.Value {
	value, err := structpb.NewValue(v)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// documents makes values that survive google.protobuf.Value unchanged. Maps have
// at most so many entries.
func documents(entries int) *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int64Range(-maxExact, maxExact), func(i int64) any { return i }),
		rapid.Map(rapid.Float64Range(-0.99, 0.99).Filter(func(f float64) bool { return f != 0 }), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	)
	deeper := func(inner *rapid.Generator[any]) *rapid.Generator[any] {
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, entries), func(m map[string]any) any { return m }))
	}
	return deeper(deeper(scalar))
}

func times() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(text.MinSeconds, text.MaxSeconds).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "n")).UTC()
	})
}

func durations() *rapid.Generator[time.Duration] {
	return rapid.Map(rapid.Int64(), func(i int64) time.Duration { return time.Duration(i) })
}

func leaves() *rapid.Generator[leaf] {
	return rapid.Custom(func(t *rapid.T) leaf {
		return leaf{Name: rapid.String().Draw(t, "name"), Count: rapid.Int().Draw(t, "count")}
	})
}

func colors() *rapid.Generator[color] {
	return rapid.Custom(func(t *rapid.T) color { return color{rapid.Byte().Draw(t, "r"), rapid.Byte().Draw(t, "g")} })
}

func sliceOf[T any](elem *rapid.Generator[T]) *rapid.Generator[[]T] {
	return rapid.SliceOfN(elem, 0, 5)
}

func mapOf[K comparable, V any](entries int, key *rapid.Generator[K], value *rapid.Generator[V]) *rapid.Generator[map[K]V] {
	return rapid.MapOfN(key, value, 0, entries)
}

func alls(depth, entries int) *rapid.Generator[*all] {
	return rapid.Custom(func(t *rapid.T) *all {
		a := &all{}
		if rapid.Bool().Draw(t, "scalars") {
			a.Bool = rapid.Bool().Draw(t, "Bool")
			a.I8 = rapid.Int8().Draw(t, "I8")
			a.I16 = rapid.Int16().Draw(t, "I16")
			a.I32 = rapid.Int32().Draw(t, "I32")
			a.Int = rapid.Int().Draw(t, "Int")
			a.I64 = rapid.Int64().Draw(t, "I64")
			a.U8 = rapid.Uint8().Draw(t, "U8")
			a.U32 = rapid.Uint32().Draw(t, "U32")
			a.U64 = rapid.Uint64().Draw(t, "U64")
			a.F32 = rapid.Float32().Draw(t, "F32")
			a.F64 = rapid.Float64().Draw(t, "F64")
			a.Str = rapid.String().Draw(t, "Str")
			a.Bytes = sliceOf(rapid.Byte()).Draw(t, "Bytes")
			a.Time = times().Draw(t, "Time")
			a.Duration = durations().Draw(t, "Duration")
			a.Color = colors().Draw(t, "Color")
		}
		if rapid.Bool().Draw(t, "messages") {
			a.Leaf = leaves().Draw(t, "Leaf")
			l := leaves().Draw(t, "LeafPtr")
			a.LeafPtr = &l
			a.Status = &status.Status{Code: rapid.Int32().Draw(t, "Code"), Message: rapid.String().Draw(t, "Message")}
			a.Any = documents(entries).Draw(t, "Any")
			a.Doc.Value = documents(entries).Draw(t, "Doc")
			a.DocPtr = &schema.Document{Value: documents(entries).Draw(t, "DocPtr")}
			if depth > 0 {
				a.All = alls(depth-1, entries).Draw(t, "All")
			}
		}
		if rapid.Bool().Draw(t, "optionals") {
			a.OptBool = rapid.Ptr(rapid.Bool(), true).Draw(t, "OptBool")
			a.OptInt = rapid.Ptr(rapid.Int32(), true).Draw(t, "OptInt")
			a.OptStr = rapid.Ptr(rapid.String(), true).Draw(t, "OptStr")
			a.OptTime = rapid.Ptr(times(), true).Draw(t, "OptTime")
			a.OptF64 = rapid.Ptr(rapid.Float64(), true).Draw(t, "OptF64")
			a.OptColor = rapid.Ptr(colors(), true).Draw(t, "OptColor")
		}
		if rapid.Bool().Draw(t, "lists") {
			a.Bools = sliceOf(rapid.Bool()).Draw(t, "Bools")
			a.Ints = sliceOf(rapid.Int64()).Draw(t, "Ints")
			a.U16s = sliceOf(rapid.Uint16()).Draw(t, "U16s")
			a.F32s = sliceOf(rapid.Float32()).Draw(t, "F32s")
			a.F64s = sliceOf(rapid.Float64()).Draw(t, "F64s")
			a.Strs = sliceOf(rapid.String()).Draw(t, "Strs")
			a.Blobs = sliceOf(sliceOf(rapid.Byte())).Draw(t, "Blobs")
			a.Times = sliceOf(times()).Draw(t, "Times")
			a.Durations = sliceOf(durations()).Draw(t, "Durations")
			a.Leaves = sliceOf(leaves()).Draw(t, "Leaves")
			a.LeafPtrs = sliceOf(rapid.Ptr(leaves(), false)).Draw(t, "LeafPtrs")
			a.Anys = sliceOf(documents(entries)).Draw(t, "Anys")
			a.Colors = sliceOf(colors()).Draw(t, "Colors")
		}
		if rapid.Bool().Draw(t, "maps") {
			a.ByStr = mapOf(entries, rapid.String(), rapid.Int32()).Draw(t, "ByStr")
			a.ByI64 = mapOf(entries, rapid.Int64(), rapid.String()).Draw(t, "ByI64")
			a.ByU8 = mapOf(entries, rapid.Uint8(), rapid.Float32()).Draw(t, "ByU8")
			a.ByBool = mapOf(entries, rapid.Bool(), rapid.Ptr(leaves(), false)).Draw(t, "ByBool")
			a.ByColor = mapOf(entries, colors(), leaves()).Draw(t, "ByColor")
			a.Docs = mapOf(entries, rapid.String(), documents(entries)).Draw(t, "Docs")
			a.TimeBy = mapOf(entries, rapid.Int32(), times()).Draw(t, "TimeBy")
			a.DurBy = mapOf(entries, rapid.Uint64(), durations()).Draw(t, "DurBy")
			a.Labels = mapOf(entries, rapid.String(), rapid.String()).Draw(t, "Labels")
			a.BoolBy = mapOf(entries, rapid.String(), rapid.Bool()).Draw(t, "BoolBy")
			a.I64By = mapOf(entries, rapid.String(), rapid.Int64()).Draw(t, "I64By")
			a.IntBy = mapOf(entries, rapid.String(), rapid.Int()).Draw(t, "IntBy")
			a.F64By = mapOf(entries, rapid.String(), rapid.Float64()).Draw(t, "F64By")
			a.ByI32 = mapOf(entries, rapid.Int32(), rapid.String()).Draw(t, "ByI32")
			a.I64ByI64 = mapOf(entries, rapid.Int64(), rapid.Int64()).Draw(t, "I64ByI64")
			a.BytesBy = mapOf(entries, rapid.String(), sliceOf(rapid.Byte())).Draw(t, "BytesBy")
		}
		return a
	})
}

// sameAll compares values as far as protobuf can tell them apart: a missing
// list is an empty one, and NaN is NaN.
var sameAll = cmp.Options{
	cmp.Exporter(func(t reflect.Type) bool { return t == reflect.TypeFor[color]() }),
	cmpopts.IgnoreFields(all{}, "_"), cmpopts.IgnoreFields(leaf{}, "_"),
	cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), protocmp.Transform(),
}

func TestOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := alls(1, 4).Draw(rt, "message")
		ours, err := Codec{}.Append([]byte("before"), in)
		if err != nil {
			rt.Fatal(err)
		}
		if string(ours[:6]) != "before" {
			rt.Fatalf("Append changed what was before: %q", ours[:6])
		}
		ours = ours[6:]
		want := toDynamic(t, reflect.ValueOf(in).Elem())
		got := dynamicpb.NewMessage(want.Descriptor())
		if err := proto.Unmarshal(ours, got); err != nil {
			rt.Fatalf("dynamicpb does not read ours: %v", err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			rt.Fatalf("dynamicpb reads ours differently:\n%s", diff)
		}
		theirs, err := proto.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		if len(theirs) != len(ours) {
			rt.Errorf("ours has %d bytes, theirs %d", len(ours), len(theirs))
		}
		for name, data := range map[string][]byte{"theirs": theirs, "ours": ours} {
			out := &all{Str: "left over", Ints: []int64{1}}
			if err := (Codec{}).Decode(data, out); err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(in, out, sameAll); diff != "" {
				rt.Fatalf("%s:\n%s", name, diff)
			}
		}
	})
}

// Where maps have one entry, so that there is one order only, the bytes are the
// same, too.
func TestOracleBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := alls(1, 1).Draw(rt, "message")
		ours, err := Codec{}.Append(nil, in)
		if err != nil {
			rt.Fatal(err)
		}
		theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(toDynamic(t, reflect.ValueOf(in).Elem()))
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(ours, theirs) {
			rt.Fatalf("ours   %x\ntheirs %x", ours, theirs)
		}
	})
}
