package json

import (
	"cmp"
	"slices"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// A protoPlan is how to write and read one type of generated message.
type protoPlan struct {
	known      *wellKnown // the special form of a well-known type, or nil
	fields     []*protoField
	byName     map[string]*protoField
	extensible bool
}

// A protoField is one field of a generated message.
type protoField struct {
	desc     protoreflect.FieldDescriptor
	elem     protoreflect.FieldDescriptor // desc, or that of a map's values
	kind     protoreflect.Kind            // of elem
	list     bool
	mapField bool
	name     string
	key      []byte // what is written before the value: "name":
	ordinal  int    // in protoPlan.fields
	oneof    int    // index of its oneof, or -1
	presence bool   // written only if set
	quoted   bool   // 64-bit integers are written as strings
	// keepsNull is true if null is a value, not absence.
	keepsNull bool
	message   *protoPlan // of an element that is a message
}

var protoPlans struct {
	mu         sync.Mutex // held while a plan and all that it refers to are made
	plans      sync.Map   // protoreflect.MessageDescriptor -> *protoPlan
	extensions sync.Map   // protoreflect.ExtensionTypeDescriptor -> *protoField
}

func protoPlanOf(desc protoreflect.MessageDescriptor) *protoPlan {
	if p, ok := protoPlans.plans.Load(desc); ok {
		return p.(*protoPlan)
	}
	protoPlans.mu.Lock()
	defer protoPlans.mu.Unlock()
	made := protoPlanner{}
	p := made.plan(desc)
	made.publish()
	return p
}

// A protoPlanner makes the plans of one graph of types; it holds those under
// way too, for recursive types.
type protoPlanner map[protoreflect.MessageDescriptor]*protoPlan

// publish lets others see the plans; the whole graph must be ready.
func (made protoPlanner) publish() {
	for desc, p := range made {
		protoPlans.plans.Store(desc, p)
	}
}

func (made protoPlanner) plan(desc protoreflect.MessageDescriptor) *protoPlan {
	if p, ok := protoPlans.plans.Load(desc); ok {
		return p.(*protoPlan)
	}
	if p, ok := made[desc]; ok {
		return p
	}
	p := &protoPlan{
		known:      knownForm(desc),
		byName:     map[string]*protoField{},
		extensible: desc.ExtensionRanges().Len() > 0,
	}
	made[desc] = p
	if p.known != nil {
		return p
	}
	fds := desc.Fields()
	for i := range fds.Len() {
		p.fields = append(p.fields, made.field(fds.Get(i)))
	}
	slices.SortFunc(p.fields, func(a, b *protoField) int { return cmp.Compare(a.desc.Number(), b.desc.Number()) })
	// JSON names come last: where one field's JSON name is another's protobuf
	// name, the JSON name is meant.
	for i, f := range p.fields {
		f.ordinal = i
		p.byName[f.desc.TextName()] = f
	}
	for _, f := range p.fields {
		p.byName[f.name] = f
	}
	return p
}

func (made protoPlanner) field(fd protoreflect.FieldDescriptor) *protoField {
	f := &protoField{
		desc:     fd,
		elem:     fd,
		list:     fd.IsList(),
		mapField: fd.IsMap(),
		name:     fd.JSONName(),
		oneof:    -1,
		presence: fd.HasPresence(),
	}
	if f.mapField {
		f.elem = fd.MapValue()
	}
	f.kind = f.elem.Kind()
	if fd.IsExtension() {
		f.name = "[" + string(fd.FullName()) + "]"
	}
	f.key, _ = appendKey(nil, f.name) // descriptors are UTF-8
	if o := fd.ContainingOneof(); o != nil && !fd.IsExtension() {
		f.oneof = o.Index()
	}
	if opts, ok := fd.Options().(*descriptorpb.FieldOptions); ok {
		f.quoted = opts.GetJstype() == descriptorpb.FieldOptions_JS_STRING
	}
	single := !f.list && !f.mapField
	if md := f.elem.Message(); md != nil {
		f.message = made.plan(md)
		f.keepsNull = single && md.FullName() == "google.protobuf.Value"
	}
	if ed := f.elem.Enum(); ed != nil && ed.FullName() == nullValue {
		f.keepsNull = single
	}
	return f
}

const nullValue protoreflect.FullName = "google.protobuf.NullValue"

// extension returns the field for a member named "[full.name]" of a message of
// type desc, or nil if nobody knows it.
func extension(desc protoreflect.MessageDescriptor, name []byte) *protoField {
	if len(name) < 3 || name[0] != '[' || name[len(name)-1] != ']' {
		return nil
	}
	xt, err := protoregistry.GlobalTypes.FindExtensionByName(protoreflect.FullName(name[1 : len(name)-1]))
	if err != nil || xt.TypeDescriptor().ContainingMessage().FullName() != desc.FullName() {
		return nil
	}
	return extensionField(xt.TypeDescriptor())
}

func extensionField(xd protoreflect.ExtensionTypeDescriptor) *protoField {
	if f, ok := protoPlans.extensions.Load(xd); ok {
		return f.(*protoField)
	}
	protoPlans.mu.Lock()
	defer protoPlans.mu.Unlock()
	made := protoPlanner{}
	f := made.field(xd)
	made.publish()
	protoPlans.extensions.Store(xd, f)
	return f
}
