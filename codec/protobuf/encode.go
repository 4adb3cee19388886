package protobuf

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// An encoder writes back to front: a nested message first, then its length
// before it, then its tag. So every length is known when it is written, each
// byte is written once, and no pass for sizes is needed.
type encoder struct {
	buf []byte
	pos int // what is written is buf[pos:]
}

var encoders = sync.Pool{New: func() any { return &encoder{buf: make([]byte, 1024), pos: 1024} }}

// keepBuffer is the largest buffer that is kept for the next message.
const keepBuffer = 64 << 10

func newEncoder() *encoder { return encoders.Get().(*encoder) }

func (e *encoder) free() {
	if len(e.buf) > keepBuffer {
		return
	}
	e.pos = len(e.buf)
	encoders.Put(e)
}

func (e *encoder) bytes() []byte { return e.buf[e.pos:] }
func (e *encoder) len() int      { return len(e.buf) - e.pos }

// room makes room for n bytes, moves to their beginning and returns them
// empty, with capacity for n.
func (e *encoder) room(n int) []byte {
	if e.pos < n {
		used := e.len()
		bigger := make([]byte, max(2*len(e.buf), used+n))
		copy(bigger[len(bigger)-used:], e.buf[e.pos:])
		e.buf, e.pos = bigger, len(bigger)-used
	}
	e.pos -= n
	return e.buf[e.pos : e.pos : e.pos+n]
}

func (e *encoder) varint(v uint64) {
	protowire.AppendVarint(e.room(protowire.SizeVarint(v)), v)
}

func (e *encoder) tag(n protowire.Number, t protowire.Type) { e.varint(protowire.EncodeTag(n, t)) }

func (e *encoder) fixed32(v uint32) { protowire.AppendFixed32(e.room(4), v) }
func (e *encoder) fixed64(v uint64) { protowire.AppendFixed64(e.room(8), v) }

func (e *encoder) raw(b []byte) {
	room := e.room(len(b))
	_ = append(room, b...)
	e.varint(uint64(len(b)))
}

func (e *encoder) str(s string) error {
	if !utf8.ValidString(s) {
		return errUTF8
	}
	room := e.room(len(s))
	_ = append(room, s...)
	e.varint(uint64(len(s)))
	return nil
}

var (
	errUTF8       = errors.New("a string is not valid UTF-8")
	errNilElement = errors.New("a nil pointer in a list or map")
)

// message writes the fields of v, without a length before them.
func (e *encoder) message(p *plan, v reflect.Value, depth int) error {
	if depth > schema.MaxDepth {
		return errDepth
	}
	for i := len(p.fields) - 1; i >= 0; i-- {
		f := &p.fields[i]
		if err := e.field(f, v.Field(f.index), depth); err != nil {
			return at(f.name, err)
		}
	}
	return nil
}

func (e *encoder) field(f *field, v reflect.Value, depth int) error {
	switch {
	case f.key != nil:
		return e.mapField(f, v, depth+1)
	case f.repeated:
		return e.list(f, v, depth+1)
	case f.optional:
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	case absent(f, v):
		return nil
	}
	start := e.len()
	if err := e.element(f, v, depth); err != nil {
		return err
	}
	if f.text && !f.optional && e.len() == start+1 {
		// The text is empty, which is how proto3 writes an absent string.
		e.pos++
		return nil
	}
	e.tag(f.number, f.wire)
	return nil
}

// absent reports whether v is what a missing field is decoded as, so that it
// need not be written.
func absent(f *field, v reflect.Value) bool {
	switch f.kind {
	case schema.String:
		return !f.text && v.Len() == 0
	case schema.Bytes:
		return v.Len() == 0
	case schema.Float32, schema.Float64:
		return math.Float64bits(v.Float()) == 0 // -0 is written
	case schema.Time:
		return timeOf(v).IsZero()
	case schema.Struct:
		// A struct that is not behind a pointer is always there.
		return v.Kind() == reflect.Pointer && v.IsNil()
	case schema.Any:
		if v.Kind() == reflect.Struct {
			return documentOf(v) == nil
		}
		return v.IsNil()
	default:
		return v.IsZero()
	}
}

func (e *encoder) list(f *field, v reflect.Value, depth int) error {
	n := v.Len()
	if n == 0 {
		return nil
	}
	if depth > schema.MaxDepth {
		return errDepth
	}
	start := e.len()
	if ints := int64s(v); ints != nil {
		for _, x := range slices.Backward(*ints) {
			e.varint(uint64(x))
		}
		n = 0
	}
	for i := n - 1; i >= 0; i-- {
		if err := e.element(f, v.Index(i), depth); err != nil {
			return atIndex(i, err)
		}
		if !f.packed() {
			e.tag(f.number, f.wire)
		}
	}
	if f.packed() {
		e.varint(uint64(e.len() - start))
		e.tag(f.number, protowire.BytesType)
	}
	return nil
}

// int64s returns the list v if it is an []int64, which goes without reflection
// for each element, and else nil.
func int64s(v reflect.Value) *[]int64 {
	if !v.CanAddr() {
		return nil
	}
	ints, _ := v.Addr().Interface().(*[]int64)
	return ints
}

func (e *encoder) mapField(f *field, v reflect.Value, depth int) error {
	if v.Len() == 0 {
		return nil
	}
	if depth > schema.MaxDepth {
		return errDepth
	}
	var texts map[string]bool // of keys that are written as text
	if f.key.text {
		texts = make(map[string]bool, v.Len())
	}
	for it := v.MapRange(); it.Next(); {
		start := e.len()
		if err := e.element(f.value, it.Value(), depth); err != nil {
			return atKey(it.Key(), err)
		}
		e.tag(2, f.value.wire)
		before := e.len()
		if err := e.element(f.key, it.Key(), depth); err != nil {
			return atKey(it.Key(), err)
		}
		if texts != nil {
			text := string(e.bytes()[:e.len()-before])
			if texts[text] {
				return atKey(it.Key(), errors.New("two keys have this text"))
			}
			texts[text] = true
		}
		e.tag(1, f.key.wire)
		e.varint(uint64(e.len() - start))
		e.tag(f.number, protowire.BytesType)
	}
	return nil
}

// element writes one value, with its length if it has one, without a tag.
func (e *encoder) element(f *field, v reflect.Value, depth int) error {
	switch f.kind {
	case schema.Bool:
		e.varint(protowire.EncodeBool(v.Bool()))
	case schema.Int32, schema.Int64:
		e.varint(uint64(v.Int()))
	case schema.Uint32, schema.Uint64:
		e.varint(v.Uint())
	case schema.Float32:
		e.fixed32(math.Float32bits(float32(v.Float())))
	case schema.Float64:
		e.fixed64(math.Float64bits(v.Float()))
	case schema.String:
		if f.text {
			return e.text(v)
		}
		return e.str(v.String())
	case schema.Bytes:
		e.raw(v.Bytes())
	case schema.Time:
		return e.time(timeOf(v))
	case schema.Duration:
		e.duration(time.Duration(v.Int()))
	default:
		return e.nested(f, v, depth+1)
	}
	return nil
}

// nested writes a message with its length.
func (e *encoder) nested(f *field, v reflect.Value, depth int) error {
	start := e.len()
	switch f.kind {
	case schema.Struct:
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return errNilElement
			}
			v = v.Elem()
		}
		if err := e.message(f.message, v, depth); err != nil {
			return err
		}
	case schema.Proto:
		if v.IsNil() {
			return errNilElement
		}
		m := v.Interface().(proto.Message)
		if err := checkDepth(m, schema.MaxDepth-depth+1); err != nil {
			return err
		}
		b, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		_ = append(e.room(len(b)), b...)
	case schema.Any:
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return errNilElement
		}
		if err := e.document(anyOf(v), depth); err != nil {
			return err
		}
	}
	e.varint(uint64(e.len() - start))
	return nil
}

func (e *encoder) text(v reflect.Value) error {
	b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return errUTF8
	}
	e.raw(b)
	return nil
}

func (e *encoder) time(t time.Time) error {
	if !text.InYears(t) {
		return fmt.Errorf("the time %v is outside the years 1 to 9999", t)
	}
	e.secondsNanos(t.Unix(), int64(t.Nanosecond()))
	return nil
}

func (e *encoder) duration(d time.Duration) {
	e.secondsNanos(int64(d/time.Second), int64(d%time.Second))
}

// secondsNanos writes the message that Timestamp and Duration both are.
func (e *encoder) secondsNanos(seconds, nanos int64) {
	start := e.len()
	if nanos != 0 {
		e.varint(uint64(nanos))
		e.tag(2, protowire.VarintType)
	}
	if seconds != 0 {
		e.varint(uint64(seconds))
		e.tag(1, protowire.VarintType)
	}
	e.varint(uint64(e.len() - start))
}

// timeOf returns v as a time.Time, without allocating where v can be
// addressed.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

func documentOf(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface().(*schema.Document).Value
	}
	return v.Interface().(schema.Document).Value
}

// anyOf returns the value in an any, a Document or a *Document.
func anyOf(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		return documentOf(v)
	case reflect.Pointer:
		return documentOf(v.Elem())
	default:
		return v.Interface()
	}
}
