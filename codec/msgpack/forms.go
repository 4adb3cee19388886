package msgpack

import (
	"time"

	"github.com/everywire/everywire/schema"
)

// What is MessagePack's own in the table of docs/spec/types.md. The files that
// work the table itself are package cbor's too; see codec/internal/tablegen.

// text reports whether a value is read where text is needed. Peers that know no
// bin send raw bytes, others send text as a bin: both are either.
func (h head) text() bool { return h.typ == Str || h.typ == Bin }

// octets returns what is in the bin or str that comes next, as
// [Reader.chars] does.
func (d *decoder) octets() (content []byte, size int, ok bool) { return d.chars() }

// null reads a nil if one comes next.
func (d *decoder) null() bool {
	if d.pos < len(d.data) && d.data[d.pos] == formatNil {
		d.pos++
		return true
	}
	return false
}

// number is the number whose head is h. ok is false if it is none.
func (d *decoder) number(h head) (f float64, ok bool) {
	switch {
	case h.typ == Float:
		return h.float(), true
	case h.typ != Int:
		return 0, false
	case h.negative():
		return float64(int64(h.bits)), true
	}
	return float64(h.bits), true
}

// own writes a document's value that other encodings write in another way, or
// cannot. It reports whether v is one.
func (e *encoder) own(v any) (bool, error) {
	switch v := v.(type) {
	case time.Time: // of any year
		e.b = AppendTime(e.b, v)
	case schema.Number:
		return true, errorf("MessagePack cannot hold the integer %s: it is beyond 64 bits", short(string(v)))
	case Extension:
		e.b = AppendExt(e.b, v.Type, v.Data)
	default:
		return false, nil
	}
	return true, nil
}

// own reads an extension, whose head is h, into a document.
func (d *decoder) own(h head) (any, error) {
	if h.ext == timestampExt {
		return d.Time()
	}
	return Extension{h.ext, append([]byte{}, d.payload(h)...)}, nil
}

// ownText reads an extension as a google.protobuf.Value holds it: a timestamp
// as the text that it is in JSON.
func (d *decoder) ownText(head) (string, error) {
	t, err := d.time()
	return t.Format(time.RFC3339Nano), err
}
