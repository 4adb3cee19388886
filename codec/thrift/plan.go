package thrift

import (
	"math"
	"reflect"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
)

// A plan is what the codec needs to know of one type of message.
type plan struct {
	fields []field // in ascending order of id
	byID   map[int16]*field
}

// A field is a field of a struct, or the key of a map field.
type field struct {
	id       int16
	name     string
	index    int // in the struct
	ordinal  int // in plan.fields
	kind     schema.Kind
	typ      reflect.Type // of one element
	wire     wireType     // of the field as a whole
	elem     wireType     // of one element
	repeated bool
	pointer  bool  // left out when nil
	scalar   bool  // a pointer to what is no struct
	text     bool  // goes through encoding's text interfaces
	message  *plan // of a plain struct
	key      *field
	list     listForm
}

var plans plain.Plans[plan]

// compile makes the plan of a message. A document is a struct whose only field
// is the JSON text.
func compile(m *schema.Message) (*plan, error) {
	if err := plain.Check(m, math.MaxInt16); err != nil {
		return nil, err
	}
	return compiler{}.message(m), nil
}

type compiler map[*schema.Message]*plan

func (c compiler) message(m *schema.Message) *plan {
	if p := c[m]; p != nil {
		return p // perhaps not complete yet: types may be recursive
	}
	p := &plan{fields: make([]field, len(m.Fields)), byID: map[int16]*field{}}
	c[m] = p
	if m.Document {
		p.fields = []field{{id: 1, name: "json", kind: schema.Any, typ: m.Type.Field(0).Type, wire: typeString, elem: typeString}}
	}
	for i, sf := range m.Fields {
		p.fields[i] = c.field(m, sf)
	}
	for i := range p.fields {
		f := &p.fields[i]
		f.ordinal = i
		if f.repeated {
			f.list = listFormOf(m.Type.Field(f.index).Type, f)
		}
		p.byID[f.id] = f
	}
	return p
}

func (c compiler) field(m *schema.Message, sf *schema.Field) field {
	f := field{
		id: int16(sf.Number), name: sf.JSONName, index: sf.Index, //nolint:gosec // checked
		kind: sf.Kind, typ: sf.Type, elem: wireTypeOf(sf.Kind), repeated: sf.Repeated, text: sf.Text,
		pointer: m.Type.Field(sf.Index).Type.Kind() == reflect.Pointer, scalar: sf.Optional,
	}
	f.wire = f.elem
	switch {
	case sf.Repeated:
		f.wire = typeList
	case sf.MapKey != schema.Invalid:
		f.wire = typeMap
		f.key = &field{kind: sf.MapKey, typ: plain.KeyType(m, sf), elem: wireTypeOf(sf.MapKey), text: sf.TextKey}
	}
	if sf.Kind == schema.Struct {
		f.message = c.message(sf.Message)
	}
	return f
}

func wireTypeOf(k schema.Kind) wireType {
	switch k {
	case schema.Bool:
		return typeBool
	case schema.Int32:
		return typeI32
	case schema.Int64, schema.Uint32, schema.Uint64:
		return typeI64
	case schema.Float32, schema.Float64:
		return typeDouble
	case schema.Time, schema.Duration, schema.Struct:
		return typeStruct
	default: // text, bytes, a document
		return typeString
	}
}
