package msgpack

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/codec/internal/members"
)

// proto reads a value into m, which is empty.
func (d *decoder) proto(m protoreflect.Message) error {
	p := protoPlanOf(m.Descriptor())
	if p.known != nil {
		return p.known.read(d, m)
	}
	return d.protoFields(p, m, "")
}

// protoFields reads a map into m, without the key called except.
func (d *decoder) protoFields(p *protoPlan, m protoreflect.Message, except string) error {
	n, err := d.object()
	if err != nil {
		return err
	}
	var (
		seen, oneofs members.Ordinals
		unknown      members.Names
	)
	next := 0 // the field that most likely comes next
	for range n {
		key, start, err := d.key()
		if err != nil {
			return err
		}
		var f *protoField
		if next < len(p.fields) && p.fields[next].name == string(key) {
			f = p.fields[next]
		} else if f = p.byName[string(key)]; f == nil && p.extensible {
			if xd := extension(m.Descriptor(), key); xd != nil {
				f = newProtoField(xd)
			}
		}
		if f == nil || f.desc.IsExtension() || except != "" && string(key) == except {
			if !unknown.Add(key) {
				return d.duplicate(start)
			}
		} else {
			next = f.ordinal + 1
			if !seen.Add(f.ordinal) {
				return d.duplicate(start)
			}
		}
		if f == nil || except != "" && string(key) == except {
			if err := d.Skip(); err != nil {
				return at(short(string(key)), err)
			}
			continue
		}
		if !f.keepsNull && d.null() {
			continue
		}
		if f.oneof >= 0 && !oneofs.Add(f.oneof) {
			d.pos = start
			return d.errorf("two members of the oneof %s: the second is %s", f.desc.ContainingOneof().Name(), f.name)
		}
		if err := d.protoField(m, f.desc); err != nil {
			return at(f.name, err)
		}
	}
	d.depth--
	return nil
}

func (d *decoder) protoField(m protoreflect.Message, fd protoreflect.FieldDescriptor) error {
	switch {
	case fd.IsList():
		return d.protoList(fd, m.Mutable(fd).List())
	case fd.IsMap():
		return d.protoMap(fd, m.Mutable(fd).Map())
	case fd.Message() != nil:
		v := m.NewField(fd)
		err := d.proto(v.Message())
		m.Set(fd, v)
		return err
	}
	v, err := d.protoScalar(fd)
	if err == nil {
		m.Set(fd, v)
	}
	return err
}

func (d *decoder) protoList(fd protoreflect.FieldDescriptor, list protoreflect.List) error {
	n, err := d.array()
	if err != nil {
		return err
	}
	for i := range n {
		var v protoreflect.Value
		if fd.Message() != nil {
			v = list.NewElement()
			err = d.proto(v.Message())
		} else {
			v, err = d.protoScalar(fd)
		}
		if err != nil {
			return atIndex(i, err)
		}
		list.Append(v)
	}
	d.depth--
	return nil
}

func (d *decoder) protoMap(fd protoreflect.FieldDescriptor, m protoreflect.Map) error {
	n, err := d.object()
	if err != nil {
		return err
	}
	for range n {
		start := d.pos
		key, err := d.protoKey(fd.MapKey())
		if err != nil {
			return err
		}
		if m.Has(key) {
			d.pos = start
			return atKey(key, d.errorf("the key occurs twice"))
		}
		var v protoreflect.Value
		if fd.MapValue().Message() != nil {
			v = m.NewValue()
			err = d.proto(v.Message())
		} else {
			v, err = d.protoScalar(fd.MapValue())
		}
		if err != nil {
			return atKey(key, err)
		}
		m.Set(key, v)
	}
	d.depth--
	return nil
}

func (d *decoder) protoKey(fd protoreflect.FieldDescriptor) (protoreflect.MapKey, error) {
	if fd.Kind() == protoreflect.BoolKind {
		b, err := d.boolKey()
		return protoreflect.ValueOfBool(b).MapKey(), err
	}
	v, err := d.protoScalar(fd)
	return v.MapKey(), err
}

// protoScalar reads a value that is no message.
func (d *decoder) protoScalar(fd protoreflect.FieldDescriptor) (protoreflect.Value, error) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		v, err := d.Bool()
		return protoreflect.ValueOfBool(v), err
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := d.int(32, "int32")
		return protoreflect.ValueOfInt32(int32(n)), err
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := d.int(64, "int64")
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := d.uint(32, "uint32")
		return protoreflect.ValueOfUint32(uint32(n)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := d.uint(64, "uint64")
		return protoreflect.ValueOfUint64(n), err
	case protoreflect.FloatKind:
		n, err := d.float(32)
		return protoreflect.ValueOfFloat32(float32(n)), err
	case protoreflect.DoubleKind:
		n, err := d.float(64)
		return protoreflect.ValueOfFloat64(n), err
	case protoreflect.StringKind:
		s, err := d.Str()
		return protoreflect.ValueOfString(string(s)), err
	case protoreflect.BytesKind:
		b, err := d.bytes()
		return protoreflect.ValueOfBytes(b), err
	}
	n, err := d.enum(fd.Enum())
	return protoreflect.ValueOfEnum(n), err
}

// enum reads a value's name or number.
func (d *decoder) enum(ed protoreflect.EnumDescriptor) (protoreflect.EnumNumber, error) {
	h, err := d.peek()
	switch {
	case err == nil && h.typ == Nil && ed.FullName() == nullValue:
		return 0, d.Nil()
	case err == nil && h.text():
		start := d.pos
		s, err := d.Str()
		if err != nil {
			return 0, err
		}
		if v := ed.Values().ByName(protoreflect.Name(s)); v != nil {
			return v.Number(), nil
		}
		d.pos = start
		return 0, d.errorf("%q is not a value of the enum %s", short(string(s)), ed.FullName())
	}
	n, err := d.int(32, "an enum")
	return protoreflect.EnumNumber(n), err
}
