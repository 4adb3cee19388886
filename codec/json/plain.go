package json

import (
	"reflect"
	"sync"

	"github.com/everywire/everywire/schema"
)

// A structPlan is how to write and read one type of plain struct, worked out
// once.
type structPlan struct {
	fields []*structField // in order of number
	byName map[string]*structField
}

type structField struct {
	name      string // for paths
	key       []byte // what is written before the value: "name":
	index     int    // in the struct
	ordinal   int    // in structPlan.fields
	omitNil   bool   // a nil pointer is absent
	keepsNull bool   // null is a value, not absence
	append    appendFunc
	read      readFunc
}

type (
	// An appendFunc writes a value.
	appendFunc func(e *encoder, b []byte, v reflect.Value) ([]byte, error)
	// A readFunc reads a value into v, which is settable and zero.
	readFunc func(d *decoder, v reflect.Value) error
)

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
	// Others may see the plans only when the whole graph is ready.
	for m, p := range made {
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
	if p, ok := made[m]; ok {
		return p
	}
	p := &structPlan{byName: make(map[string]*structField, 2*len(m.Fields))}
	made[m] = p
	for i, f := range m.Fields {
		sf := &structField{
			name:    f.JSONName,
			key:     []byte(`"` + f.JSONName + `":`), // names are identifiers: nothing to escape
			index:   f.Index,
			ordinal: i,
		}
		t := m.Type.Field(f.Index).Type
		sf.omitNil = t.Kind() == reflect.Pointer
		sf.keepsNull = f.Kind == schema.Any && !f.Repeated && f.MapKey == schema.Invalid
		sf.append, sf.read = made.field(f, t)
		p.fields = append(p.fields, sf)
		p.byName[f.Name] = sf
		p.byName[f.JSONName] = sf
	}
	return p
}

// field returns the functions of a field of type t.
func (made structPlanner) field(f *schema.Field, t reflect.Type) (appendFunc, readFunc) {
	if f.Repeated {
		if a, r := fastList(f, t); a != nil {
			return a, r
		}
	}
	a, r := made.element(f)
	switch {
	case f.Repeated:
		return appendList(a), readList(r)
	case f.MapKey != schema.Invalid:
		return appendMap(f, a), readMap(f, t, r)
	case f.Optional:
		return appendOptional(a), readOptional(r)
	}
	return a, r
}

// element returns the functions of one element.
func (made structPlanner) element(f *schema.Field) (appendFunc, readFunc) {
	switch f.Kind {
	case schema.Struct:
		p := made.plan(f.Message)
		if f.Type.Kind() == reflect.Pointer {
			return appendPointer(p), readPointer(p)
		}
		return p.append, p.read
	case schema.Proto:
		return appendProto, readProto
	case schema.Any:
		return anyElement(f.Type)
	}
	if f.Text {
		return appendText, readText
	}
	return scalarElement(f)
}

func (p *structPlan) append(e *encoder, b []byte, v reflect.Value) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	b = append(b, '{')
	first := true
	for _, f := range p.fields {
		fv := v.Field(f.index)
		if f.omitNil && fv.IsNil() {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.key...)
		var err error
		if b, err = f.append(e, b, fv); err != nil {
			return b, within(err, f.name)
		}
	}
	e.depth--
	return append(b, '}'), nil
}

// read reads an object into the struct v, which is zero.
func (p *structPlan) read(d *decoder, v reflect.Value) error {
	if err := d.enter('{', "an object"); err != nil {
		return err
	}
	var (
		seen    bits
		unknown nameSet
		next    int // the field that most likely comes next
	)
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if err != nil || !ok {
			return err
		}
		var f *structField
		if next < len(p.fields) && p.fields[next].name == string(name) {
			f = p.fields[next]
		} else if f = p.byName[string(name)]; f == nil {
			if err := d.skipMember(&unknown, name); err != nil {
				return err
			}
			continue
		}
		next = f.ordinal + 1
		if !seen.add(f.ordinal) {
			return d.duplicate(name)
		}
		if !f.keepsNull && d.null() {
			continue
		}
		if err := f.read(d, v.Field(f.index)); err != nil {
			return within(err, f.name)
		}
	}
}

// bits is a set of small numbers.
type bits struct {
	low  uint64
	high []uint64
}

// add reports whether n is new.
func (s *bits) add(n int) bool {
	word := &s.low
	if n >= 64 {
		i := n/64 - 1
		for len(s.high) <= i {
			s.high = append(s.high, 0)
		}
		word = &s.high[i]
	}
	bit := uint64(1) << (n % 64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
