// Package avsc makes and reads schemas of Apache Avro
// (https://avro.apache.org/docs/1.12.0/specification/), as .avsc files have them:
// those of messages, by the rules of docs/spec/codecs.md, and those of others.
package avsc

import "fmt"

// Kind is what a type is.
type Kind uint8

// The kinds of types.
const (
	Null Kind = iota
	Boolean
	Int
	Long
	Float
	Double
	Bytes
	String
	Record
	Enum
	Fixed
	Array
	Map
	Union
)

var kindNames = [...]string{"null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "enum", "fixed", "array", "map", "union"}

func (k Kind) String() string { return kindNames[k] }

// A Type is a schema. It is not to be changed: types are shared, and may refer to
// themselves.
type Type struct {
	Kind Kind
	// Name is the full name of a record, an enum or a fixed.
	Name string
	// Doc is for people.
	Doc string
	// Fields are those of a record, in the order in which they are written.
	Fields []Field
	// Symbols are those of an enum.
	Symbols []string
	// Size is that of a fixed, in bytes.
	Size int
	// Elem is the type of an array's items or of a map's values.
	Elem *Type
	// Branches are those of a union.
	Branches []*Type
	// Least is how many bytes a value takes at least. Types that can take none
	// always take none.
	Least int
}

// A Field is a field of a record.
type Field struct {
	Name string
	Doc  string
	Type *Type
	// Default is JSON: what a reader takes for the field where a writer has none.
	// It is empty if there is no default.
	Default string
}

// String names the type as errors do.
func (t *Type) String() string {
	if t.Name != "" {
		return t.Kind.String() + " " + t.Name
	}
	return t.Kind.String()
}

// maxLeast bounds sizes, which in a schema of others may be absurd.
const maxLeast = 1 << 30

// measure sets Least of a type and of all that it refers to. It fails for a
// record that is part of itself, whose values would have no end.
func measure(t *Type) error {
	m := measurer{state: map[*Type]bool{}, later: []*Type{t}}
	for len(m.later) > 0 {
		last := len(m.later) - 1
		t, m.later = m.later[last], m.later[:last]
		if err := m.measure(t); err != nil {
			return err
		}
	}
	return nil
}

type measurer struct {
	state map[*Type]bool // true for those that are done
	// later are those that unions, arrays and maps hold. They need not be there,
	// so they do not count for the least size.
	later []*Type
}

func (m *measurer) measure(t *Type) error {
	if done, seen := m.state[t]; seen {
		if !done {
			return fmt.Errorf("the record %s is a part of itself", t.Name)
		}
		return nil
	}
	m.state[t] = false
	switch t.Kind {
	case Null:
	case Float:
		t.Least = 4
	case Double:
		t.Least = 8
	case Fixed:
		t.Least = min(t.Size, maxLeast)
	case Record:
		t.Least = 0
		for _, f := range t.Fields {
			if err := m.measure(f.Type); err != nil {
				return err
			}
			t.Least = min(t.Least+f.Type.Least, maxLeast)
		}
	default:
		t.Least = 1
	}
	if t.Elem != nil {
		m.later = append(m.later, t.Elem)
	}
	m.later = append(m.later, t.Branches...)
	m.state[t] = true
	return nil
}
