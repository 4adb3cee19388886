package json

import (
	"reflect"

	"github.com/everywire/everywire/codec/internal/members"
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

var structPlans members.Plans[structPlan]

func compileStruct(p *structPlan, m *schema.Message, plan func(*schema.Message) *structPlan) {
	p.byName = make(map[string]*structField, 2*len(m.Fields))
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
		var nested *structPlan
		if f.Kind == schema.Struct {
			nested = plan(f.Message)
		}
		sf.append, sf.read = fieldFuncs(f, t, nested)
		p.fields = append(p.fields, sf)
		p.byName[f.Name] = sf
		p.byName[f.JSONName] = sf
	}
}

// fieldFuncs returns the functions of a field of type t. nested is the plan of
// the plain structs in it.
func fieldFuncs(f *schema.Field, t reflect.Type, nested *structPlan) (appendFunc, readFunc) {
	if f.Repeated {
		if a, r := fastList(f, t); a != nil {
			return a, r
		}
	}
	a, r := elementFuncs(f, nested)
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

// elementFuncs returns the functions of one element.
func elementFuncs(f *schema.Field, p *structPlan) (appendFunc, readFunc) {
	switch f.Kind {
	case schema.Struct:
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
		seen    members.Ordinals
		unknown members.Names
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
		if !seen.Add(f.ordinal) {
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
