package msgpackrpc

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/form"
)

// A binForm is a method's form as MessagePack has it. It turns bytes into
// bytes, so it holds for every type and leaves the decoding to the codec.
type binForm form.Form

// scratches hold request messages that a form had to make.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// keep is the largest capacity that pools keep.
const keep = 64 << 10

// decodeParams reads the request message that params stand for into v.
func decodeParams(f *binForm, params []byte, v any) error {
	scratch := scratches.Get().(*[]byte)
	msg, err := f.message(params, scratch)
	if err == nil {
		err = codec.Decode(msg, v)
	}
	if cap(*scratch) <= keep {
		scratches.Put(scratch)
	}
	return err
}

// emptyMap is the zero message.
const emptyMap = "\x80"

// message turns params, nil if there are none, into the bytes of the request
// message. It makes them in scratch if it must, else it returns a part of
// params. The error is a status.
func (f *binForm) message(params []byte, scratch *[]byte) ([]byte, error) {
	typ := typeOf(params)
	switch {
	case typ == msgpack.Map: // also where the message may be any value: this can mean nothing else
		return params, nil
	case params == nil && f.Object:
		return []byte(emptyMap), nil
	case params == nil:
		return nil, badParams("params are missing; the value goes into an array of one")
	case typ != msgpack.Array:
		return nil, badParams("params is %v where an array or a map is needed", typ)
	}
	r := msgpack.NewReader(params)
	n, err := r.ArrayHeader()
	if err != nil {
		return nil, badParams("%v", err)
	}
	if !f.Object {
		return only(r, n)
	}
	if n == 0 {
		return []byte(emptyMap), nil
	}
	b := (*scratch)[:0]
	switch f.Params {
	case everywire.ParamsList:
		b = msgpack.AppendMapHeader(b, 1)
		b = msgpack.AppendString(b, f.Field.Key)
		b = append(b, params...)
	case everywire.ParamsObject:
		one, err := only(r, n)
		if err == nil && typeOf(one) != msgpack.Map {
			err = badParams("the element of params must be a map, not %v", typeOf(one))
		}
		return one, err
	case everywire.ParamsScalar:
		one, err := only(r, n)
		if err != nil {
			return nil, err
		}
		b = msgpack.AppendMapHeader(b, 1)
		b = msgpack.AppendString(b, f.Field.Key)
		b = append(b, one...)
	case everywire.ParamsInOrder:
		if n > len(f.Order) {
			return nil, badParams("more params than the %d that the method takes", len(f.Order))
		}
		b = msgpack.AppendMapHeader(b, n)
		for i := range n {
			v, err := r.Raw()
			if err != nil {
				return nil, badParams("%v", err)
			}
			b = msgpack.AppendString(b, f.Order[i].Key)
			b = append(b, v...)
		}
	default:
		return nil, badParams("named params are needed, that is a map; the method declares no order for an array")
	}
	*scratch = b
	return b, nil
}

// only returns the one element of an array of n, whose head r has read.
func only(r *msgpack.Reader, n int) ([]byte, error) {
	if n != 1 {
		return nil, badParams("params must be an array of one element, not %d", n)
	}
	one, err := r.Raw()
	if err != nil {
		return nil, badParams("%v", err)
	}
	return one, nil
}

func badParams(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// bare replaces the reply at dst[start:] by the field that is the result, if the
// form has a bare result.
func (f *binForm) bare(dst []byte, start int) []byte {
	if f.Result.Key == "" {
		return dst
	}
	v, ok := memberOf(dst[start:], f.Result.Key)
	if !ok {
		return append(dst[:start], zeroBytes(&f.Result)...)
	}
	return dst[:start+copy(dst[start:], v)]
}

// reply is the inverse of bare, for a form that has a bare result.
func (f *binForm) reply(result []byte) []byte {
	b := make([]byte, 0, len(result)+len(f.Result.Key)+8)
	b = msgpack.AppendMapHeader(b, 1)
	b = msgpack.AppendString(b, f.Result.Key)
	return append(b, result...)
}

// shorten replaces the message at dst[start:] by params in the method's form.
func (f *binForm) shorten(dst []byte, start int) []byte {
	message := dst[start:]
	switch f.Params {
	case everywire.ParamsList:
		return append(dst[:start], fieldBytes(&f.Field, message)...)
	case everywire.ParamsScalar:
		v := fieldBytes(&f.Field, message)
		return append(msgpack.AppendArrayHeader(dst[:start], 1), v...)
	case everywire.ParamsInOrder:
		return append(dst[:start], f.positional(message)...)
	case everywire.ParamsObject:
		return inArray(dst, start)
	}
	return dst
}

// inArray puts the value at dst[start:] into an array of one.
func inArray(dst []byte, start int) []byte {
	dst = append(dst, 0)
	copy(dst[start+1:], dst[start:])
	msgpack.AppendArrayHeader(dst[:start], 1)
	return dst
}

// positional lists the fields of a message in order. A field that the codec
// left out has its zero value: others take what is not there for something else.
// Only fields that may be absent are left out, at the end.
func (f *binForm) positional(message []byte) []byte {
	var elements []byte
	n, end := 0, 0
	for i := range f.Order {
		v, ok := memberOf(message, f.Order[i].Key)
		if !ok {
			v = zeroBytes(&f.Order[i])
		}
		elements = append(elements, v...)
		if ok || f.Order[i].Zero != nil {
			n, end = i+1, len(elements)
		}
	}
	return append(msgpack.AppendArrayHeader(nil, n), elements[:end]...)
}

// fieldBytes returns a copy of the field's value in a message, or its zero
// value.
func fieldBytes(f *form.Field, message []byte) []byte {
	if v, ok := memberOf(message, f.Key); ok {
		return append([]byte(nil), v...)
	}
	return zeroBytes(f)
}

func zeroBytes(f *form.Field) []byte {
	b, err := codec.Append(nil, &everywire.Document{Value: f.Zero})
	if err != nil { // form's zeros are values that MessagePack has
		panic(fmt.Sprintf("zero value of %s: %v", f.Key, err))
	}
	return b
}

// memberOf finds a member of a map that the codec wrote.
func memberOf(message []byte, key string) (value []byte, ok bool) {
	r := msgpack.NewReader(message)
	n, err := r.MapHeader()
	for ; err == nil && n > 0; n-- {
		var name []byte
		if name, err = r.Str(); err != nil {
			break
		}
		if value, err = r.Raw(); err == nil && string(name) == key {
			return value, true
		}
	}
	return nil, false
}
