package flatbuffers

import (
	"reflect"
	"slices"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// A table is what the codec needs to know of one type of message, worked out
// once.
type table struct {
	fields []*field // in ascending order of slots
	bySize []*field // in the order in which they lie in a table: the largest first
	slots  int      // what a vtable of all fields has
}

// A field is a field of a struct, or the key or value of a map's entry.
type field struct {
	value           // of the field, or of one element of a list
	name     string // for errors
	index    int    // in the struct; of an entry 0 for the key and 1 for the value
	slot     int    // in the vtable
	inline   int    // bytes in the table
	optional bool
	list     bool
	required bool   // written also if it is empty
	entry    *entry // of a map
}

// A value is a field that is single, or one element of a list.
type value struct {
	kind    schema.Kind
	typ     reflect.Type
	text    bool
	size    int    // bytes where it stands: in a table or in a vector
	message *table // of a plain struct
	boxed   bool   // bytes in a table of their own: FlatBuffers has no vectors of vectors
}

// An entry is how a map's entries look: a table with the key and the value.
type entry struct {
	table
	keyKind schema.Kind
	keyText bool
	keyType reflect.Type
}

// offset is the size of an offset, and of a vector's length.
const offset = 4

// The form of a time and of a duration is a FlatBuffers struct: seconds in
// eight bytes, nanoseconds in four, and four of padding.
const secondsSize = 16

func sizeOf(kind schema.Kind) int {
	switch kind {
	case schema.Bool:
		return 1
	case schema.Int32, schema.Uint32, schema.Float32:
		return 4
	case schema.Int64, schema.Uint64, schema.Float64:
		return 8
	case schema.Time, schema.Duration:
		return secondsSize
	default:
		return offset
	}
}

var plans plain.Plans[table]

func compile(m *schema.Message) (*table, error) {
	if m.Document {
		// A table with the JSON of its value; see docs/spec/codecs.md.
		json := &field{value: value{kind: schema.Any, typ: m.Type.Field(0).Type, size: offset}, name: "json", inline: offset}
		return &table{fields: []*field{json}, bySize: []*field{json}, slots: 1}, nil
	}
	if err := plain.Check(m, MaxNumber); err != nil {
		return nil, err
	}
	return compileTable(m, map[*schema.Message]*table{}), nil
}

func compileTable(m *schema.Message, done map[*schema.Message]*table) *table {
	if t := done[m]; t != nil {
		return t
	}
	t := new(table)
	done[m] = t
	for _, sf := range m.Fields {
		v := value{kind: sf.Kind, typ: sf.Type, text: sf.Text, size: sizeOf(sf.Kind)}
		if sf.Kind == schema.Struct {
			v.message = compileTable(sf.Message, done)
		}
		f := &field{
			value: v, name: sf.JSONName, index: sf.Index, slot: int(sf.Number) - 1,
			inline: v.size, optional: sf.Optional, list: sf.Repeated,
		}
		switch {
		case sf.MapKey != schema.Invalid:
			f.inline = offset
			f.entry = compileEntry(sf, plain.KeyType(m, sf), v)
		case sf.Repeated:
			f.inline = offset
			f.boxed = sf.Kind == schema.Bytes
		}
		t.fields = append(t.fields, f)
	}
	t.arrange()
	return t
}

func compileEntry(sf *schema.Field, keyType reflect.Type, v value) *entry {
	key := &field{
		value:    value{kind: sf.MapKey, typ: keyType, size: sizeOf(sf.MapKey)},
		inline:   sizeOf(sf.MapKey),
		required: sf.MapKey == schema.String, // as a FlatBuffers key must be that is a string
	}
	val := &field{value: v, index: 1, slot: 1, inline: v.size}
	e := &entry{table: table{fields: []*field{key, val}}, keyKind: sf.MapKey, keyText: sf.TextKey, keyType: keyType}
	e.arrange()
	return e
}

func (t *table) arrange() {
	if n := len(t.fields); n > 0 {
		t.slots = t.fields[n-1].slot + 1
	}
	t.bySize = slices.Clone(t.fields)
	slices.SortStableFunc(t.bySize, func(a, b *field) int { return b.inline - a.inline })
}
