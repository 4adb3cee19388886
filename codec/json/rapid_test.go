package json_test

import (
	stdjson "encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/schema"
)

var genTime = rapid.Custom(func(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).UTC()
})

var genDocument = rapid.Custom(func(t *rapid.T) any { return drawDocument(t, 3) })

func drawDocument(t *rapid.T, depth int) any {
	kinds := 8
	if depth == 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
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
		for range rapid.IntRange(0, 4).Draw(t, "len") {
			list = append(list, drawDocument(t, depth-1))
		}
		return list
	}
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "len") {
		m[rapid.String().Draw(t, "key")] = drawDocument(t, depth-1)
	}
	return m
}

// A drawn struct is the same after writing and reading.
func TestRoundTripPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msg := &everything{
			Bools: bools{V: rapid.Bool().Draw(t, "v"), P: rapid.Ptr(rapid.Bool(), true).Draw(t, "p"), M: rapid.MapOf(rapid.Bool(), rapid.Bool()).Draw(t, "m")},
			Ints: ints{
				I8: rapid.Int8().Draw(t, "i8"), I16: rapid.Int16().Draw(t, "i16"), I32: rapid.Int32().Draw(t, "i32"), I64: rapid.Int64().Draw(t, "i64"), Q: rapid.Int64().Draw(t, "q"),
				P: rapid.Ptr(rapid.Int64(), true).Draw(t, "p"), L: rapid.SliceOf(rapid.Int64()).Draw(t, "l"), L8: rapid.SliceOf(rapid.Int8()).Draw(t, "l8"), LQ: rapid.SliceOf(rapid.Int64()).Draw(t, "lq"),
				M: rapid.MapOf(rapid.Int16(), rapid.Int64()).Draw(t, "m"),
			},
			Uints:  uints{U8: rapid.Uint8().Draw(t, "u8"), U64: rapid.Uint64().Draw(t, "u64"), L: rapid.SliceOf(rapid.Uint64()).Draw(t, "l"), M: rapid.MapOf(rapid.Uint64(), rapid.Uint32()).Draw(t, "m")},
			Floats: floats{F32: rapid.Float32().Draw(t, "f32"), F64: rapid.Float64().Draw(t, "f64"), L: rapid.SliceOf(rapid.Float64()).Draw(t, "l"), L32: rapid.SliceOf(rapid.Float32()).Draw(t, "l32")},
			Texts:  texts{S: rapid.String().Draw(t, "s"), P: rapid.Ptr(rapid.String(), true).Draw(t, "p"), L: rapid.SliceOf(rapid.String()).Draw(t, "l"), M: rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "m")},
			Blobs:  blobs{B: rapid.SliceOf(rapid.Byte()).Draw(t, "b"), L: rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "l")},
			Times:  times{T: genTime.Draw(t, "t"), D: time.Duration(rapid.Int64().Draw(t, "d")), P: rapid.Ptr(genTime, true).Draw(t, "p")},
			Anys:   anys{A: genDocument.Draw(t, "a"), D: schema.Document{Value: genDocument.Draw(t, "d")}},
		}
		text, err := codec.Append(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		got := new(everything)
		if err := codec.Decode(text, got); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(msg, got, equal); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", text, diff)
		}
	})
}

// A document means to us what it means to encoding/json.
func TestDocumentOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := &schema.Document{Value: genDocument.Draw(t, "document")}
		text, err := codec.Append(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		var theirs, again any
		if err := stdjson.Unmarshal(text, &theirs); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		written, err := stdjson.MarshalIndent(doc.Value, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := stdjson.Unmarshal(written, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(again, theirs); diff != "" {
			t.Fatalf("%s\n%s\n%s", text, written, diff)
		}
		got := new(schema.Document)
		if err := codec.Decode(text, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc, got); diff != "" {
			t.Fatalf("%s\n%s", text, diff)
		}
		// Theirs has white space and escapes that ours has not, and integral
		// floats without a fraction.
		if err := codec.Decode(written, got); err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
	})
}

// Drawn dynamic messages of all kinds are understood by protojson and
// understood from it.
func TestRoundTripGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newKitchen()
		drawMessage(t, m.ProtoReflect(), 2)
		checkOracle(t, m)
	})
}

// drawMessage sets some fields of m.
func drawMessage(t *rapid.T, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if !rapid.Bool().Draw(t, string(fd.Name())) {
			continue
		}
		switch {
		case fd.IsMap():
			for range rapid.IntRange(0, 3).Draw(t, "len") {
				k := drawScalar(t, fd.MapKey()).MapKey()
				v := m.Mutable(fd).Map().NewValue()
				if fd.MapValue().Message() == nil {
					v = drawScalar(t, fd.MapValue())
				} else if depth > 0 {
					drawMessage(t, v.Message(), depth-1)
				}
				m.Mutable(fd).Map().Set(k, v)
			}
		case fd.IsList():
			for range rapid.IntRange(0, 3).Draw(t, "len") {
				if fd.Message() != nil {
					m.Mutable(fd).List().Append(drawKnown(t, fd.Message()))
				} else {
					m.Mutable(fd).List().Append(drawScalar(t, fd))
				}
			}
		case fd.Message() == nil:
			m.Set(fd, drawScalar(t, fd))
		case fd.Message() != m.Descriptor():
			m.Set(fd, drawKnown(t, fd.Message()))
		case depth > 0:
			drawMessage(t, m.Mutable(fd).Message(), depth-1)
		}
	}
}

// drawKnown draws a message of one of the well-known types of the kitchen.
func drawKnown(t *rapid.T, desc protoreflect.MessageDescriptor) protoreflect.Value {
	var known proto.Message
	switch desc.Name() {
	case "Value":
		v, err := structpb.NewValue(strings.ToValidUTF8(rapid.String().Draw(t, "value"), ""))
		if rapid.Bool().Draw(t, "number") {
			v, err = structpb.NewNumberValue(rapid.Float64().Draw(t, "value")), nil
		}
		if err != nil {
			t.Fatal(err)
		}
		known = v
	case "Timestamp":
		known = timestamppb.New(genTime.Draw(t, "time"))
	case "Any":
		a, err := anypb.New(timestamppb.New(genTime.Draw(t, "time")))
		if err != nil {
			t.Fatal(err)
		}
		known = a
	}
	m := dynamicpb.NewMessage(desc)
	if known == nil {
		m.Set(desc.Fields().ByNumber(1), drawScalar(t, desc.Fields().ByNumber(1)))
		return protoreflect.ValueOfMessage(m)
	}
	data, err := proto.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return protoreflect.ValueOfMessage(m)
}

func drawScalar(t *rapid.T, fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "v"))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "v"))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "v"))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "v"))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "v"))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(rapid.Float32().Draw(t, "v"))
	case protoreflect.DoubleKind:
		if rapid.Bool().Draw(t, "nan") {
			return protoreflect.ValueOfFloat64(math.NaN())
		}
		return protoreflect.ValueOfFloat64(rapid.Float64().Draw(t, "v"))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.String().Draw(t, "v"))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOf(rapid.Byte()).Draw(t, "v"))
	}
	if fd.Enum().Name() == "NullValue" {
		return protoreflect.ValueOfEnum(0)
	}
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rapid.Int32Range(-1, 3).Draw(t, "v")))
}
