package jsonrpc

import (
	"fmt"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A form says how a method's messages look in params and result. Forms turn
// one JSON text into another, so they hold for every type and leave the
// decoding to the codec.
type form struct {
	method *everywire.Method
	name   string // the short name, "" if none
	params everywire.ParamsForm
	// object is false for messages such as documents, whose JSON may be any
	// value: they travel as an array of one.
	object bool
	field  field   // of ParamsList and ParamsScalar
	order  []field // of ParamsInOrder
	result field   // of a bare result
}

// A field is one field of a message as JSON shows it.
type field struct {
	key      string // in JSON, "" for no field
	zero     string // the JSON of its zero value, which a codec may leave out
	repeated bool
}

// formOf checks a method's declaration. Without one, or with a faulty one,
// params are named.
func formOf(m *everywire.Method) (*form, error) {
	f := &form{method: m, object: m.Input == nil || m.Input.IsObject()}
	decl := m.JSONRPC
	if decl == nil {
		return f, nil
	}
	bad := func(format string, args ...any) (*form, error) {
		return &form{method: m, object: f.object}, fmt.Errorf("JSON-RPC form of %s: %s", m.FullName(), fmt.Sprintf(format, args...))
	}
	f.name, f.params = decl.Name, decl.Params
	if reserved(f.name) {
		return bad("names that begin with rpc. or $/ are reserved, not to be declared: %q", f.name)
	}
	if !f.object && f.params != everywire.ParamsNamed {
		return bad("%s is no object, so its params are an array of one without saying so", m.Input.Name)
	}
	var ok bool
	switch f.params {
	case everywire.ParamsNamed, everywire.ParamsObject:
	case everywire.ParamsInOrder:
		if f.order = fieldsOf(m.Input); f.order == nil {
			return bad("the order of the fields is not known")
		}
	case everywire.ParamsList, everywire.ParamsScalar:
		if f.field, ok = fieldOf(m.Input, decl.Field); !ok {
			return bad("the request has no field %q", decl.Field)
		}
		if f.params == everywire.ParamsList && !f.field.repeated {
			return bad("field %q is not repeated", decl.Field)
		}
	default:
		return bad("unknown form of params %d", f.params)
	}
	if decl.Result != "" {
		if f.result, ok = fieldOf(m.Output, decl.Result); !ok {
			return bad("the reply has no field %q", decl.Result)
		}
	}
	return f, nil
}

// fieldOf finds a field by its JSON or protobuf name. Of a message that is not
// known, it believes the name.
func fieldOf(m *schema.Message, name string) (field, bool) {
	switch {
	case m == nil:
		return field{key: name, zero: "null", repeated: true}, name != ""
	case m.Desc != nil:
		fd := m.Desc.Fields().ByTextName(name)
		if fd == nil {
			fd = m.Desc.Fields().ByJSONName(name)
		}
		if fd == nil {
			return field{}, false
		}
		return generatedField(fd), true
	}
	if f := m.ByName(name); f != nil {
		return plainField(f), true
	}
	return field{}, false
}

// fieldsOf lists the fields in the order of their numbers; nil if unknown.
func fieldsOf(m *schema.Message) []field {
	if m == nil {
		return nil
	}
	if m.Desc != nil {
		return generatedFields(m.Desc)
	}
	fs := make([]field, 0, len(m.Fields))
	for _, f := range m.Fields {
		fs = append(fs, plainField(f))
	}
	return fs
}

// A paramsError says why an array is not what the method takes.
type paramsError struct{ what string }

func (e *paramsError) Error() string { return e.what }

var emptyObject = []byte("{}")

// message turns params into the JSON of the request message. It makes it in
// scratch if it must, else it returns a part of params. Version 1.0 has no
// named params: there a method that declares no order takes the message in an
// array of one.
func (f *form) message(params []byte, v1 bool, scratch *[]byte) ([]byte, error) {
	how := f.params
	if v1 && how == everywire.ParamsNamed {
		how = everywire.ParamsObject
	}
	switch {
	case !f.object:
		return f.value(params)
	case params == nil:
		return emptyObject, nil
	case params[0] == '{':
		return params, nil
	case len(elementsOf(params, 1)) == 0:
		return emptyObject, nil
	}
	b := (*scratch)[:0]
	switch how {
	case everywire.ParamsList:
		b = appendName(b, '{', f.field.key)
		b = append(b, params...)
	case everywire.ParamsObject:
		one, err := only(params)
		if err == nil && one[0] != '{' {
			err = &paramsError{"the element of params must be an object, not " + excerpt(one)}
		}
		return one, err
	case everywire.ParamsScalar:
		one, err := only(params)
		if err != nil {
			return nil, err
		}
		b = appendName(b, '{', f.field.key)
		b = append(b, one...)
	case everywire.ParamsInOrder:
		elements := elementsOf(params, len(f.order)+1)
		if len(elements) > len(f.order) {
			return nil, &paramsError{fmt.Sprintf("more params than the %d that the method takes", len(f.order))}
		}
		sep := byte('{')
		for i, e := range elements {
			b = appendName(b, sep, f.order[i].key)
			b = append(b, e...)
			sep = ','
		}
	default:
		return nil, &paramsError{"named params are needed, that is an object; the method declares no order for an array"}
	}
	b = append(b, '}')
	*scratch = b
	return b, nil
}

// value is the message of a method whose request may be any value.
func (f *form) value(params []byte) ([]byte, error) {
	switch {
	case params == nil:
		return nil, &paramsError{"params are missing; the value goes into an array of one"}
	case params[0] == '{': // is a value as it stands, and cannot mean anything else
		return params, nil
	}
	return only(params)
}

// bare replaces the reply at dst[start:] by the field that is the result.
func (f *form) bare(dst []byte, start int) []byte {
	if f.result.key == "" {
		return dst
	}
	v, ok := memberOf(dst[start:], f.result.key)
	if !ok {
		return append(dst[:start], f.result.zero...)
	}
	return dst[:start+copy(dst[start:], v)]
}

// reply is the inverse of bare, for a form that has a bare result.
func (f *form) reply(result []byte) []byte {
	object := appendName(make([]byte, 0, len(result)+len(f.result.key)+8), '{', f.result.key)
	object = append(object, result...)
	return append(object, '}')
}

// shorten replaces the message at dst[start:] by params in the method's form.
func (f *form) shorten(dst []byte, start int) []byte {
	object := dst[start:]
	switch f.params {
	case everywire.ParamsList:
		return append(dst[:start], f.field.in(object)...)
	case everywire.ParamsScalar:
		v := f.field.in(object)
		return append(append(dst[:start], '['), append(v, ']')...)
	case everywire.ParamsObject:
		dst = append(dst, "[]"...)
		copy(dst[start+1:], object)
		dst[start] = '['
		return dst
	case everywire.ParamsInOrder:
		return append(dst[:start], f.positional(object)...)
	}
	return dst
}

// positional lists the fields of an object in order; absent fields at the end
// are left out, others have their zero value.
func (f *form) positional(object []byte) []byte {
	var out []byte
	last := 1
	sep := byte('[')
	for i := range f.order {
		v, ok := memberOf(object, f.order[i].key)
		out = append(out, sep)
		if ok {
			out = append(out, v...)
			last = len(out)
		} else {
			out = append(out, f.order[i].zero...)
		}
		sep = ','
	}
	if len(out) == 0 {
		return []byte("[]")
	}
	return append(out[:last], ']')
}

// in returns a copy of the field's value in an object, or its zero value.
func (f *field) in(object []byte) []byte {
	if v, ok := memberOf(object, f.key); ok {
		return append([]byte(nil), v...)
	}
	return []byte(f.zero)
}

// memberOf finds a member of an object that is known to be JSON.
func memberOf(object []byte, key string) (value []byte, ok bool) {
	s := scanner{data: object}
	if s.peek() != '{' {
		return nil, false
	}
	if s.enter() != nil {
		return nil, false
	}
	for first := true; ; first = false {
		quoted, more, err := s.member(first)
		if err != nil || !more {
			return value, ok
		}
		v, err := s.value()
		if err != nil {
			return value, ok
		}
		if name, err := unquote(quoted); err == nil && string(name) == key {
			value, ok = v, true
		}
	}
}

// elementsOf returns the first elements of an array that is known to be JSON.
func elementsOf(array []byte, most int) [][]byte {
	s := scanner{data: array}
	var elements [][]byte
	if s.enter() != nil {
		return nil
	}
	for len(elements) < most {
		if ok, err := s.element(len(elements) == 0); err != nil || !ok {
			break
		}
		v, err := s.value()
		if err != nil {
			break
		}
		elements = append(elements, v)
	}
	return elements
}

func only(params []byte) ([]byte, error) {
	elements := elementsOf(params, 2)
	if len(elements) != 1 {
		return nil, &paramsError{"params must be an array of one element"}
	}
	return elements[0], nil
}

func appendName(dst []byte, sep byte, key string) []byte {
	return append(appendQuoted(append(dst, sep), key), ':')
}
