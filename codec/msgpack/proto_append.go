package msgpack

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func (e *encoder) proto(m protoreflect.Message) error {
	p := protoPlanOf(m.Descriptor())
	if p.known != nil {
		return p.known.append(e, m)
	}
	if err := e.enter(); err != nil {
		return err
	}
	set := p.set(m)
	e.b = AppendMapHeader(e.b, len(set))
	err := e.protoFields(set, m)
	e.depth--
	return err
}

// set returns the fields of m that are written, in the order of their numbers,
// extensions last.
func (p *protoPlan) set(m protoreflect.Message) []*protoField {
	set := make([]*protoField, 0, len(p.fields))
	for _, f := range p.fields {
		if !f.presence || m.Has(f.desc) {
			set = append(set, f)
		}
	}
	if !p.extensible {
		return set
	}
	n := len(set)
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if fd.IsExtension() {
			set = append(set, newProtoField(fd))
		}
		return true
	})
	slices.SortFunc(set[n:], func(a, b *protoField) int { return cmp.Compare(a.desc.Number(), b.desc.Number()) })
	return set
}

func (e *encoder) protoFields(set []*protoField, m protoreflect.Message) error {
	for _, f := range set {
		e.b = append(e.b, f.encoded...)
		if err := e.protoField(f.desc, m.Get(f.desc)); err != nil {
			return at(f.name, err)
		}
	}
	return nil
}

func (e *encoder) protoField(fd protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch {
	case fd.IsList():
		return e.protoList(fd, v.List())
	case fd.IsMap():
		return e.protoMap(fd, v.Map())
	}
	return e.protoValue(fd, v)
}

func (e *encoder) protoList(fd protoreflect.FieldDescriptor, list protoreflect.List) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.b = AppendArrayHeader(e.b, list.Len())
	for i := range list.Len() {
		if err := e.protoValue(fd, list.Get(i)); err != nil {
			return atIndex(i, err)
		}
	}
	e.depth--
	return nil
}

func (e *encoder) protoMap(fd protoreflect.FieldDescriptor, m protoreflect.Map) error {
	if err := e.enter(); err != nil {
		return err
	}
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, compareKeys)
	e.b = AppendMapHeader(e.b, len(keys))
	for _, k := range keys {
		err := e.protoValue(fd.MapKey(), k.Value())
		if err == nil {
			err = e.protoValue(fd.MapValue(), m.Get(k))
		}
		if err != nil {
			return atKey(k, err)
		}
	}
	e.depth--
	return nil
}

func compareKeys(a, b protoreflect.MapKey) int {
	switch x := a.Interface().(type) {
	case string:
		return cmp.Compare(x, b.String())
	case bool:
		if !x && b.Bool() {
			return -1
		}
		return 1
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	default:
		return cmp.Compare(a.Uint(), b.Uint())
	}
}

// protoValue writes one value; fd is its field, or the key or value of a map
// field.
func (e *encoder) protoValue(fd protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		e.b = AppendBool(e.b, v.Bool())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind,
		protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		e.b = AppendInt(e.b, v.Int())
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		e.b = AppendUint(e.b, v.Uint())
	case protoreflect.FloatKind:
		e.b = AppendFloat32(e.b, float32(v.Float()))
	case protoreflect.DoubleKind:
		e.b = AppendFloat64(e.b, v.Float())
	case protoreflect.StringKind:
		return e.str(v.String())
	case protoreflect.BytesKind:
		e.b = AppendBinary(e.b, v.Bytes())
	case protoreflect.EnumKind:
		e.enum(fd.Enum(), v.Enum())
	default: // messages and groups
		if !v.Message().IsValid() {
			return errNilElement()
		}
		return e.proto(v.Message())
	}
	return nil
}

func (e *encoder) enum(ed protoreflect.EnumDescriptor, n protoreflect.EnumNumber) {
	if ed.FullName() == nullValue {
		e.b = AppendNil(e.b)
	} else if v := ed.Values().ByNumber(n); v != nil {
		e.b = AppendString(e.b, string(v.Name()))
	} else {
		e.b = AppendInt(e.b, int64(n))
	}
}
