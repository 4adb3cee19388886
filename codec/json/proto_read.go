package json

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/codec/internal/text"
)

// read reads a value into m, which is empty.
func (p *protoPlan) read(d *decoder, m protoreflect.Message) error {
	if p.known != nil {
		return p.known.read(d, m)
	}
	return p.readFields(d, m, "")
}

// readFields reads an object into m, without the member called except.
func (p *protoPlan) readFields(d *decoder, m protoreflect.Message, except string) error {
	if err := d.enter('{', "an object"); err != nil {
		return err
	}
	var (
		seen, oneofs members.Ordinals
		unknown      members.Names
		next         int // the field that most likely comes next
	)
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if err != nil || !ok {
			return err
		}
		var f *protoField
		if next < len(p.fields) && p.fields[next].name == string(name) {
			f = p.fields[next]
		} else if f = p.byName[string(name)]; f == nil && p.extensible {
			f = extension(m.Descriptor(), name)
		}
		var fresh bool
		switch {
		case f == nil || except != "" && string(name) == except:
			if err := d.skipMember(&unknown, name); err != nil {
				return err
			}
			continue
		case f.desc.IsExtension(): // not one of p.fields
			fresh = unknown.Add(name)
		default:
			next = f.ordinal + 1
			fresh = seen.Add(f.ordinal)
		}
		if !fresh {
			return d.duplicate(name)
		}
		if !f.keepsNull && d.null() {
			continue
		}
		if f.oneof >= 0 && !oneofs.Add(f.oneof) {
			return d.errorf(d.named, "two members of the oneof %s: the second is %s", f.desc.ContainingOneof().Name(), f.name)
		}
		if err := f.read(d, m); err != nil {
			return within(err, f.name)
		}
	}
}

// read reads a field's value into m.
func (f *protoField) read(d *decoder, m protoreflect.Message) error {
	switch {
	case f.list:
		return f.readList(d, m.Mutable(f.desc).List())
	case f.mapField:
		return f.readMap(d, m.Mutable(f.desc).Map())
	case f.message != nil:
		v := m.NewField(f.desc)
		if err := f.message.read(d, v.Message()); err != nil {
			return err
		}
		m.Set(f.desc, v)
		return nil
	}
	v, err := f.readScalar(d)
	if err == nil {
		m.Set(f.desc, v)
	}
	return err
}

func (f *protoField) readList(d *decoder, list protoreflect.List) error {
	if err := d.enter('[', "an array"); err != nil {
		return err
	}
	for i := 0; ; i++ {
		if ok, err := d.element(i == 0); err != nil || !ok {
			return err
		}
		if f.message != nil {
			v := list.NewElement()
			if err := f.message.read(d, v.Message()); err != nil {
				return atIndex(err, i)
			}
			list.Append(v)
			continue
		}
		v, err := f.readScalar(d)
		if err != nil {
			return atIndex(err, i)
		}
		list.Append(v)
	}
}

func (f *protoField) readMap(d *decoder, m protoreflect.Map) error {
	if err := d.enter('{', "an object"); err != nil {
		return err
	}
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if err != nil || !ok {
			return err
		}
		shown := string(name)
		key, err := d.mapKey(name, f.desc.MapKey())
		if err != nil {
			return err
		}
		if m.Has(key) {
			return d.duplicate([]byte(shown))
		}
		var v protoreflect.Value
		if f.message != nil {
			v = m.NewValue()
			err = f.message.read(d, v.Message())
		} else {
			v, err = f.readScalar(d)
		}
		if err != nil {
			return atKey(err, shown)
		}
		m.Set(key, v)
	}
}

func (d *decoder) mapKey(name []byte, fd protoreflect.FieldDescriptor) (protoreflect.MapKey, error) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(string(name)).MapKey(), nil
	case protoreflect.BoolKind:
		k, err := d.boolKey(name)
		return protoreflect.ValueOfBool(k).MapKey(), err
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		k, err := d.intKey(name, 32, "int32")
		return protoreflect.ValueOfInt32(int32(k)).MapKey(), err //nolint:gosec // intKey checked it
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		k, err := d.intKey(name, 64, "int64")
		return protoreflect.ValueOfInt64(k).MapKey(), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		k, err := d.uintKey(name, 32, "uint32")
		return protoreflect.ValueOfUint32(uint32(k)).MapKey(), err //nolint:gosec // uintKey checked it
	}
	k, err := d.uintKey(name, 64, "uint64")
	return protoreflect.ValueOfUint64(k).MapKey(), err
}

// readScalar reads a value that is no message.
func (f *protoField) readScalar(d *decoder) (protoreflect.Value, error) {
	switch f.kind {
	case protoreflect.BoolKind:
		v, err := d.bool()
		return protoreflect.ValueOfBool(v), err
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := d.int(32, "int32")
		return protoreflect.ValueOfInt32(int32(n)), err //nolint:gosec // int checked it
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := d.int(64, "int64")
		return protoreflect.ValueOfInt64(n), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := d.uint(32, "uint32")
		return protoreflect.ValueOfUint32(uint32(n)), err //nolint:gosec // uint checked it
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
		s, err := d.text("a string")
		return protoreflect.ValueOfString(string(s)), err
	case protoreflect.BytesKind:
		data, err := d.bytes()
		return protoreflect.ValueOfBytes(data), err
	}
	n, err := d.enum(f.elem.Enum())
	return protoreflect.ValueOfEnum(n), err
}

// enum reads a value's name or number.
func (d *decoder) enum(ed protoreflect.EnumDescriptor) (protoreflect.EnumNumber, error) {
	d.peek()
	start := d.pos
	switch c := d.peek(); {
	case c == '"':
		s, err := d.str()
		if err != nil {
			return 0, err
		}
		v := ed.Values().ByName(protoreflect.Name(s))
		if v == nil {
			return 0, d.errorf(start, "%q is not a value of the enum %s", text.Short(string(s)), ed.FullName())
		}
		return v.Number(), nil
	case c == '-' || c >= '0' && c <= '9':
		n, err := d.int(32, "an enum")
		return protoreflect.EnumNumber(n), err //nolint:gosec // int checked it
	case c == 'n' && ed.FullName() == nullValue:
		return 0, d.literal("null")
	}
	return 0, d.mismatch("a name or number of the enum " + string(ed.FullName()))
}
