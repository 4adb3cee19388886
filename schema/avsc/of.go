package avsc

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// The records of times and durations.
const (
	TimestampName = "everywire.Timestamp"
	DurationName  = "everywire.Duration"
)

// Of returns the schema that the codec avro writes a message with. It fails for
// what Avro cannot say: generated messages, and two types of one name.
func Of(m *schema.Message) (*Type, error) {
	b := builder{names: map[protoreflect.FullName]reflect.Type{}, records: map[reflect.Type]*Type{}}
	t, err := b.message(m)
	if err != nil {
		return nil, err
	}
	// Only now are all records complete that others have as a part.
	for _, t := range b.records {
		for i, f := range t.Fields {
			if f.Type.Kind == Record {
				t.Fields[i].Default = zeroRecord(f.Type)
			}
		}
	}
	return t, measure(t)
}

type builder struct {
	names               map[protoreflect.FullName]reflect.Type // by whom a name is taken
	records             map[reflect.Type]*Type
	timestamp, duration *Type
}

func (b *builder) message(m *schema.Message) (*Type, error) {
	switch {
	case m.Document:
		return &Type{Kind: String}, nil
	case m.Desc != nil:
		return nil, fmt.Errorf("%s is generated from a .proto file and has no form in Avro: use a plain struct", m.Name)
	case b.records[m.Type] != nil:
		return b.records[m.Type], nil
	}
	if other := b.names[m.Name]; other != nil || m.Name == TimestampName || m.Name == DurationName {
		return nil, fmt.Errorf("the name %s of %s is taken", m.Name, m.Type)
	}
	b.names[m.Name] = m.Type
	t := &Type{Kind: Record, Name: string(m.Name)}
	b.records[m.Type] = t // types may refer to themselves
	for _, f := range m.Fields {
		ft, err := b.field(m, f)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", m.Name, f.JSONName, err)
		}
		t.Fields = append(t.Fields, Field{Name: f.JSONName, Doc: f.Doc, Type: ft, Default: zero(ft.Kind, f.Kind)})
	}
	return t, nil
}

func (b *builder) field(m *schema.Message, f *schema.Field) (*Type, error) {
	t, err := b.kind(f)
	switch {
	case err != nil:
		return nil, err
	case f.Repeated:
		t = &Type{Kind: Array, Elem: t}
	case f.MapKey != schema.Invalid:
		t = &Type{Kind: Map, Elem: t}
	case m.Type.Field(f.Index).Type.Kind() == reflect.Pointer:
		t = &Type{Kind: Union, Branches: []*Type{{Kind: Null}, t}}
	}
	return t, nil
}

var kinds = map[schema.Kind]Kind{
	schema.Bool: Boolean, schema.Int32: Int, schema.Int64: Long, schema.Uint32: Long, schema.Uint64: Long,
	schema.Float32: Float, schema.Float64: Double, schema.String: String, schema.Bytes: Bytes, schema.Any: String,
}

func (b *builder) kind(f *schema.Field) (*Type, error) {
	switch f.Kind {
	case schema.Time:
		return parts(&b.timestamp, TimestampName, "A time: seconds since 1970, in UTC, and nanoseconds from there on, 0 to 999999999.",
			strconv.FormatInt(noTime, 10)), nil
	case schema.Duration:
		return parts(&b.duration, DurationName, "Seconds, and nanoseconds with the same sign.", "0"), nil
	case schema.Struct, schema.Proto:
		return b.message(f.Message)
	}
	return &Type{Kind: kinds[f.Kind]}, nil
}

// noTime is the zero time.Time, which is not that of 1970.
const noTime = -62135596800

// parts is the record of a time or a duration.
func parts(have **Type, name, doc, seconds string) *Type {
	if *have == nil {
		*have = &Type{Kind: Record, Name: name, Doc: doc, Fields: []Field{
			{Name: "seconds", Type: &Type{Kind: Long}, Default: seconds},
			{Name: "nanos", Type: &Type{Kind: Int}, Default: "0"},
		}}
	}
	return *have
}

// zero is what a field is that nobody wrote, as JSON.
func zero(k Kind, of schema.Kind) string {
	switch {
	case k == Union:
		return "null"
	case k == Boolean:
		return "false"
	case k == String && of == schema.Any:
		return `"null"` // the JSON text
	case k == String, k == Bytes:
		return `""`
	case k == Array:
		return "[]"
	case k == Map:
		return "{}"
	default:
		return "0"
	}
}

// zeroRecord is a record of fields that nobody wrote.
func zeroRecord(t *Type) string {
	members := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		value := f.Default
		if f.Type.Kind == Record {
			value = zeroRecord(f.Type)
		}
		members[i] = quote(f.Name) + ":" + value
	}
	return "{" + strings.Join(members, ",") + "}"
}
