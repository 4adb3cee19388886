package protobuf

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// checkDepth refuses a generated message whose messages nest deeper than max,
// which would not be read again, or in a cycle, which package proto follows
// until the process is out of stack.
func checkDepth(m proto.Message, most int) error {
	if most > 0 && !recursive(m.ProtoReflect().Descriptor()) {
		return nil
	}
	return depthOf(m.ProtoReflect(), most)
}

func depthOf(m protoreflect.Message, left int) (err error) {
	if left <= 0 {
		return errDepth
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					err = depthOf(v.Message(), left-2) // an entry is a message too
					return err == nil
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for l, i := v.List(), 0; i < l.Len() && err == nil; i++ {
				err = depthOf(l.Get(i).Message(), left-1)
			}
		default:
			err = depthOf(v.Message(), left-1)
		}
		return err == nil
	})
	return err
}

var recursives sync.Map // protoreflect.MessageDescriptor -> bool

// recursive reports whether messages of the type may nest without end, or
// through more types than may nest. The messages of most types cannot, so they
// need not be walked each time.
func recursive(desc protoreflect.MessageDescriptor) bool {
	if r, ok := recursives.Load(desc); ok {
		return r.(bool)
	}
	r := reaches(desc, map[protoreflect.MessageDescriptor]bool{}, 0)
	recursives.Store(desc, r)
	return r
}

// reaches walks the types that desc refers to. open holds true for those on the
// way from the first one here, and false for those that are done.
func reaches(desc protoreflect.MessageDescriptor, open map[protoreflect.MessageDescriptor]bool, depth int) bool {
	if on, seen := open[desc]; seen {
		return on
	}
	if desc.ExtensionRanges().Len() > 0 || depth == schema.MaxDepth/2 {
		return true // an extension may hold any type
	}
	open[desc] = true
	fields := desc.Fields()
	for i := range fields.Len() {
		if md := fields.Get(i).Message(); md != nil && reaches(md, open, depth+1) {
			return true
		}
	}
	open[desc] = false
	return false
}
