package describe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// A jsonSchema has the keywords of JSON Schema that types need. Where one stands
// by itself, without a $ref beside it, draft 7 and draft 2020-12 give all of
// them one meaning; see [openAPI30] for the dialect of OpenAPI 3.0. The zero
// value allows every value.
type jsonSchema struct {
	Ref                  string               `json:"$ref,omitempty"`
	Description          string               `json:"description,omitempty"`
	Type                 string               `json:"type,omitempty"`
	Nullable             bool                 `json:"nullable,omitempty"` // of OpenAPI 3.0 only
	Format               string               `json:"format,omitempty"`
	ContentEncoding      string               `json:"contentEncoding,omitempty"`
	Pattern              string               `json:"pattern,omitempty"`
	Minimum              json.Number          `json:"minimum,omitempty"`
	Maximum              json.Number          `json:"maximum,omitempty"`
	Enum                 []any                `json:"enum,omitempty"`
	AllOf                []*jsonSchema        `json:"allOf,omitempty"`
	AnyOf                []*jsonSchema        `json:"anyOf,omitempty"`
	Items                *jsonSchema          `json:"items,omitempty"`
	Properties           ordered[*jsonSchema] `json:"properties,omitempty"`
	PropertyNames        *jsonSchema          `json:"propertyNames,omitempty"`
	AdditionalProperties *jsonSchema          `json:"additionalProperties,omitempty"`
	Required             []string             `json:"required,omitempty"`

	always []string // the members that are always written
}

// ordered is a JSON object whose members have an order, such as that of their
// numbers.
type ordered[T any] []entry[T]

type entry[T any] struct {
	name  string
	value T
}

type property = entry[*jsonSchema]

// MarshalJSON keeps the order.
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(e.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// types collects the schemas of the messages that a document refers to.
//
// A schema says how a value is written. Readers take more: every form that
// docs/spec/types.md lists, members that are absent, null for most. So no
// member is required.
type types struct {
	options Options
	prefix  string // of references, such as "#/components/schemas/"
	byName  map[string]*jsonSchema
	names   map[any]string // of a Go type or a full name, in byName
}

func newTypes(prefix string, o Options) *types {
	return &types{options: o, prefix: prefix, byName: map[string]*jsonSchema{}, names: map[any]string{}}
}

// message is the schema of a message: a reference for what has fields.
func (ts *types) message(m *schema.Message) *jsonSchema {
	switch {
	case m == nil, m.Document:
		return &jsonSchema{}
	case m.Desc != nil:
		return ts.generated(m.Desc)
	}
	return ts.reference(m.Type, m.Name, func(s *jsonSchema) {
		for _, f := range m.Fields {
			s.Properties = append(s.Properties, property{f.JSONName, ts.field(f)})
			if alwaysWritten(m, f) {
				s.always = append(s.always, f.JSONName)
			}
		}
	})
}

// alwaysWritten reports whether a plain struct's field has no presence.
func alwaysWritten(m *schema.Message, f *schema.Field) bool {
	return m.Type.Field(f.Index).Type.Kind() != reflect.Pointer
}

// reference refers to the object that is known as key, and makes it, by fill,
// if it is new; types may refer to themselves. Two types of one name, as two
// packages may have, get different ones.
func (ts *types) reference(key any, fullName protoreflect.FullName, fill func(*jsonSchema)) *jsonSchema {
	name, known := ts.names[key]
	if !known {
		name = string(fullName)
		for n := 2; ts.byName[name] != nil; n++ {
			name = fmt.Sprintf("%s-%d", fullName, n)
		}
		s := &jsonSchema{Type: "object"}
		ts.names[key], ts.byName[name] = name, s
		fill(s)
	}
	return &jsonSchema{Ref: ts.prefix + name}
}

// field is the schema of a plain struct's field.
func (ts *types) field(f *schema.Field) *jsonSchema {
	s := ts.element(f)
	switch {
	case f.Repeated:
		s = listOf(s)
	case f.MapKey != schema.Invalid:
		s = mapOf(keysOf(f.MapKey), s)
	}
	return described(s, f.Doc)
}

func (ts *types) element(f *schema.Field) *jsonSchema {
	switch f.Kind {
	case schema.Bool:
		return &jsonSchema{Type: "boolean"}
	case schema.Int32, schema.Int64:
		return integer(f.Type.Bits(), true, f.Quoted)
	case schema.Uint32, schema.Uint64:
		return integer(f.Type.Bits(), false, f.Quoted)
	case schema.Float32:
		return float("float")
	case schema.Float64:
		return float("double")
	case schema.String:
		return &jsonSchema{Type: "string"}
	case schema.Bytes:
		return ts.bytes()
	case schema.Time:
		return timestamp()
	case schema.Duration:
		return duration()
	case schema.Struct, schema.Proto:
		return ts.message(f.Message)
	}
	return &jsonSchema{} // schema.Any
}

func listOf(one *jsonSchema) *jsonSchema { return &jsonSchema{Type: "array", Items: one} }

func mapOf(keys, values *jsonSchema) *jsonSchema {
	return &jsonSchema{Type: "object", PropertyNames: keys, AdditionalProperties: values}
}

// keysOf says what the names of a map's members may be; nil for any.
func keysOf(k schema.Kind) *jsonSchema {
	switch k {
	case schema.Bool:
		return &jsonSchema{Enum: []any{"false", "true"}}
	case schema.Int32, schema.Int64:
		return &jsonSchema{Pattern: signedPattern}
	case schema.Uint32, schema.Uint64:
		return &jsonSchema{Pattern: unsignedPattern}
	}
	return nil
}

const (
	signedPattern   = `^-?[0-9]+$`
	unsignedPattern = `^[0-9]+$`
)

func integer(bits int, signed, quoted bool) *jsonSchema {
	s := &jsonSchema{Type: "integer", Format: fmt.Sprintf("int%d", bits)}
	if !signed {
		s.Format = "u" + s.Format
	}
	switch {
	case quoted && signed:
		s.Type, s.Pattern = "string", signedPattern
	case quoted:
		s.Type, s.Pattern = "string", unsignedPattern
	case bits == 64 && signed: // the format says it; readers of JSON that have only doubles would round the bounds
	case signed:
		s.Minimum = json.Number(strconv.FormatInt(-1<<(bits-1), 10))
		s.Maximum = json.Number(strconv.FormatInt(1<<(bits-1)-1, 10))
	case bits == 64:
		s.Minimum = "0"
	default:
		s.Minimum = "0"
		s.Maximum = json.Number(strconv.FormatUint(1<<bits-1, 10))
	}
	return s
}

func float(format string) *jsonSchema {
	return &jsonSchema{AnyOf: []*jsonSchema{
		{Type: "number", Format: format},
		{Type: "string", Enum: []any{"NaN", "Infinity", "-Infinity"}},
	}}
}

func (ts *types) bytes() *jsonSchema {
	if ts.options.BytesAsArray {
		return listOf(integer(8, true, false))
	}
	return &jsonSchema{Type: "string", ContentEncoding: "base64"}
}

func timestamp() *jsonSchema { return &jsonSchema{Type: "string", Format: "date-time"} }

func duration() *jsonSchema {
	return &jsonSchema{Type: "string", Pattern: `^-?[0-9]+(\.[0-9]{1,9})?s$`}
}

// each calls f for the schemas directly within s.
func (s *jsonSchema) each(f func(*jsonSchema)) {
	for _, list := range [][]*jsonSchema{s.AllOf, s.AnyOf, {s.Items, s.PropertyNames, s.AdditionalProperties}} {
		for _, inner := range list {
			if inner != nil {
				f(inner)
			}
		}
	}
	for _, p := range s.Properties {
		f(p.value)
	}
}
