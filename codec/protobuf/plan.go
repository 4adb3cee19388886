package protobuf

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/schema"
)

// A plan is what the encoder and decoder need to know of one type of plain
// struct, worked out once. Both reach fields by their offsets, without package
// reflect, but for what only reflect can do: to call text methods, to make a
// value of the field's type, and to handle maps of less common types.
type plan struct {
	fields   []field                     // in ascending order of number
	byNumber map[protowire.Number]*field // for large numbers
	small    [smallNumbers]*field        // for the numbers that messages mostly have
	unknown  uintptr                     // offset of the []byte for unknown fields, if keeps
	keeps    bool
	// exact says that the size of a message can be told before it is written.
	// Texts, generated messages and documents would have to be made twice.
	exact bool
	typ   reflect.Type
}

const smallNumbers = 32

func (p *plan) field(n protowire.Number) *field {
	if n < smallNumbers {
		return p.small[n]
	}
	return p.byNumber[n]
}

// A form is how one value lies in memory and what is written of it.
type form uint8

const (
	formBool form = iota
	formInt8
	formInt16
	formInt32
	formInt64
	formUint8
	formUint16
	formUint32
	formUint64
	formFloat32
	formFloat64
	formString
	formBytes
	formTime
	formDuration
	// What follows is no scalar, see [encoder.scalar].
	formText
	formStruct
	formStructPointer
	formProto
	formAny
	formDocument
	formDocumentPointer
)

// A shape is how many values a field has.
type shape uint8

const (
	single   shape = iota
	optional       // a pointer to a scalar
	list
	mapping
)

// A field is a struct's field, or the key or value of a map field's entries.
type field struct {
	offset uintptr // in the struct
	form   form    // of one element
	shape  shape
	wire   protowire.Type // of one element
	// wide says that protobuf's integer has 64 bits and Go's only 32: an int
	// where that is all it has.
	wide    bool
	packed  bool // lists are written as one packed record
	tagSize uint8
	tag     [5]byte // what stands before each record
	number  protowire.Number
	message *plan        // of a plain struct
	size    uintptr      // of one element in memory
	typ     reflect.Type // of one element
	whole   reflect.Type // of the field itself
	name    string
	entries *entries // of a map
}

// entries is what the codec needs to know of a map's entries.
type entries struct {
	key, value field
	kind       mapKind
	scratch    sync.Pool // of *entry
}

func (p *plan) reset(m unsafe.Pointer) { reflect.NewAt(p.typ, m).Elem().SetZero() }

var plans members.Plans[plan]

// planOf returns the plan of the plain struct that msg points at, and where it is.
func planOf(msg any) (*plan, unsafe.Pointer, error) {
	p, _, err := plans.For(msg, compile)
	if err != nil {
		return nil, nil, err
	}
	w := wordsOf(&msg)
	recent[w.slot()].Store(&recentEntry{w.typ, p})
	return p, w.data, nil
}

// recent holds plans that were looked up before, each in the one place where
// recentPlan finds it in next to no time.
var recent [64]atomic.Pointer[recentEntry]

type recentEntry struct {
	typ  unsafe.Pointer // of the pointer to the struct
	plan *plan
}

// recentPlan is planOf for types that were seen before. The plan may be nil for
// those, too.
func recentPlan(msg any) (*plan, unsafe.Pointer) {
	w := wordsOf(&msg)
	if e := recent[w.slot()].Load(); e != nil && e.typ == w.typ && w.data != nil {
		return e.plan, w.data
	}
	return nil, nil
}

// words are an interface value as it lies in memory: its type, and if that is a
// pointer's, the pointer.
type words struct{ typ, data unsafe.Pointer }

func wordsOf(v *any) *words { return (*words)(unsafe.Pointer(v)) }

// slot returns the value's place in [recent]: the high bits of a product are
// mixed best.
func (w *words) slot() uint32 { return uint32(uintptr(w.typ)>>4) * 0x9e3779b1 >> 26 }

func compile(p *plan, m *schema.Message, plan func(*schema.Message) *plan) {
	p.typ = m.Type
	p.fields = make([]field, len(m.Fields))
	p.byNumber = map[protowire.Number]*field{}
	p.exact = exact(m, map[*schema.Message]bool{})
	if m.Unknown >= 0 {
		p.keeps, p.unknown = true, m.Type.Field(m.Unknown).Offset
	}
	for i, sf := range m.Fields {
		goField := m.Type.Field(sf.Index)
		f := &p.fields[i]
		*f = element(sf.Kind, sf.Type, sf.Text)
		f.offset, f.name, f.whole = goField.Offset, sf.JSONName, goField.Type
		if sf.Kind == schema.Struct {
			f.message = plan(sf.Message)
		}
		switch {
		case sf.MapKey != schema.Invalid:
			e := &entries{key: element(sf.MapKey, goField.Type.Key(), sf.TextKey), value: *f}
			e.key.setTag(1, e.key.wire)
			e.value.setTag(2, e.value.wire)
			e.kind = mapKindOf(goField.Type)
			e.scratch.New = func() any { return newEntry(e) }
			f.shape, f.entries, f.wire = mapping, e, protowire.BytesType
		case sf.Repeated:
			f.shape = list
			f.packed = f.wire != protowire.BytesType
		case sf.Optional:
			f.shape = optional
		}
		wire := f.wire
		if f.packed {
			wire = protowire.BytesType
		}
		f.setTag(sf.Number, wire)
		if f.number < smallNumbers {
			p.small[f.number] = f
		} else {
			p.byNumber[f.number] = f
		}
	}
}

// element returns a field that holds one value of the Go type t.
func element(kind schema.Kind, t reflect.Type, text bool) field {
	f := field{wire: wireType(kind), typ: t, size: t.Size()}
	switch kind {
	case schema.Bool:
		f.form = formBool
	case schema.Int32, schema.Int64:
		f.form = map[uintptr]form{1: formInt8, 2: formInt16, 4: formInt32, 8: formInt64}[f.size]
		f.wide = kind == schema.Int64 && f.size == 4
	case schema.Uint32, schema.Uint64:
		f.form = map[uintptr]form{1: formUint8, 2: formUint16, 4: formUint32, 8: formUint64}[f.size]
		f.wide = kind == schema.Uint64 && f.size == 4
	case schema.Float32:
		f.form = formFloat32
	case schema.Float64:
		f.form = formFloat64
	case schema.String:
		f.form = formString
		if text {
			f.form = formText
		}
	case schema.Bytes:
		f.form = formBytes
	case schema.Time:
		f.form = formTime
	case schema.Duration:
		f.form = formDuration
	case schema.Struct:
		f.form = formStruct
		if t.Kind() == reflect.Pointer {
			f.form = formStructPointer
		}
	case schema.Proto:
		f.form = formProto
	default: // Any
		f.form = formAny
		switch t.Kind() {
		case reflect.Struct:
			f.form = formDocument
		case reflect.Pointer:
			f.form = formDocumentPointer
		}
	}
	return f
}

func (f *field) setTag(n protowire.Number, t protowire.Type) {
	f.number = n
	f.tagSize = uint8(len(protowire.AppendTag(f.tag[:0], n, t)))
}

// exact reports whether nothing in m has a size that is known only when it is
// written. open holds the messages on the way here.
func exact(m *schema.Message, open map[*schema.Message]bool) bool {
	if open[m] {
		return true
	}
	open[m] = true
	for _, f := range m.Fields {
		switch {
		case f.Text || f.TextKey || f.Kind == schema.Proto || f.Kind == schema.Any:
			return false
		case f.Kind == schema.Struct && !exact(f.Message, open):
			return false
		}
	}
	return true
}

func wireType(k schema.Kind) protowire.Type {
	switch k {
	case schema.Bool, schema.Int32, schema.Int64, schema.Uint32, schema.Uint64:
		return protowire.VarintType
	case schema.Float32:
		return protowire.Fixed32Type
	case schema.Float64:
		return protowire.Fixed64Type
	default:
		return protowire.BytesType
	}
}

// A slice is a slice of any type as it lies in memory.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// at returns the i-th element, each of so many bytes.
func (s *slice) at(i int, size uintptr) unsafe.Pointer {
	return unsafe.Add(s.data, uintptr(i)*size)
}

// pointerAt returns a pointer to the element at v as a Go value.
func (f *field) pointerAt(v unsafe.Pointer) reflect.Value { return reflect.NewAt(f.typ, v) }
