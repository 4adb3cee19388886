package msgpack

import (
	"reflect"
	"sync"

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
	encoded  []byte // the name as a str
	index    int    // in the struct
	ordinal  int    // in structPlan.fields
	kind     schema.Kind
	typ      reflect.Type // of one element
	bits     int          // of a number
	repeated bool
	optional bool
	omitNil  bool // a nil pointer is left out
	text     bool
	message  *structPlan // of a plain struct
	key      *field      // of a map
}

var structPlans struct {
	mu    sync.Mutex // held while a plan and all that it refers to are made
	plans sync.Map   // *schema.Message -> *structPlan
}

func structPlanOf(m *schema.Message) *structPlan {
	if p, ok := structPlans.plans.Load(m); ok {
		return p.(*structPlan)
	}
	structPlans.mu.Lock()
	defer structPlans.mu.Unlock()
	made := structPlanner{}
	p := made.plan(m)
	for m, p := range made { // others may see whole graphs only
		structPlans.plans.Store(m, p)
	}
	return p
}

// A structPlanner makes the plans of one graph of types; it holds those under
// way too, for recursive types.
type structPlanner map[*schema.Message]*structPlan

func (made structPlanner) plan(m *schema.Message) *structPlan {
	if p, ok := structPlans.plans.Load(m); ok {
		return p.(*structPlan)
	}
	if p := made[m]; p != nil {
		return p
	}
	p := &structPlan{byName: map[string]*field{}}
	made[m] = p
	for i, sf := range m.Fields {
		t := m.Type.Field(sf.Index).Type
		f := &field{
			name: sf.JSONName, encoded: AppendString(nil, sf.JSONName),
			index: sf.Index, ordinal: i, kind: sf.Kind, typ: sf.Type, bits: bitsOf(sf.Type),
			repeated: sf.Repeated, optional: sf.Optional, text: sf.Text,
			omitNil: t.Kind() == reflect.Pointer,
		}
		if sf.Kind == schema.Struct {
			f.message = made.plan(sf.Message)
		}
		if sf.MapKey != schema.Invalid {
			f.key = &field{
				kind: sf.MapKey, typ: t.Key(), bits: bitsOf(t.Key()),
				text: sf.TextKey,
			}
		}
		p.fields = append(p.fields, f)
		if f.omitNil {
			p.optional = append(p.optional, f)
		}
		p.byName[sf.Name], p.byName[sf.JSONName] = f, f
	}
	return p
}

// bitsOf returns the size of a numeric type, else 0.
func bitsOf(t reflect.Type) int {
	if k := t.Kind(); k >= reflect.Int && k <= reflect.Float64 {
		return t.Bits()
	}
	return 0
}
