package capnp

import (
	"reflect"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// A structPlan is what the codec needs to know of one type of message, worked
// out once.
type structPlan struct {
	size
	fields []*field // in ascending order of ordinals
}

// A size is that of a struct's two sections, in words.
type size struct{ data, pointers int }

func (s size) words() int { return s.data + s.pointers }

// A field is a field of a struct, or the key or value of a map's entry.
type field struct {
	value           // of the field, or of one element of a list
	name     string // for errors
	index    int    // in the struct; of an entry 0 for the key and 1 for the value
	pointer  bool   // it lies in the pointer section
	place    int    // there in words; in the data section in bits
	optional bool
	list     bool
	entry    *entry // of a map
}

// A value is a field that is single, or one element of a list.
type value struct {
	kind    schema.Kind
	typ     reflect.Type
	text    bool
	bits    int         // in a data section or a list; 0 if a pointer leads to it
	message *structPlan // of a plain struct
}

// An entry is how a map's entries look: a struct with the key and the value.
type entry struct {
	structPlan
	keyKind schema.Kind
	keyText bool
	keyType reflect.Type
}

// seconds is the size of the struct that a time is, and a duration: seconds of
// 64 bits, and nanoseconds of 32.
var seconds = size{data: 2}

// sizeLog is the logarithm of the bits of a value in a data section; ok is
// false if a pointer leads to it.
func sizeLog(kind schema.Kind) (log int, ok bool) {
	switch kind {
	case schema.Bool:
		return 0, true
	case schema.Int32, schema.Uint32, schema.Float32:
		return 5, true
	case schema.Int64, schema.Uint64, schema.Float64:
		return 6, true
	default:
		return 0, false
	}
}

var plans plain.Plans[structPlan]

func compile(m *schema.Message) (*structPlan, error) {
	if m.Document {
		// A struct with the JSON of its value; see docs/spec/codecs.md.
		json := &field{value: value{kind: schema.Any, typ: m.Type.Field(0).Type}, name: "json", pointer: true}
		return &structPlan{size{pointers: 1}, []*field{json}}, nil
	}
	if err := plain.Check(m, MaxNumber); err != nil {
		return nil, err
	}
	return compileStruct(m, map[*schema.Message]*structPlan{}), nil
}

func compileStruct(m *schema.Message, done map[*schema.Message]*structPlan) *structPlan {
	if p := done[m]; p != nil {
		return p
	}
	p := new(structPlan)
	done[m] = p
	for _, sf := range m.Fields {
		v := valueOf(sf.Kind, sf.Type, sf.Text)
		if sf.Kind == schema.Struct {
			v.message = compileStruct(sf.Message, done)
		}
		f := &field{value: v, name: sf.JSONName, index: sf.Index, optional: sf.Optional, list: sf.Repeated}
		if sf.MapKey != schema.Invalid {
			f.entry = compileEntry(sf, plain.KeyType(m, sf), v)
		}
		p.fields = append(p.fields, f)
	}
	p.arrange()
	return p
}

func compileEntry(sf *schema.Field, keyType reflect.Type, v value) *entry {
	key := &field{value: valueOf(sf.MapKey, keyType, false)}
	val := &field{value: v, index: 1}
	e := &entry{structPlan{fields: []*field{key, val}}, sf.MapKey, sf.TextKey, keyType}
	e.arrange()
	return e
}

func valueOf(kind schema.Kind, typ reflect.Type, text bool) value {
	v := value{kind: kind, typ: typ, text: text}
	if log, ok := sizeLog(kind); ok {
		v.bits = 1 << log
	}
	return v
}

// arrange gives the fields their places.
func (p *structPlan) arrange() {
	var l layout
	for _, f := range p.fields {
		log, inData := sizeLog(f.kind)
		if f.optional || f.list || f.entry != nil || !inData {
			f.pointer, f.place = true, l.pointer()
		} else {
			f.place = l.data(log) << log
		}
	}
	p.size = size{l.words, l.pointers}
}
