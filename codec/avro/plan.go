package avro

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"sync"

	"github.com/everywire/everywire/codec/internal/plain"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// A plan is what the codec needs to know of one type of message.
type plan struct {
	name        string // of the message
	header      [headerSize]byte
	fingerprint uint64
	top         field    // as the element of nothing
	read        readFunc // what was written with this schema
}

// A message is the plan of a plain struct.
type message struct {
	name   string
	fields []*field // in the order of their numbers, which is that of the schema
	byName map[string]*field
}

// A field is a field of a struct, the key of a map field, or a message.
type field struct {
	name     string
	index    int // in the struct
	kind     schema.Kind
	typ      reflect.Type // of one element
	whole    reflect.Type // of the field
	repeated bool
	pointer  bool // a union with null
	scalar   bool // a pointer to what is no struct
	text     bool // goes through encoding's text interfaces
	least    int  // size of one element
	message  *message
	key      *field
	list     func(e *encoder, v reflect.Value) error
}

var plans plain.Plans[plan]

func compile(m *schema.Message) (*plan, error) {
	if err := plain.Check(m, math.MaxInt32); err != nil {
		return nil, err
	}
	t, err := avsc.Of(m)
	if err != nil {
		return nil, err
	}
	p := &plan{name: string(m.Name), fingerprint: t.Fingerprint()}
	p.header[0], p.header[1] = mark0, mark1
	binary.LittleEndian.PutUint64(p.header[2:], p.fingerprint)
	if m.Document {
		p.top = field{kind: schema.Any, typ: m.Type}
	} else {
		p.top = field{kind: schema.Struct, typ: m.Type, message: compiler{}.message(m, t)}
	}
	p.read, err = resolver{}.element(t, &p.top)
	return p, err
}

type compiler map[*schema.Message]*message

func (c compiler) message(m *schema.Message, t *avsc.Type) *message {
	if p := c[m]; p != nil {
		return p // perhaps not complete yet: types may be recursive
	}
	p := &message{name: string(m.Name), byName: map[string]*field{}}
	c[m] = p
	for i, sf := range m.Fields {
		f := c.field(m, sf, t.Fields[i].Type)
		p.fields = append(p.fields, f)
		p.byName[sf.Name], p.byName[sf.JSONName] = f, f
	}
	return p
}

func (c compiler) field(m *schema.Message, sf *schema.Field, t *avsc.Type) *field {
	whole := m.Type.Field(sf.Index).Type
	f := &field{
		name: sf.JSONName, index: sf.Index, kind: sf.Kind, typ: sf.Type, whole: whole, repeated: sf.Repeated, text: sf.Text,
		pointer: whole.Kind() == reflect.Pointer, scalar: sf.Optional,
	}
	one := t
	switch t.Kind {
	case avsc.Union:
		one = t.Branches[1]
	case avsc.Array, avsc.Map:
		one = t.Elem
	}
	f.least = one.Least
	if sf.Kind == schema.Struct {
		f.message = c.message(sf.Message, one)
	}
	switch {
	case sf.Repeated:
		f.list = listForm(f)
	case sf.MapKey != schema.Invalid:
		f.key = &field{kind: sf.MapKey, typ: plain.KeyType(m, sf), text: sf.TextKey}
	}
	return f
}

// knownSchemas are those of other writers.
type knownSchemas struct {
	byFingerprint map[uint64]*avsc.Type
	resolved      sync.Map // resolvedKey -> *resolved
}

type resolvedKey struct {
	typ         reflect.Type
	fingerprint uint64
}

type resolved struct {
	read readFunc
	err  error
}

// reader returns how what was written with the schema of a fingerprint is read
// into a message of type t; ok is false if the schema is not known.
func (k *knownSchemas) reader(p *plan, t reflect.Type, fingerprint uint64) (read readFunc, ok bool, err error) {
	key := resolvedKey{t, fingerprint}
	found, ok := k.resolved.Load(key)
	if !ok {
		written, ok := k.byFingerprint[fingerprint]
		if !ok {
			return nil, false, nil
		}
		one := new(resolved)
		if one.read, one.err = (resolver{}).element(written, &p.top); one.err != nil {
			one.err = fmt.Errorf("what is written with the schema of the fingerprint %016x cannot be read as %s: %w", fingerprint, p.name, one.err)
		}
		found, _ = k.resolved.LoadOrStore(key, one)
	}
	return found.(*resolved).read, true, found.(*resolved).err
}
