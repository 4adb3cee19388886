package cbor

import (
	"math"
	"math/big"
	"time"

	"github.com/everywire/everywire/schema"
)

// What is CBOR's own in the table of docs/spec/types.md; package msgpack has a
// file of the same name.

// text reports whether a value is read where text is needed.
func (h head) text() bool { return h.typ == typeStr }

// octets returns what is in the byte string that comes next, as [reader.span]
// does. A text string is none: whether it were base64 nobody could say.
func (d *decoder) octets() (content []byte, size int, ok bool) { return d.span(majorBytes) }

// null reads null or undefined if one comes next.
func (d *decoder) null() bool {
	if d.pos < len(d.data) && (d.data[d.pos] == simpleNull || d.data[d.pos] == simpleUndefined) {
		d.pos++
		return true
	}
	return false
}

// number is the number whose head is h. ok is false if it is none, or beyond
// the range of a double.
func (d *decoder) number(h head) (f float64, ok bool) {
	switch {
	case h.typ == typeFloat:
		return h.double, true
	case h.typ == typeBig:
		n, err := d.big(h)
		if err != nil {
			return 0, false
		}
		f, _ = new(big.Float).SetInt(n).Float64()
		return f, !math.IsInf(f, 0)
	case h.typ != typeInt:
		return 0, false
	case h.below:
		return float64(int64(h.bits)), true
	}
	return float64(h.bits), true
}

// own writes a document's value that other encodings write in another way, or
// cannot. It reports whether v is one.
func (e *encoder) own(v any) (bool, error) {
	switch v := v.(type) {
	case time.Time:
		return true, e.time(v)
	case schema.Number:
		n, err := parseBig(string(v))
		if err == nil {
			e.b = appendBig(e.b, n)
		}
		return true, err
	}
	return false, nil
}

func parseBig(s string) (*big.Int, error) {
	if len(s) < maxBig*5/2 { // a byte is some 2.4 digits
		n, ok := new(big.Int).SetString(s, 10)
		if !ok {
			return nil, errorf("CBOR cannot hold the number %s: it is not an integer", short(s))
		}
		if n.BitLen() <= maxBig*8 {
			return n, nil
		}
	}
	return nil, errorf("an integer of %d digits, more than fit into %d bytes", len(s), maxBig)
}

// own reads what only CBOR has, whose head is h, into a document.
func (d *decoder) own(h head) (any, error) {
	switch h.typ {
	case typeExt:
		return d.time()
	case typeBig:
		n, err := d.big(h)
		if err != nil {
			return nil, err
		}
		d.pass(h)
		return schema.Number(n.String()), nil
	}
	return nil, d.errorf("the simple value %d has no meaning", h.bits)
}

// ownText reads what only CBOR has, whose head is h, as a
// google.protobuf.Value holds it: a time as the text that it is in JSON.
func (d *decoder) ownText(h head) (string, error) {
	switch h.typ {
	case typeExt:
		t, err := d.time()
		return t.Format(time.RFC3339Nano), err
	case typeBig:
		return "", d.errorf("google.protobuf.Value cannot hold an integer beyond 64 bits: its numbers are doubles")
	}
	return "", d.errorf("the simple value %d has no meaning", h.bits)
}
