package msgpack

import (
	"reflect"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/schema"
)

// A structPlan is what the codec needs to know of one type of plain struct,
// worked out once.
type structPlan struct {
	fields   []*field // in ascending order of number
	byName   map[string]*field
	optional []*field // those that are left out when nil
}

// A field is a field of a plain struct, or the key or value of a map field.
type field struct {
	name     string
	encoded  []byte // the name as it is written
	index    int    // in the struct
	ordinal  int    // in structPlan.fields
	kind     schema.Kind
	typ      reflect.Type // of one element
	typeName string       // for errors
	bits     int          // of a number
	single   bool         // neither list nor map nor optional
	optional bool
	omitNil  bool // a nil pointer is left out
	keepsNil bool // nil is a value, not absence
	text     bool
	message  *structPlan // of a plain struct
	key      *field      // of a map
	list     listForm    // of a list
}

var structPlans members.Plans[structPlan]

func compileStruct(p *structPlan, m *schema.Message, plan func(*schema.Message) *structPlan) {
	p.byName = make(map[string]*field, 2*len(m.Fields))
	for i, sf := range m.Fields {
		t := m.Type.Field(sf.Index).Type
		f := &field{
			name: sf.JSONName, encoded: AppendString(nil, sf.JSONName),
			index: sf.Index, ordinal: i, kind: sf.Kind, typ: sf.Type, typeName: sf.Type.Kind().String(), bits: bitsOf(sf.Type),
			optional: sf.Optional, text: sf.Text,
			omitNil: t.Kind() == reflect.Pointer,
		}
		if sf.Kind == schema.Struct {
			f.message = plan(sf.Message)
		}
		switch {
		case sf.Repeated:
			f.list = listFormOf(t, f)
		case sf.MapKey != schema.Invalid:
			f.key = &field{
				kind: sf.MapKey, typ: t.Key(), typeName: t.Key().Kind().String(), bits: bitsOf(t.Key()),
				text: sf.TextKey,
			}
		case !sf.Optional:
			f.single = true
			f.keepsNil = sf.Kind == schema.Any
		}
		p.fields = append(p.fields, f)
		if f.omitNil {
			p.optional = append(p.optional, f)
		}
		p.byName[sf.Name], p.byName[sf.JSONName] = f, f
	}
}

// bitsOf returns the size of a numeric type, else 0.
func bitsOf(t reflect.Type) int {
	if k := t.Kind(); k >= reflect.Int && k <= reflect.Float64 {
		return t.Bits()
	}
	return 0
}
