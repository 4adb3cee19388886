package expr

import (
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/schema"
)

// A Kind is what a value is.
type Kind uint8

// The kinds of values. Of an Unknown one nothing is known before it is there.
const (
	Unknown Kind = iota
	Null
	Bool
	Int
	Float
	String
	Bytes
	Time
	Duration
	List
	Object
)

var kindNames = [...]string{"a value of unknown type", "null", "a bool", "an integer", "a number", "a text", "bytes", "a time", "a duration", "a list", "an object"}

func (k Kind) String() string { return kindNames[k] }

// A Type is what is known of a value before it is there. Any value may also be null.
type Type struct {
	Kind Kind
	// Of is the type of a list's elements, and of an object's members if their
	// names are not known; nil if it is not known.
	Of *Type
	// Members are an object's, if they are known.
	Members []Member
	// Closed is set for an object that has no other members.
	Closed bool
	// Name is that of the message whose type it is, or "".
	Name string
}

// A Member is one of an object.
type Member struct {
	Name string
	Type *Type
}

// types of single values.
var (
	unknownType  = &Type{}
	nullType     = &Type{Kind: Null}
	boolType     = &Type{Kind: Bool}
	intType      = &Type{Kind: Int}
	floatType    = &Type{Kind: Float}
	stringType   = &Type{Kind: String}
	timeType     = &Type{Kind: Time}
	durationType = &Type{Kind: Duration}
)

// Simple returns the type of values of a kind of which nothing else is known.
func Simple(k Kind) *Type { return &Type{Kind: k} }

// member returns the type of a member, or nil if there is none of the name.
func (t *Type) member(name string) *Type {
	for _, m := range t.Members {
		if m.Name == name {
			return m.Type
		}
	}
	if t.Closed {
		return nil
	}
	if t.Of != nil {
		return t.Of
	}
	return unknownType
}

// names are those of an object's members.
func (t *Type) names() []string {
	names := make([]string, len(t.Members))
	for i, m := range t.Members {
		names[i] = m.Name
	}
	return names
}

// numeric reports whether a value may be a number.
func (t *Type) numeric() bool { return t.Kind == Int || t.Kind == Float || t.open() }

// unlike reports whether values of the two types are known to be of kinds that
// cannot be compared.
func (t *Type) unlike(o *Type) bool {
	return !t.open() && !o.open() && t.Kind != o.Kind && (!t.numeric() || !o.numeric())
}

// open reports whether nothing is known of a value's kind.
func (t *Type) open() bool { return t.Kind == Unknown || t.Kind == Null }

// is reports whether a value may be of a kind.
func (t *Type) is(kinds ...Kind) bool { return t.open() || slices.Contains(kinds, t.Kind) }

// Common is the type of a value that has one of two.
func Common(a, b *Type) *Type { return common(a, b) }

func common(a, b *Type) *Type {
	switch {
	case a.Kind == Null:
		return b
	case b.Kind == Null, a == b, a.Kind == b.Kind && a.Of == nil && len(a.Members) == 0 && !a.Closed:
		return a
	case a.Kind == Int && b.Kind == Float, a.Kind == Float && b.Kind == Int:
		return floatType
	case a.Kind == b.Kind:
		return &Type{Kind: a.Kind}
	}
	return unknownType
}

// TypeOf is the type of a value that is there.
func TypeOf(v any) *Type {
	switch v := v.(type) {
	case nil:
		return nullType
	case bool:
		return boolType
	case int64, uint64, schema.Number:
		return intType
	case float64:
		return floatType
	case string:
		return stringType
	case []byte:
		return Simple(Bytes)
	case time.Time:
		return timeType
	case time.Duration:
		return durationType
	case []any:
		t := &Type{Kind: List}
		for i, x := range v {
			if i == 0 {
				t.Of = TypeOf(x)
				continue
			}
			t.Of = common(t.Of, TypeOf(x))
		}
		return t
	case map[string]any:
		return Simple(Object)
	}
	return unknownType
}

// kindOf is the kind of a value that is there.
func kindOf(v any) Kind {
	switch v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case int64, uint64, schema.Number:
		return Int
	case float64:
		return Float
	case string:
		return String
	case []byte:
		return Bytes
	case time.Time:
		return Time
	case time.Duration:
		return Duration
	case []any:
		return List
	case map[string]any:
		return Object
	}
	return Unknown
}

// String names a type as errors do: "an object with text, seq".
func (t *Type) String() string {
	switch {
	case t.Name != "":
		return "the message " + t.Name
	case t.Kind == Object && len(t.Members) > 0:
		return "an object with " + strings.Join(t.names(), ", ")
	}
	return t.Kind.String()
}
