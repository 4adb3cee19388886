package infer

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// A Result is the message type of some documents.
type Result struct {
	// Type is a struct type with field numbers and names.
	Type reflect.Type
	// Wrapped is set if the documents are no objects, which messages must be: each
	// is then the member "value" of an object.
	Wrapped bool
	// Untyped are the places that have no type but any, in order.
	Untyped []Untyped
}

// Untyped is a place of the documents that stays a document.
type Untyped struct {
	// Path leads there: features[].geometry.coordinates.
	Path string `json:"path"`
	// Reason says why.
	Reason string `json:"reason"`
}

// maxFields is the number of members from which an object is a map if it can be:
// nobody writes such a struct.
const maxFields = 256

// From makes the type of documents, the values of [schema.Document]. It fails if
// there is none, or no value but null.
func From(docs ...any) (*Result, error) {
	all := new(shape)
	for _, doc := range docs {
		all.add(doc)
	}
	if all.kinds == 0 {
		return nil, fmt.Errorf("no schema can be inferred: the documents hold nothing but null")
	}
	b := &builder{names: map[string]bool{}}
	if all.kinds != isObject || !b.asStruct(all) {
		b.result.Wrapped = true
		all = &shape{seen: 1, kinds: isObject, members: map[string]*shape{"value": all}}
	}
	b.result.Type = b.structOf(all, place{name: "Payload"})
	if _, err := schema.Of(b.result.Type); err != nil {
		return nil, fmt.Errorf("no schema can be inferred: %w", err)
	}
	return &b.result, nil
}

// A builder makes types of shapes.
type builder struct {
	result Result
	names  map[string]bool // of messages
}

// A place is where in the documents a shape is.
type place struct{ path, name string }

// member is a place in an object.
func (p place) member(name string) place {
	path := name
	if p.path != "" {
		path = p.path + "." + name
	}
	return place{path, p.name + "_" + camel(name)}
}

// each is the place of all elements of a list, or of all values of a map.
func (p place) each(mark string) place { return place{p.path + mark, p.name} }

// untyped notes that a place stays a document.
func (b *builder) untyped(p place, format string, args ...any) reflect.Type {
	b.result.Untyped = append(b.result.Untyped, Untyped{p.path, fmt.Sprintf(format, args...)})
	return reflect.TypeFor[any]()
}

// field is the type of a struct's field: a pointer if it may be absent.
func (b *builder) field(s *shape, p place, may bool) reflect.Type {
	t := b.value(s, p)
	switch t.Kind() {
	case reflect.Interface, reflect.Slice, reflect.Map:
		return t // have a form for what is absent
	}
	if may {
		return reflect.PointerTo(t)
	}
	return t
}

// value is the type of the values of a shape that are not null.
func (b *builder) value(s *shape, p place) reflect.Type {
	switch s.kinds {
	case 0:
		return b.untyped(p, "it is always null")
	case isBool:
		return reflect.TypeFor[bool]()
	case isInt:
		switch {
		case s.wide():
			return b.untyped(p, "no type of 64 bits holds its integers, of %d to %d", s.least, s.most)
		case s.most > math.MaxInt64:
			return reflect.TypeFor[uint64]()
		}
		return reflect.TypeFor[int64]()
	case isFloat, isFloat | isInt:
		if s.kinds != isFloat && s.inexact {
			return b.untyped(p, "it has fractions, and integers that no double holds")
		}
		return reflect.TypeFor[float64]()
	case isOther, isOther | isInt:
		return b.untyped(p, "no type of 64 bits holds its integers")
	case isString:
		return reflect.TypeFor[string]()
	case isList:
		return b.list(s.items, p)
	case isObject:
		if b.asStruct(s) {
			return b.structOf(s, p)
		}
		return b.mapOf(s, p)
	}
	return b.untyped(p, "its values are of several kinds: %s", s.kinds)
}

// list is the type of a list, []any if its elements have none.
func (b *builder) list(items *shape, p place) reflect.Type {
	each := p.each("[]")
	switch {
	case items.null:
		b.untyped(each, "there are nulls among the elements")
	case items.kinds == 0: // every list is empty: any type is right
		return reflect.TypeFor[[]string]()
	case items.kinds == isList:
		b.untyped(each, "lists of lists have no form in protobuf")
	default:
		element := b.value(items, each)
		if element.Kind() == reflect.Map { // a list of maps has no form either
			b.untyped(each, "lists of maps have no form in protobuf")
			break
		}
		return reflect.SliceOf(element)
	}
	return reflect.TypeFor[[]any]()
}

// mapOf is the type of objects whose members are no fields.
func (b *builder) mapOf(s *shape, p place) reflect.Type {
	all := new(shape)
	for _, m := range s.members {
		all.merge(m)
	}
	each := p.each("{}")
	switch {
	case all.null:
		b.untyped(each, "there are nulls among the values")
	case all.kinds == isList:
		b.untyped(each, "maps of lists have no form in protobuf")
	default:
		value := b.value(all, each)
		if value.Kind() == reflect.Map {
			b.untyped(each, "maps of maps have no form in protobuf")
			break
		}
		return reflect.MapOf(reflect.TypeFor[string](), value)
	}
	return reflect.TypeFor[map[string]any]()
}

// asStruct reports whether an object's members are fields: names that a message
// can have, and not too many.
func (b *builder) asStruct(s *shape) bool {
	if len(s.members) > maxFields {
		return false
	}
	seen := map[string]bool{}
	for name := range s.members {
		folded := strings.ToLower(strings.ReplaceAll(name, "_", "")) // protobuf's two names of a field must differ from all others
		if !protoreflect.Name(name).IsValid() || seen[folded] {
			return false
		}
		seen[folded] = true
	}
	return true
}

// structOf makes a struct, its fields numbered in the order of their names.
func (b *builder) structOf(s *shape, p place) reflect.Type {
	blank := reflect.StructField{
		Name: "_", PkgPath: "infer", Type: reflect.TypeFor[struct{}](),
		Tag: reflect.StructTag(fmt.Sprintf(`wire:"name=payload.%s"`, b.unique(p.name))),
	}
	fields := []reflect.StructField{blank}
	for i, name := range slices.Sorted(maps.Keys(s.members)) {
		m := s.members[name]
		may := m.null || m.seen < s.seen
		t := b.field(m, p.member(name), may)
		tag := name
		if t.Kind() == reflect.Pointer {
			tag += ",omitempty" // for encoding/json, which would write null
		}
		fields = append(fields, reflect.StructField{
			Name: "F" + strconv.Itoa(i+1), Type: t,
			Tag: reflect.StructTag(fmt.Sprintf(`wire:"%d" json:"%s"`, i+1, tag)),
		})
	}
	return reflect.StructOf(fields)
}

// unique makes a message's name one that no other has.
func (b *builder) unique(name string) string {
	free := name
	for n := 2; b.names[free]; n++ {
		free = name + strconv.Itoa(n)
	}
	b.names[free] = true
	return free
}

// camel is a member's name as a part of a message's name: head_commit is HeadCommit.
func camel(name string) string {
	var out strings.Builder
	up := true
	for _, r := range name {
		switch {
		case r == '_':
			up = true
		case up:
			out.WriteRune(unicode.ToUpper(r))
			up = false
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// String lists the kinds.
func (k kinds) String() string {
	var names []string
	for i, name := range []string{"bools", "integers", "numbers with fractions", "strings", "objects", "lists", "integers beyond 64 bits"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
