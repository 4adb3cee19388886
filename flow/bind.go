package flow

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/schema"
)

// A binding turns the values of expressions into messages of one type, and back. A
// declared message is a struct that is made when the app is, as schema/infer makes
// them, so that every codec has it as it has those of a Go program: what is known of
// its fields is looked up then, and not for each message.
type binding struct {
	typ    reflect.Type // the struct, or schema.Document
	fields []boundField // nil for documents
	byName map[string]int
	name   string
}

type boundField struct {
	name   string
	label  Label
	scalar Scalar
	of     *binding // of messages
	index  int
}

// bindings makes each message's binding once.
type bindings map[*Message]*binding

// document binds any value.
var document = &binding{typ: reflect.TypeFor[schema.Document](), name: "document"}

func (b bindings) of(m *Message) *binding {
	if m == nil {
		return document
	}
	if done := b[m]; done != nil {
		return done
	}
	out := &binding{name: m.Name, byName: map[string]int{}, fields: []boundField{}}
	fields := []reflect.StructField{{
		Name: "_", PkgPath: "flow", Type: reflect.TypeFor[struct{}](), Tag: reflect.StructTag(`wire:"name=` + m.Name + `"`),
	}}
	for i, f := range m.Fields {
		bound := boundField{name: f.Name, label: f.Label, scalar: f.Scalar, index: i + 1}
		if f.Of != nil {
			bound.of = b.of(f.Of)
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("F%d", i+1), Type: bound.goType(), Tag: reflect.StructTag(fmt.Sprintf(`wire:"%d" json:"%s"`, f.Number, f.Name)),
		})
		out.byName[f.Name] = len(out.fields)
		out.fields = append(out.fields, bound)
	}
	out.typ = reflect.StructOf(fields)
	b[m] = out
	return out
}

var goTypes = map[Scalar]reflect.Type{
	Bool: reflect.TypeFor[bool](), Int32: reflect.TypeFor[int32](), Int64: reflect.TypeFor[int64](), Uint32: reflect.TypeFor[uint32](), Uint64: reflect.TypeFor[uint64](),
	Float: reflect.TypeFor[float32](), Double: reflect.TypeFor[float64](), String: reflect.TypeFor[string](), Bytes: reflect.TypeFor[[]byte](),
	Timestamp: reflect.TypeFor[time.Time](), Duration: reflect.TypeFor[time.Duration](), Any: reflect.TypeFor[any](),
}

// goType is the type of a field. A message may be absent, so it is a pointer.
func (f *boundField) goType() reflect.Type {
	t := goTypes[f.scalar]
	if f.of != nil {
		t = reflect.PointerTo(f.of.typ)
	}
	switch f.label {
	case Repeated:
		return reflect.SliceOf(t)
	case MapOf:
		return reflect.MapOf(reflect.TypeFor[string](), t)
	case Optional:
		if f.of == nil && f.scalar != Any {
			return reflect.PointerTo(t)
		}
	}
	return t
}

// message makes a message of a value: a pointer to one.
func (b *binding) message(v any) (any, error) {
	out := reflect.New(b.typ)
	if b.fields == nil {
		out.Interface().(*schema.Document).Value = v //nolint:forcetypeassert // it is what document binds
		return out.Interface(), nil
	}
	if err := b.fill(out.Elem(), v); err != nil {
		return nil, err
	}
	return out.Interface(), nil
}

// fill sets the fields of a struct that is empty.
func (b *binding) fill(out reflect.Value, v any) error {
	if v == nil {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is needed, not %v", a(b.name), expr.TypeOf(v))
	}
	for name, x := range object {
		i, ok := b.byName[name]
		if !ok {
			return fmt.Errorf("%s has no field %q", b.name, shortened(name))
		}
		if x == nil {
			continue
		}
		f := &b.fields[i]
		if err := f.set(out.Field(f.index), x); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// shortened keeps a name out of errors that is too long for them.
func shortened(name string) string {
	if len(name) > 60 {
		return name[:60] + "…"
	}
	return name
}

// set sets a field to a value that is not null.
func (f *boundField) set(out reflect.Value, v any) error {
	switch f.label {
	case Repeated:
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("a list is needed, not %v", expr.TypeOf(v))
		}
		out.Set(reflect.MakeSlice(out.Type(), len(list), len(list)))
		for i, x := range list {
			if err := f.one(out.Index(i), x); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		return nil
	case MapOf:
		object, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("an object is needed, not %v", expr.TypeOf(v))
		}
		out.Set(reflect.MakeMapWithSize(out.Type(), len(object)))
		for key, x := range object {
			value := reflect.New(out.Type().Elem()).Elem()
			if err := f.one(value, x); err != nil {
				return fmt.Errorf("member %q: %w", shortened(key), err)
			}
			out.SetMapIndex(reflect.ValueOf(key), value)
		}
		return nil
	case Optional:
		if out.Kind() == reflect.Pointer && f.of == nil {
			out.Set(reflect.New(out.Type().Elem()))
			out = out.Elem()
		}
	}
	return f.one(out, v)
}

// one sets a single value.
func (f *boundField) one(out reflect.Value, v any) error {
	if f.of != nil {
		out.Set(reflect.New(f.of.typ))
		return f.of.fill(out.Elem(), v)
	}
	switch f.scalar { //nolint:exhaustive // the integers are left
	case Any:
		if v != nil {
			out.Set(reflect.ValueOf(v))
		}
		return nil
	case Bool:
		if b, ok := v.(bool); ok {
			out.SetBool(b)
			return nil
		}
	case String:
		if s, ok := v.(string); ok {
			out.SetString(s)
			return nil
		}
	case Bytes:
		if b, ok := v.([]byte); ok {
			out.SetBytes(b)
			return nil
		}
	case Float, Double:
		if x, ok := number(v); ok {
			if f.scalar == Float && math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) {
				return fmt.Errorf("%v is out of range: a float is up to %v", x, math.MaxFloat32)
			}
			out.SetFloat(x)
			return nil
		}
	case Timestamp, Duration:
		return f.setTime(out, v)
	default:
		return f.setInteger(out, v)
	}
	return f.needs(v)
}

func (f *boundField) needs(v any) error {
	return fmt.Errorf("%s, not %v", needed(expr.Simple(exprKinds[f.scalar])), expr.TypeOf(v))
}

func (f *boundField) setTime(out reflect.Value, v any) error {
	switch x := v.(type) {
	case time.Time:
		if f.scalar == Timestamp {
			out.Set(reflect.ValueOf(x))
			return nil
		}
	case time.Duration:
		if f.scalar == Duration {
			out.SetInt(int64(x))
			return nil
		}
	case string:
		if f.scalar == Duration {
			if d, err := time.ParseDuration(x); err == nil {
				out.SetInt(int64(d))
				return nil
			}
		} else if t, err := time.Parse(time.RFC3339Nano, x); err == nil {
			out.Set(reflect.ValueOf(t))
			return nil
		}
	}
	return f.needs(v)
}

func (f *boundField) setInteger(out reflect.Value, v any) error {
	bits, ok := integerOf(v, f.scalar)
	switch {
	case !ok && expr.TypeOf(v).Kind == expr.Int:
		return fmt.Errorf("%s is out of range: %s", shown(v), rangeOf(f.scalar))
	case !ok:
		return f.needs(v)
	case out.CanInt():
		out.SetInt(int64(bits)) //nolint:gosec // its bits, and in range
	default:
		out.SetUint(bits)
	}
	return nil
}

// number is a value as a float.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// value is a message, a pointer to one, as a value of expressions.
func (b *binding) value(message any) any {
	if b.fields == nil {
		return message.(*schema.Document).Value //nolint:forcetypeassert // it is what document binds
	}
	return b.object(reflect.ValueOf(message).Elem())
}

// object has all fields, also those that are absent, which are null.
func (b *binding) object(in reflect.Value) any {
	out := make(map[string]any, len(b.fields))
	for i := range b.fields {
		f := &b.fields[i]
		out[f.name] = f.value(in.Field(f.index))
	}
	return out
}

func (f *boundField) value(in reflect.Value) any {
	switch f.label {
	case Repeated:
		list := make([]any, in.Len())
		for i := range list {
			list[i] = f.single(in.Index(i))
		}
		return list
	case MapOf:
		object := make(map[string]any, in.Len())
		for each := in.MapRange(); each.Next(); {
			object[each.Key().String()] = f.single(each.Value())
		}
		return object
	}
	return f.single(in)
}

func (f *boundField) single(in reflect.Value) any {
	if in.Kind() == reflect.Pointer {
		if in.IsNil() {
			return nil
		}
		in = in.Elem()
	}
	switch {
	case f.of != nil:
		return f.of.object(in)
	case f.scalar == Timestamp, f.scalar == Duration, f.scalar == Any:
		return in.Interface()
	}
	switch in.Kind() {
	case reflect.Bool:
		return in.Bool()
	case reflect.Int32, reflect.Int64:
		return in.Int()
	case reflect.Uint32:
		return int64(in.Uint()) //nolint:gosec // of 32 bits
	case reflect.Uint64:
		if u := in.Uint(); u > math.MaxInt64 {
			return u
		}
		return int64(in.Uint()) //nolint:gosec // it is in range
	case reflect.Float32, reflect.Float64:
		return in.Float()
	case reflect.String:
		return in.String()
	}
	return in.Bytes()
}

// converted is a value that may be of another form than a type's, such as 1.0 for an
// integer, in the type's own.
func (f *boundField) converted(v any) (any, error) {
	out := reflect.New(f.goType()).Elem()
	if err := f.set(out, v); err != nil {
		return nil, err
	}
	return f.value(out), nil
}
