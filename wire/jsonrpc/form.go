package jsonrpc

import (
	"fmt"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/form"
)

// A textForm is a method's form as JSON has it. It turns one text into another,
// so it holds for every type and leaves the decoding to the codec.
type textForm form.Form

// A paramsError says why an array is not what the method takes.
type paramsError struct{ what string }

func (e *paramsError) Error() string { return e.what }

var emptyObject = []byte("{}")

// message turns params into the JSON of the request message. It makes it in
// scratch if it must, else it returns a part of params. how is what an array
// means.
func (f *textForm) message(params []byte, how everywire.ParamsForm, scratch *[]byte) ([]byte, error) {
	switch {
	case !f.Object:
		return f.value(params)
	case params == nil:
		return emptyObject, nil
	case params[0] == '{':
		return params, nil
	case isEmptyArray(params):
		return emptyObject, nil
	}
	b := (*scratch)[:0]
	switch how {
	case everywire.ParamsList:
		b = appendName(b, '{', f.Field.Key)
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
		b = appendName(b, '{', f.Field.Key)
		b = append(b, one...)
	case everywire.ParamsInOrder:
		elements := elementsOf(params, len(f.Order)+1)
		if len(elements) > len(f.Order) {
			return nil, &paramsError{fmt.Sprintf("more params than the %d that the method takes", len(f.Order))}
		}
		sep := byte('{')
		for i, e := range elements {
			b = appendName(b, sep, f.Order[i].Key)
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
func (f *textForm) value(params []byte) ([]byte, error) {
	switch {
	case params == nil:
		return nil, &paramsError{"params are missing; the value goes into an array of one"}
	case params[0] == '{': // is a value as it stands, and cannot mean anything else
		return params, nil
	}
	return only(params)
}

// bare replaces the reply at dst[start:] by the field that is the result.
func (f *textForm) bare(dst []byte, start int) []byte {
	if f.Result.Key == "" {
		return dst
	}
	v, ok := memberOf(dst[start:], f.Result.Key)
	if !ok {
		return append(dst[:start], zeroText(&f.Result)...)
	}
	return dst[:start+copy(dst[start:], v)]
}

// reply is the inverse of bare, for a form that has a bare result. It is made
// in scratch.
func (f *textForm) reply(result, scratch []byte) []byte {
	object := appendName(scratch[:0], '{', f.Result.Key)
	object = append(object, result...)
	return append(object, '}')
}

// shorten replaces the message at dst[start:] by params in the method's form.
func (f *textForm) shorten(dst []byte, start int) []byte {
	object := dst[start:]
	switch f.Params {
	case everywire.ParamsList:
		return append(dst[:start], fieldText(&f.Field, object)...)
	case everywire.ParamsScalar:
		v := fieldText(&f.Field, object) // of dst, but behind a name: it is moved forward
		return append(append(append(dst[:start], '['), v...), ']')
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

// positional lists the fields of an object in order. A field that the codec left
// out has its zero value: others take what is not there for something else. Only
// fields that may be absent are left out, at the end.
func (f *textForm) positional(object []byte) []byte {
	var out []byte
	last := 1
	sep := byte('[')
	for i := range f.Order {
		v, ok := memberOf(object, f.Order[i].Key)
		out = append(out, sep)
		if !ok {
			v = zeroText(&f.Order[i])
		}
		out = append(out, v...)
		if ok || f.Order[i].Zero != nil {
			last = len(out)
		}
		sep = ','
	}
	if len(out) == 0 {
		return []byte("[]")
	}
	return append(out[:last], ']')
}

// fieldText returns the field's value in an object, or its zero value.
func fieldText(f *form.Field, object []byte) []byte {
	if v, ok := memberOf(object, f.Key); ok {
		return v
	}
	return zeroText(f)
}

// zeroText returns the JSON of a field's zero value.
func zeroText(f *form.Field) []byte {
	if f.Quoted {
		return []byte(`"0"`)
	}
	text, err := json.Codec{}.Append(nil, &schema.Document{Value: f.Zero})
	if err != nil { // form's zeros are values that JSON has
		panic(err)
	}
	return text
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

func keepScratch(scratch *[]byte) {
	if cap(*scratch) <= keep {
		scratches.Put(scratch)
	}
}

// isEmptyArray takes an array that is known to be JSON.
func isEmptyArray(array []byte) bool {
	s := scanner{data: array, pos: 1}
	return s.peek() == ']'
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
