package json

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func (p *protoPlan) append(e *encoder, b []byte, m protoreflect.Message) ([]byte, error) {
	if p.known != nil {
		return p.known.append(e, b, m)
	}
	if err := e.enter(); err != nil {
		return b, err
	}
	b, err := p.appendFields(e, append(b, '{'), m, true)
	e.depth--
	return append(b, '}'), err
}

// appendFields writes the members of m's object.
func (p *protoPlan) appendFields(e *encoder, b []byte, m protoreflect.Message, first bool) ([]byte, error) {
	for _, f := range p.fields {
		if f.presence && !m.Has(f.desc) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.key...)
		var err error
		if b, err = f.append(e, b, m.Get(f.desc)); err != nil {
			return b, within(err, f.name)
		}
	}
	if !p.extensible {
		return b, nil
	}
	var set []protoreflect.ExtensionTypeDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if xd, ok := fd.(protoreflect.ExtensionTypeDescriptor); ok {
			set = append(set, xd)
		}
		return true
	})
	slices.SortFunc(set, func(a, b protoreflect.ExtensionTypeDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	for _, xd := range set {
		f := extensionField(xd)
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(b, f.key...)
		var err error
		if b, err = f.append(e, b, m.Get(xd)); err != nil {
			return b, within(err, f.name)
		}
	}
	return b, nil
}

// append writes a field's value.
func (f *protoField) append(e *encoder, b []byte, v protoreflect.Value) ([]byte, error) {
	switch {
	case f.list:
		return f.appendList(e, b, v.List())
	case f.mapField:
		return f.appendMap(e, b, v.Map())
	}
	return f.appendOne(e, b, v)
}

func (f *protoField) appendList(e *encoder, b []byte, list protoreflect.List) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	b = append(b, '[')
	for i := range list.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = f.appendOne(e, b, list.Get(i)); err != nil {
			return b, atIndex(err, i)
		}
	}
	e.depth--
	return append(b, ']'), nil
}

func (f *protoField) appendMap(e *encoder, b []byte, m protoreflect.Map) ([]byte, error) {
	if err := e.enter(); err != nil {
		return b, err
	}
	type entry struct {
		key   string
		value protoreflect.Value
	}
	entries := make([]entry, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		entries = append(entries, entry{k.String(), v})
		return true
	})
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	b = append(b, '{')
	for i, en := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendKey(b, en.key); err == nil {
			b, err = f.appendOne(e, b, en.value)
		}
		if err != nil {
			return b, atKey(err, en.key)
		}
	}
	e.depth--
	return append(b, '}'), nil
}

// appendOne writes one element.
func (f *protoField) appendOne(e *encoder, b []byte, v protoreflect.Value) ([]byte, error) {
	switch f.kind {
	case protoreflect.BoolKind:
		return strconv.AppendBool(b, v.Bool()), nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return appendInt(b, v.Int(), false), nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return appendInt(b, v.Int(), f.quoted), nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return appendUint(b, v.Uint(), false), nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return appendUint(b, v.Uint(), f.quoted), nil
	case protoreflect.FloatKind:
		return appendFloat(b, v.Float(), 32), nil
	case protoreflect.DoubleKind:
		return appendFloat(b, v.Float(), 64), nil
	case protoreflect.StringKind:
		return appendString(b, v.String())
	case protoreflect.BytesKind:
		return e.bytes(b, v.Bytes())
	case protoreflect.EnumKind:
		return appendEnum(b, f.elem.Enum(), v.Enum()), nil
	}
	m := v.Message()
	if !m.IsValid() {
		return b, errNilElement()
	}
	return f.message.append(e, b, m)
}

func appendEnum(b []byte, ed protoreflect.EnumDescriptor, n protoreflect.EnumNumber) []byte {
	if ed.FullName() == nullValue {
		return append(b, "null"...)
	}
	v := ed.Values().ByNumber(n)
	if v == nil {
		return strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, '"')
	b = append(b, v.Name()...)
	return append(b, '"')
}
