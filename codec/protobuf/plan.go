package protobuf

import (
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/everywire/everywire/schema"
)

// A plan is what the encoder and decoder need to know of a plain struct.
type plan struct {
	fields   []field                     // in ascending order of number
	byNumber map[protowire.Number]*field // for large numbers
	small    [smallNumbers]*field        // for the numbers that messages mostly have
}

const smallNumbers = 32

func (p *plan) field(n protowire.Number) *field {
	if n < smallNumbers {
		return p.small[n]
	}
	return p.byNumber[n]
}

// A field is a struct's field, or the key or value of a map field's entries.
type field struct {
	number   protowire.Number
	name     string
	index    int
	kind     schema.Kind
	wire     protowire.Type // of one element
	typ      reflect.Type   // of one element
	repeated bool
	optional bool
	text     bool
	message  *plan  // of a plain struct
	key      *field // of a map
	value    *field // of a map
}

// packed reports whether lists of the field are written as one packed record.
func (f *field) packed() bool { return f.wire != protowire.BytesType }

var plans sync.Map // *schema.Message -> *plan

func planOf(m *schema.Message) (*plan, error) {
	if p, ok := plans.Load(m); ok {
		return p.(*plan), nil
	}
	done := map[*schema.Message]*plan{}
	p, err := compile(m, done)
	if err != nil {
		return nil, err
	}
	for m, p := range done { // only whole graphs may be seen
		plans.LoadOrStore(m, p)
	}
	return p, nil
}

func compile(m *schema.Message, done map[*schema.Message]*plan) (*plan, error) {
	if p, ok := plans.Load(m); ok {
		return p.(*plan), nil
	}
	if p := done[m]; p != nil {
		return p, nil
	}
	if m.Desc != nil || m.Document {
		return nil, fmt.Errorf("%s is no plain struct", m.Type)
	}
	p := &plan{fields: make([]field, len(m.Fields)), byNumber: map[protowire.Number]*field{}}
	done[m] = p
	for i, sf := range m.Fields {
		f := &p.fields[i]
		*f = field{
			number: sf.Number, name: sf.JSONName, index: sf.Index,
			kind: sf.Kind, wire: wireType(sf.Kind), typ: sf.Type,
			repeated: sf.Repeated, optional: sf.Optional, text: sf.Text,
		}
		if sf.Kind == schema.Struct {
			nested, err := compile(sf.Message, done)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sf.Name, err)
			}
			f.message = nested
		}
		if sf.MapKey != schema.Invalid {
			keyType := m.Type.Field(sf.Index).Type.Key()
			f.key = &field{
				number: 1, kind: sf.MapKey, wire: wireType(sf.MapKey), typ: keyType,
				text: sf.TextKey,
			}
			value := *f
			value.number, value.key = 2, nil
			f.value = &value
		}
		if f.number < smallNumbers {
			p.small[f.number] = f
		} else {
			p.byNumber[f.number] = f
		}
	}
	return p, nil
}

func wireType(k schema.Kind) protowire.Type {
	switch k {
	case schema.Bool, schema.Int32, schema.Int64, schema.Uint32, schema.Uint64:
		return protowire.VarintType
	case schema.Float32:
		return protowire.Fixed32Type
	case schema.Float64:
		return protowire.Fixed64Type
	default:
		return protowire.BytesType
	}
}
