package schema

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The struct tag that numbers fields:
//
//	Numbers []int64 `wire:"1"`
//	Size    int     `wire:"2" json:"page_size"`    // JSON and protobuf name page_size
//	ID      uint64  `wire:"3" json:",string"`      // written as "123" in JSON
//	Skipped int     `wire:"-"`
//	Limit   int     `wire:"4" doc:"at most 100"`   // for people, in documents
//	Unknown []byte  `wire:"unknown"`               // protobuf fields that are none of these, as they came
//
// and, on a blank field, speaks of the whole struct:
//
//	_ struct{} `wire:"by-order"`                   // number untagged fields 1, 2, 3 … as they stand
//	_ struct{} `wire:"name=io.grpc.CreateRequest"` // the protobuf name of the message
const tagKey = "wire"

// unknownTag is the tag of the field that keeps what the struct does not know.
const unknownTag = "unknown"

var (
	timeType            = reflect.TypeFor[time.Time]()
	durationType        = reflect.TypeFor[time.Duration]()
	documentType        = reflect.TypeFor[Document]()
	anyType             = reflect.TypeFor[any]()
	protoMessageType    = reflect.TypeFor[proto.Message]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

var cache struct {
	mu       sync.Mutex // held while a type and all that it refers to are analysed
	messages sync.Map   // reflect.Type -> *Message
}

// Of describes the message type t: a plain struct, a generated message,
// [Document], or a pointer to one. The result is cached, shared, and not to be
// changed; Of is safe for concurrent use. The error names the field that is
// wrong and what to do.
func Of(t reflect.Type) (*Message, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if m, ok := cache.messages.Load(t); ok {
		return m.(*Message), nil
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	b := builder{done: map[reflect.Type]*Message{}}
	m, err := b.message(t)
	if err != nil {
		return nil, err
	}
	// Only now, when the whole graph is good, may others see any of it.
	for t, m := range b.done {
		cache.messages.Store(t, m)
	}
	return m, nil
}

// For describes the message that v points at, such as a *SumRequest.
func For(v any) (*Message, error) {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("schema: %T is not a pointer to a message", v)
	}
	return Of(t)
}

// A builder analyses one type and everything it refers to.
type builder struct {
	done map[reflect.Type]*Message // includes those under way, for recursive types
}

func (b *builder) message(t reflect.Type) (*Message, error) {
	if m, ok := cache.messages.Load(t); ok {
		return m.(*Message), nil
	}
	if m, ok := b.done[t]; ok {
		return m, nil
	}
	if reflect.PointerTo(t).Implements(protoMessageType) {
		desc := reflect.New(t).Interface().(proto.Message).ProtoReflect().Descriptor()
		if desc == nil {
			return nil, fmt.Errorf("schema: the Go type %s stands for no message of its own: its values have descriptors, the type has not", t)
		}
		m := &Message{Name: desc.FullName(), Type: t, Desc: desc, Unknown: -1}
		b.done[t] = m
		return m, nil
	}
	if t == documentType {
		m := &Message{Name: "google.protobuf.Value", Type: t, Document: true, Unknown: -1}
		b.done[t] = m
		return m, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema: %s is not a struct: a message is a struct or a generated message", t)
	}
	m := &Message{
		Name:     defaultName(t),
		Type:     t,
		Unknown:  -1,
		byName:   map[string]*Field{},
		byNumber: map[protoreflect.FieldNumber]*Field{},
	}
	b.done[t] = m
	if err := b.fields(m); err != nil {
		return nil, err
	}
	return m, nil
}

func (b *builder) fields(m *Message) error {
	byOrder := false
	for i := range m.Type.NumField() {
		sf := m.Type.Field(i)
		tag, ok := sf.Tag.Lookup(tagKey)
		if sf.Name != "_" || !ok {
			continue
		}
		for part := range strings.SplitSeq(tag, ",") {
			switch name, isName := strings.CutPrefix(part, "name="); {
			case part == "by-order":
				byOrder = true
			case isName && protoreflect.FullName(name).IsValid():
				m.Name = protoreflect.FullName(name)
			default:
				return fmt.Errorf("schema: %s: unknown %s tag %q on the blank field: want by-order or name=FULL.NAME", m.Type, tagKey, part)
			}
		}
	}
	hidden, excluded := false, false
	next := protoreflect.FieldNumber(1)
	for i := range m.Type.NumField() {
		sf := m.Type.Field(i)
		tag, tagged := sf.Tag.Lookup(tagKey)
		if !sf.IsExported() {
			switch {
			case sf.Name == "_":
			case tagged && tag != "-":
				return fieldError(m, sf, "has a %s tag but is not exported", tagKey)
			case hasHTTP(sf):
				return fieldError(m, sf, "has the tag %s:%q but is not exported", httpKey, sf.Tag.Get(httpKey))
			case sf.Anonymous && !tagged:
				return fieldError(m, sf, "is embedded and not exported, so its fields would be lost: give it a name and a number, or exclude it by `%s:\"-\"`", tagKey)
			default:
				hidden = true
			}
			continue
		}
		if tag == "-" {
			if hasHTTP(sf) {
				return fieldError(m, sf, "has the tag %s:%q but is excluded by its %s tag", httpKey, sf.Tag.Get(httpKey), tagKey)
			}
			excluded = true
			continue
		}
		if tag == unknownTag {
			if err := keepUnknown(m, sf, i); err != nil {
				return err
			}
			continue
		}
		f := &Field{Index: i, Doc: sf.Tag.Get("doc")}
		switch {
		case tagged:
			n, err := strconv.ParseInt(tag, 10, 32)
			if err != nil {
				return fieldError(m, sf, "the tag %s:%q is not a field number", tagKey, tag)
			}
			f.Number = protoreflect.FieldNumber(n)
		case byOrder:
			f.Number = next
		default:
			return fieldError(m, sf, "has no number: tag it `%s:\"N\"`, exclude it by `%s:\"-\"`, or number all by a field _ struct{} tagged `%s:\"by-order\"`", tagKey, tagKey, tagKey)
		}
		if !f.Number.IsValid() || (f.Number >= 19000 && f.Number <= 19999) {
			return fieldError(m, sf, "the number %d is not allowed (1 to 536870911, without 19000 to 19999)", f.Number)
		}
		if other := m.byNumber[f.Number]; other != nil {
			return fieldError(m, sf, "has the number %d of field %s", f.Number, m.Type.Field(other.Index).Name)
		}
		next = f.Number + 1
		if err := names(m, sf, f); err != nil {
			return err
		}
		if err := b.classify(m, sf, f); err != nil {
			return err
		}
		if err := placeInHTTP(m, sf, f); err != nil {
			return err
		}
		for _, name := range []string{f.JSONName, f.Name} {
			if other := m.byName[name]; other != nil && other != f {
				return fieldError(m, sf, "has the name %q of field %s", name, m.Type.Field(other.Index).Name)
			}
			m.byName[name] = f
		}
		m.byNumber[f.Number] = f
		m.Fields = append(m.Fields, f)
	}
	if hidden && !excluded && len(m.Fields) == 0 && m.Unknown < 0 {
		// Such as big.Int: it would look like a message without content.
		return fmt.Errorf("schema: %s has only unexported fields, so nothing of it would be written", m.Type)
	}
	slices.SortFunc(m.Fields, func(a, b *Field) int { return int(a.Number - b.Number) })
	return uniquePlaces(m)
}

// keepUnknown makes the i-th field, sf, the one that keeps unknown fields.
func keepUnknown(m *Message, sf reflect.StructField, i int) error {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	switch {
	case sf.Type != reflect.TypeFor[[]byte]():
		return fieldError(m, sf, "keeps unknown fields, so it must be a []byte, not %s", sf.Type)
	case m.Unknown >= 0:
		return fieldError(m, sf, "keeps unknown fields, and so does %s: there can be one such field", m.Type.Field(m.Unknown).Name)
	case hasHTTP(sf):
		return fieldError(m, sf, "has the tag %s:%q but keeps unknown fields: it is no field of the message", httpKey, sf.Tag.Get(httpKey))
	case name != "" && name != "-":
		return fieldError(m, sf, "has the json name %q but keeps unknown fields: it is no field of the message", name)
	}
	m.Unknown = i
	return nil
}

// names sets the JSON and protobuf names from the json tag, or else from the
// Go name: PageSize is page_size in protobuf and pageSize in JSON.
func names(m *Message, sf reflect.StructField, f *Field) error {
	name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
	for opt := range strings.SplitSeq(opts, ",") {
		switch opt {
		case "string":
			f.Quoted = true
		case "", "omitempty", "omitzero": // what is written is the same for all messages; see docs/spec/types.md
		default:
			return fieldError(m, sf, "the json tag's option %q has no meaning here", opt)
		}
	}
	switch {
	case name == "-":
		return fieldError(m, sf, "is excluded by its json tag but not by its %s tag: write `%s:\"-\"`", tagKey, tagKey)
	case name == "":
		f.Name = snake(sf.Name)
		f.JSONName = lowerCamel(f.Name)
		if !protoreflect.Name(f.Name).IsValid() {
			return fieldError(m, sf, "the Go name is not made of ASCII letters, digits and _: give it another by `json:\"NAME\"`")
		}
	case protoreflect.Name(name).IsValid():
		f.Name, f.JSONName = snake(name), name
	default:
		return fieldError(m, sf, "the json name %q is not an identifier of letters, digits and _", name)
	}
	return nil
}

func (b *builder) classify(m *Message, sf reflect.StructField, f *Field) (err error) {
	t := sf.Type
	switch {
	case scalarKind(t) != Invalid: // also a map, slice or array that is written as text
	case t.Kind() == reflect.Map:
		switch f.MapKey = scalarKind(t.Key()); f.MapKey {
		case Bool, Int32, Int64, Uint32, Uint64, String: // a String may be a text type
		default:
			return fieldError(m, sf, "a map's key must be a string, an integer or a bool, not %s", t.Key())
		}
		f.TextKey = isText(t.Key())
		t = t.Elem()
	case t.Kind() == reflect.Slice:
		f.Repeated = true
		t = t.Elem()
	case t.Kind() == reflect.Array:
		return fieldError(m, sf, "arrays are not supported: use a slice")
	case t.Kind() == reflect.Pointer && scalarKind(t.Elem()) != Invalid:
		f.Optional = true
		t = t.Elem()
	}
	f.Type = t
	f.Kind = scalarKind(t)
	f.Text = f.Kind == String && isText(t)
	if f.Quoted && f.Kind != Int64 && f.Kind != Uint64 {
		return fieldError(m, sf, "the json tag's option \"string\" is for 64-bit integers, not for %s", t)
	}
	if f.Kind != Invalid {
		return nil
	}
	st := t
	if st.Kind() == reflect.Pointer {
		st = st.Elem()
	}
	switch {
	case st == timeType:
		return fieldError(m, sf, "pointers to time.Time are for single fields only: use time.Time in lists and maps")
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(protoMessageType):
		return fieldError(m, sf, "a generated message is held by a pointer: use *%s", t)
	case t == anyType || st == documentType:
		f.Kind = Any
	case t.Kind() == reflect.Pointer && t.Implements(protoMessageType):
		f.Kind = Proto
	case st.Kind() == reflect.Struct:
		f.Kind = Struct
	default:
		return fieldError(m, sf, "the type %s has no wire form: see docs/spec/types.md", sf.Type)
	}
	if f.Kind == Struct || f.Kind == Proto {
		f.Message, err = b.message(st)
	}
	return err
}

// scalarKind returns the kind of a type that is no message, list or map, and
// else Invalid.
func scalarKind(t reflect.Type) Kind {
	switch {
	case t == timeType:
		return Time
	case t == durationType:
		return Duration
	case t == documentType:
		return Invalid
	case isText(t):
		return String
	}
	switch t.Kind() {
	case reflect.Bool:
		return Bool
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return Int32
	case reflect.Int, reflect.Int64:
		return Int64
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return Uint32
	case reflect.Uint, reflect.Uint64:
		return Uint64
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.String:
		return String
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !isText(t.Elem()) {
			return Bytes
		}
	}
	return Invalid
}

// isText reports whether t is written as text: it is no message and has both
// halves of encoding's text interfaces.
func isText(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && t != timeType &&
		t.Implements(textMarshalerType) && reflect.PointerTo(t).Implements(textUnmarshalerType)
}

// defaultName is the last element of the package path and the type's name.
func defaultName(t reflect.Type) protoreflect.FullName {
	pkg := t.PkgPath()
	pkg = pkg[strings.LastIndexByte(pkg, '/')+1:]
	clean := func(s string) string {
		s = strings.Map(func(r rune) rune {
			if r == '_' || r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
				return r
			}
			return '_' // generic types: Page[int] is Page_int_
		}, s)
		if s == "" || s[0] >= '0' && s[0] <= '9' {
			s = "_" + s
		}
		return s
	}
	return protoreflect.FullName(clean(pkg) + "." + clean(t.Name()))
}

// snake turns PageSize, pageSize and HTTPPort into page_size and http_port.
func snake(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if unicode.IsUpper(r) && i > 0 && rs[i-1] != '_' &&
			(!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// lowerCamel is protobuf's rule for json_name: page_size is pageSize.
func lowerCamel(s string) string {
	var b strings.Builder
	up := false
	for _, r := range s {
		switch {
		case r == '_':
			up = true
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func fieldError(m *Message, sf reflect.StructField, format string, args ...any) error {
	return fmt.Errorf("schema: %s.%s: "+format, append([]any{m.Type, sf.Name}, args...)...)
}
