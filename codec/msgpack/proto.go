package msgpack

import (
	"cmp"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// A protoPlan is what the codec needs to know of one type of generated
// message, worked out once.
type protoPlan struct {
	known      *wellKnown // the special form of a well-known type, or nil
	fields     []*protoField
	byName     map[string]*protoField
	extensible bool
}

// A protoField is a field of a generated message.
type protoField struct {
	desc      protoreflect.FieldDescriptor
	name      string
	encoded   []byte // the name as it is written
	ordinal   int    // in protoPlan.fields
	oneof     int    // index of its oneof, or -1
	presence  bool   // written only if set
	keepsNull bool   // nil is a value, not absence
}

var protoPlans sync.Map // protoreflect.MessageDescriptor -> *protoPlan

func protoPlanOf(desc protoreflect.MessageDescriptor) *protoPlan {
	if p, ok := protoPlans.Load(desc); ok {
		return p.(*protoPlan)
	}
	p := &protoPlan{
		known:      knownForm(desc.FullName()),
		byName:     map[string]*protoField{},
		extensible: desc.ExtensionRanges().Len() > 0,
	}
	if p.known == nil {
		fds := desc.Fields()
		for i := range fds.Len() {
			p.fields = append(p.fields, newProtoField(fds.Get(i)))
		}
		slices.SortFunc(p.fields, func(a, b *protoField) int { return cmp.Compare(a.desc.Number(), b.desc.Number()) })
		// Where one field's key is another's protobuf name, the key is meant.
		for i, f := range p.fields {
			f.ordinal = i
			p.byName[f.desc.TextName()] = f
		}
		for _, f := range p.fields {
			p.byName[f.name] = f
		}
	}
	actual, _ := protoPlans.LoadOrStore(desc, p)
	return actual.(*protoPlan)
}

func newProtoField(fd protoreflect.FieldDescriptor) *protoField {
	f := &protoField{desc: fd, name: fd.JSONName(), oneof: -1, presence: fd.HasPresence()}
	if fd.IsExtension() {
		f.name = "[" + string(fd.FullName()) + "]"
	} else if o := fd.ContainingOneof(); o != nil {
		f.oneof = o.Index()
	}
	f.encoded = AppendString(nil, f.name)
	switch {
	case fd.IsList() || fd.IsMap():
	case fd.Message() != nil:
		f.keepsNull = fd.Message().FullName() == "google.protobuf.Value"
	case fd.Enum() != nil:
		f.keepsNull = fd.Enum().FullName() == nullValue
	}
	return f
}

const nullValue protoreflect.FullName = "google.protobuf.NullValue"

// extension returns the extension field of desc that a key "[full.name]"
// means, or nil if it is none that is known.
func extension(desc protoreflect.MessageDescriptor, key []byte) protoreflect.ExtensionTypeDescriptor {
	if len(key) < 3 || key[0] != '[' || key[len(key)-1] != ']' {
		return nil
	}
	xt, err := protoregistry.GlobalTypes.FindExtensionByName(protoreflect.FullName(key[1 : len(key)-1]))
	if err != nil || xt.TypeDescriptor().ContainingMessage().FullName() != desc.FullName() {
		return nil
	}
	return xt.TypeDescriptor()
}

// generated writes a generated message. Required fields are looked for after
// it has been written, since a cycle of pointers has then been found.
func (e *encoder) generated(m proto.Message) error {
	if !m.ProtoReflect().IsValid() {
		return errNil(m)
	}
	if err := e.proto(m.ProtoReflect()); err != nil {
		return err
	}
	return proto.CheckInitialized(m)
}

// generated reads a generated message, which is empty.
func (d *decoder) generated(m proto.Message) error {
	start := d.pos
	if err := d.proto(m.ProtoReflect()); err != nil {
		return err
	}
	if err := proto.CheckInitialized(m); err != nil {
		d.pos = start
		return d.errorf("%v", err)
	}
	return nil
}
