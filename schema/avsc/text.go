package avsc

import (
	"encoding/json"
	"strconv"
)

// Text is the schema as an .avsc file has it, without white space. A named type
// is defined where it is first used.
func (t *Type) Text() []byte {
	return NewWriter().Type(t)
}

// Canonical is the schema's Parsing Canonical Form, which has nothing that does
// not matter to who reads data.
func (t *Type) Canonical() []byte {
	w := NewWriter()
	w.canonical = true
	return w.Type(t)
}

// Fingerprint is the schema's 64-bit Rabin fingerprint, CRC-64-AVRO of its
// Parsing Canonical Form.
func (t *Type) Fingerprint() uint64 { return rabin(t.Canonical()) }

// rabinEmpty is the fingerprint of no bytes.
const rabinEmpty = 0xc15d213aa4d7a795

func rabin(data []byte) uint64 {
	fp := uint64(rabinEmpty)
	for _, c := range data {
		fp = fp>>8 ^ rabinTable[byte(fp)^c]
	}
	return fp
}

var rabinTable = func() (table [256]uint64) {
	for i := range table {
		fp := uint64(i) //nolint:gosec // below 256
		for range 8 {
			fp = fp>>1 ^ rabinEmpty&-(fp&1)
		}
		table[i] = fp
	}
	return table
}()

// A Writer writes types that stand in one file.
type Writer struct {
	b         []byte
	defined   map[string]bool
	open      map[*Type]bool // records whose definition has begun and not ended
	canonical bool
}

// NewWriter returns a writer that has defined nothing yet.
func NewWriter() *Writer { return &Writer{defined: map[string]bool{}, open: map[*Type]bool{}} }

// Type returns the text of a type. What is in a text before, alone or as a part,
// is referred to by its name.
func (w *Writer) Type(t *Type) []byte {
	w.b = nil
	w.typ(t)
	return w.b
}

func (w *Writer) raw(s string) { w.b = append(w.b, s...) }

func quote(s string) string {
	b, _ := json.Marshal(s) // a string has always a form
	return string(b)
}

// typ writes members in the order that the canonical form has.
func (w *Writer) typ(t *Type) {
	switch t.Kind {
	case Union:
		w.raw("[")
		for i, b := range t.Branches {
			if i > 0 {
				w.raw(",")
			}
			w.typ(b)
		}
		w.raw("]")
	case Array:
		w.raw(`{"type":"array","items":`)
		w.typ(t.Elem)
		w.raw("}")
	case Map:
		w.raw(`{"type":"map","values":`)
		w.typ(t.Elem)
		w.raw("}")
	case Record, Enum, Fixed:
		w.named(t)
	default:
		w.raw(quote(t.Kind.String()))
	}
}

func (w *Writer) named(t *Type) {
	if w.defined[t.Name] {
		w.raw(quote(t.Name))
		return
	}
	w.defined[t.Name] = true
	w.raw(`{"name":` + quote(t.Name) + `,"type":` + quote(t.Kind.String()))
	w.doc(t.Doc)
	switch t.Kind {
	case Enum:
		w.raw(`,"symbols":[`)
		for i, s := range t.Symbols {
			if i > 0 {
				w.raw(",")
			}
			w.raw(quote(s))
		}
		w.raw("]")
	case Fixed:
		w.raw(`,"size":` + strconv.Itoa(t.Size))
	default:
		w.open[t] = true
		w.raw(`,"fields":[`)
		for i, f := range t.Fields {
			if i > 0 {
				w.raw(",")
			}
			w.raw(`{"name":` + quote(f.Name))
			w.doc(f.Doc)
			w.raw(`,"type":`)
			w.typ(f.Type)
			if f.Default != "" && !w.canonical && !w.unfinished(f.Type) {
				w.raw(`,"default":` + f.Default)
			}
			w.raw("}")
		}
		w.raw("]")
		delete(w.open, t)
	}
	w.raw("}")
}

// unfinished reports whether a record, or one that is a part of it, is not defined
// completely yet, as in a recursive schema. Parsers cannot check a default of it
// then, and hamba/avro 2.31 fails badly: there is none.
func (w *Writer) unfinished(t *Type) bool {
	if t.Kind != Record {
		return false
	}
	for _, f := range t.Fields {
		if w.unfinished(f.Type) {
			return true
		}
	}
	return w.open[t]
}

func (w *Writer) doc(doc string) {
	if doc != "" && !w.canonical {
		w.raw(`,"doc":` + quote(doc))
	}
}
