package json

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/codec/internal/text"
	"github.com/everywire/everywire/schema"
)

// A decoder reads one JSON text. Plain structs, generated messages and
// documents are all read by its methods; each reads one value, and leaves pos
// behind it.
type decoder struct {
	data    []byte
	pos     int
	named   int // where the name stands that member read last
	depth   int
	reread  int    // bytes read or copied once more for an Any; see moreOfAny
	scratch []byte // the last string that had escapes
	names   members.Interner
}

// errorf makes an error at an offset.
func (d *decoder) errorf(offset int, format string, args ...any) error {
	return &Error{offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// here describes the character at pos.
func (d *decoder) here() string {
	if d.pos >= len(d.data) {
		return "the end of the text"
	}
	r, size := utf8.DecodeRune(d.data[d.pos:])
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("byte 0x%02x", d.data[d.pos])
	}
	return fmt.Sprintf("%q", r)
}

// syntax is the error of finding something else than what was wanted at pos.
func (d *decoder) syntax(want string) error {
	return d.errorf(d.pos, "%s where %s should be", d.here(), want)
}

// mismatch is the error of a value at pos that is not what the field holds.
func (d *decoder) mismatch(want string) error {
	start := d.pos
	var what string
	switch d.peek() {
	case '{':
		what = "an object"
	case '[':
		what = "an array"
	default:
		start = d.pos
		if err := d.skip(); err != nil {
			return err
		}
		what = text.Short(string(d.data[start:d.pos]))
	}
	return d.errorf(start, "%s is not %s", what, want)
}

func (d *decoder) space() {
	for d.pos < len(d.data) {
		switch d.data[d.pos] {
		case ' ', '\n', '\r', '\t':
			d.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (d *decoder) peek() byte {
	if d.pos < len(d.data) {
		if c := d.data[d.pos]; c > ' ' {
			return c
		}
	}
	d.space()
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// enter reads the bracket that opens an object or array.
func (d *decoder) enter(bracket byte, want string) error {
	if d.peek() != bracket {
		return d.mismatch(want)
	}
	if d.depth++; d.depth > schema.MaxDepth {
		return d.errorf(d.pos, "nested more than %d deep", schema.MaxDepth)
	}
	d.pos++
	return nil
}

// member reads up to the value of an object's next member and returns its
// name, which is valid until the next string is read. It returns false when it
// has read the closing brace.
func (d *decoder) member(first bool) (name []byte, ok bool, err error) {
	c := d.peek()
	switch {
	case c == '}':
		d.pos++
		d.depth--
		return nil, false, nil
	case first:
	case c == ',':
		d.pos++
		c = d.peek()
	default:
		return nil, false, d.syntax("',' or '}'")
	}
	if c != '"' {
		return nil, false, d.syntax("a member's name")
	}
	d.named = d.pos
	if name, err = d.str(); err != nil {
		return nil, false, err
	}
	if d.peek() != ':' {
		return nil, false, d.syntax("':'")
	}
	d.pos++
	return name, true, nil
}

// element reads up to an array's next element. It returns false when it has
// read the closing bracket.
func (d *decoder) element(first bool) (bool, error) {
	switch c := d.peek(); {
	case c == ']':
		d.pos++
		d.depth--
		return false, nil
	case first:
	case c == ',':
		d.pos++
	default:
		return false, d.syntax("',' or ']'")
	}
	return true, nil
}

// null reads a null if there is one.
func (d *decoder) null() bool {
	if d.peek() == 'n' && bytes.HasPrefix(d.data[d.pos:], []byte("null")) {
		d.pos += 4
		return true
	}
	return false
}

func (d *decoder) bool() (bool, error) {
	switch d.peek() {
	case 't':
		return true, d.literal("true")
	case 'f':
		return false, d.literal("false")
	}
	return false, d.mismatch("a bool")
}

func (d *decoder) literal(word string) error {
	if !bytes.HasPrefix(d.data[d.pos:], []byte(word)) {
		return d.syntax("a value")
	}
	d.pos += len(word)
	return nil
}

// text reads a string, as str does, or says that the value is no string.
func (d *decoder) text(want string) ([]byte, error) {
	if d.peek() != '"' {
		return nil, d.mismatch(want)
	}
	return d.str()
}

// str reads the string at pos and returns its content. That is a part of the
// input, or scratch if there were escapes: it is valid until the next string.
func (d *decoder) str() ([]byte, error) {
	start := d.pos + 1
	n, ascii := plainLen(d.data[start:])
	i := start + n
	if i == len(d.data) {
		d.pos = i
		return nil, d.errorf(i, "the text ends inside a string")
	}
	switch c := d.data[i]; c {
	case '"':
		s := d.data[start:i]
		if !ascii && !utf8.Valid(s) {
			return nil, d.badUTF8(start, i)
		}
		d.pos = i + 1
		return s, nil
	case '\\':
		return d.escaped(start, i)
	default:
		d.pos = i
		return nil, d.errorf(i, "control character %#02x inside a string", c)
	}
}

func (d *decoder) badUTF8(start, end int) error {
	for i := start; i < end; {
		r, size := utf8.DecodeRune(d.data[i:end])
		if r == utf8.RuneError && size <= 1 {
			return d.errorf(i, "byte 0x%02x is not UTF-8", d.data[i])
		}
		i += size
	}
	return d.errorf(start, "the string is not UTF-8")
}

// escaped is str from the first backslash, at i, on.
func (d *decoder) escaped(start, i int) ([]byte, error) {
	b := d.scratch[:0]
	b = append(b, d.data[start:i]...)
	for i < len(d.data) {
		c := d.data[i]
		switch {
		case c == '"':
			d.scratch = b
			if !utf8.Valid(b) {
				return nil, d.badUTF8(start, i)
			}
			d.pos = i + 1
			return b, nil
		case c < ' ':
			return nil, d.errorf(i, "control character %#02x inside a string", c)
		case c != '\\':
			b = append(b, c)
			i++
			continue
		}
		if i+1 >= len(d.data) {
			break
		}
		switch c := d.data[i+1]; c {
		case '"', '\\', '/':
			b = append(b, c)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, ok := d.hex4(i + 2)
			if !ok {
				return nil, d.errorf(i, `\u without four hexadecimal digits`)
			}
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if bytes.HasPrefix(d.data[i+6:], []byte(`\u`)) {
					low, ok = d.hex4(i + 8)
				}
				r2 := utf16.DecodeRune(r, low)
				if !ok || r2 == utf8.RuneError {
					return nil, d.errorf(i, `half a surrogate pair: \u%04x`, r)
				}
				r = r2
				i += 6
			}
			b = utf8.AppendRune(b, r)
			i += 4
		default:
			return nil, d.errorf(i, "unknown escape \\%c", c)
		}
		i += 2
	}
	d.pos = len(d.data)
	return nil, d.errorf(d.pos, "the text ends inside a string")
}

func (d *decoder) hex4(i int) (r rune, ok bool) {
	if i+4 > len(d.data) {
		return 0, false
	}
	for _, c := range d.data[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// skip reads and checks a value that nobody wants.
func (d *decoder) skip() error {
	switch c := d.peek(); {
	case c == '"':
		_, err := d.str()
		return err
	case c == '-' || c >= '0' && c <= '9':
		_, _, err := d.number()
		return err
	case c == 't':
		return d.literal("true")
	case c == 'f':
		return d.literal("false")
	case c == 'n':
		return d.literal("null")
	case c == '[':
		if err := d.enter('[', ""); err != nil {
			return err
		}
		for i := 0; ; i++ {
			if ok, err := d.element(i == 0); err != nil || !ok {
				return err
			}
			if err := d.skip(); err != nil {
				return atIndex(err, i)
			}
		}
	case c == '{':
		if err := d.enter('{', ""); err != nil {
			return err
		}
		var seen members.Names
		for first := true; ; first = false {
			name, ok, err := d.member(first)
			if err != nil || !ok {
				return err
			}
			if err := d.skipMember(&seen, name); err != nil {
				return err
			}
		}
	}
	return d.syntax("a value")
}

// skipMember skips the value of a member that nobody knows.
func (d *decoder) skipMember(seen *members.Names, name []byte) error {
	if !seen.Add(name) {
		return d.duplicate(name)
	}
	// The name may be in scratch, which the value may overwrite.
	shown := text.Short(string(name[:min(len(name), 64)]))
	if err := d.skip(); err != nil {
		return atKey(err, shown)
	}
	return nil
}

// duplicate is the error for a name that stands twice in one object; the
// second has just been read.
func (d *decoder) duplicate(name []byte) error {
	return d.errorf(d.named, "the name %q stands twice in one object", text.Short(string(name)))
}
