package rest

import (
	"math"

	"github.com/everywire/everywire"
)

// Two formats of documents write one message alike but for what JSON has no form
// for, so a body can be taken from one to the other as the document that it is
// (docs/spec/types.md): bytes become base64, times RFC 3339, and NaN and the
// infinities their names.

// toJSON appends the JSON of a body in another format to dst.
func toJSON(dst []byte, f *format, body []byte) ([]byte, error) {
	var doc everywire.Document
	if err := f.codec.Decode(body, &doc); err != nil {
		return dst, err
	}
	doc.Value = withoutNaN(doc.Value)
	return plainJSON.Append(dst, &doc)
}

// fromJSON appends a JSON body in another format to dst.
func fromJSON(dst []byte, f *format, body []byte) ([]byte, error) {
	var doc everywire.Document
	if err := plainJSON.Decode(body, &doc); err != nil {
		return dst, err
	}
	return f.codec.Append(dst, &doc)
}

// withoutNaN puts the JSON names of NaN and the infinities in their place.
func withoutNaN(v any) any {
	switch v := v.(type) {
	case float64:
		switch {
		case math.IsNaN(v):
			return "NaN"
		case math.IsInf(v, 1):
			return "Infinity"
		case math.IsInf(v, -1):
			return "-Infinity"
		}
	case []any:
		for i := range v {
			v[i] = withoutNaN(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withoutNaN(v[k])
		}
	}
	return v
}

// valueOr is memberOr for formats other than JSON: the value keeps what only
// they can say.
func valueOr(f *format, message []byte, field *field) ([]byte, error) {
	var doc everywire.Document
	if err := f.codec.Decode(message, &doc); err != nil {
		return nil, err
	}
	object, ok := doc.Value.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	value, ok := object[field.name]
	if !ok {
		return fromJSON(nil, f, []byte(field.absent))
	}
	return f.codec.Append(nil, &everywire.Document{Value: value})
}

// wrapValue is the inverse of valueOr: a message of the one field that a
// response's body is.
func wrapValue(f *format, field *field, body []byte) ([]byte, error) {
	var doc everywire.Document
	if err := f.codec.Decode(body, &doc); err != nil {
		return nil, err
	}
	return f.codec.Append(nil, &everywire.Document{Value: map[string]any{field.name: doc.Value}})
}
