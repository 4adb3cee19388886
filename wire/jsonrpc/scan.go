package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/everywire/everywire/schema"
)

// maxDepth bounds the nesting of an envelope: a message of the deepest kind
// inside params, inside a request, inside a batch, with one to spare for a
// positional array.
const maxDepth = schema.MaxDepth + 4

// A scanner walks over one JSON text and checks it against RFC 8259, without
// decoding and without allocating: what it hands out are slices of the text.
// Names within params and results are the codec's to check.
//
// An object is walked over by enter and then member until that says that there
// is no more, each member's value being read by value or another enter; an
// array by enter and element.
type scanner struct {
	data  []byte
	pos   int
	depth int
	// isObject says of each open level that value has entered whether it is an
	// object.
	isObject [(maxDepth + 64) / 64]uint64
}

// A syntaxError says what is no JSON and where.
type syntaxError struct {
	offset int
	what   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.what, e.offset) }

func (s *scanner) fail(what string) error { return &syntaxError{s.pos, what} }

// unexpected reports the byte at the scanner's position.
func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.data) {
		return s.fail("unexpected end of text, want " + want)
	}
	return s.fail(fmt.Sprintf("unexpected %q, want %s", s.data[s.pos], want))
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// peek skips white space and returns the byte there, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.pos < len(s.data); s.pos++ {
		if c := s.data[s.pos]; !isSpace(c) {
			return c
		}
	}
	return 0
}

// end checks that nothing follows.
func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.data) {
		return s.unexpected("the end of the text")
	}
	return nil
}

// value checks the value at the scanner's position and returns its text. It
// keeps the open levels in isObject and not on the stack: that is quicker, and
// what a peer nests costs no memory.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start, outer := s.pos, s.depth
	for {
		// c begins a value.
		switch c {
		case '{', '[':
			if err := s.enter(); err != nil {
				return nil, err
			}
			s.note(c == '{')
			next := s.peek()
			if next != c+2 { // the bracket that closes c
				if c == '{' {
					if _, err := s.name(); err != nil {
						return nil, err
					}
					next = s.peek()
				}
				c = next
				continue
			}
			s.pos++
			s.depth--
		case '"':
			if _, err := s.str(); err != nil {
				return nil, err
			}
		default:
			if err := s.scalar(c); err != nil {
				return nil, err
			}
		}
		// It has ended, and so may the values around it.
		for {
			if s.depth == outer {
				return s.data[start:s.pos], nil
			}
			object := s.inObject()
			c = s.peek()
			if c == ',' {
				s.pos++
				if object {
					s.peek()
					if _, err := s.name(); err != nil {
						return nil, err
					}
				}
				c = s.peek()
				break
			}
			switch {
			case object && c != '}':
				return nil, s.unexpected("',' or '}'")
			case !object && c != ']':
				return nil, s.unexpected("',' or ']'")
			}
			s.pos++
			s.depth--
		}
	}
}

func (s *scanner) note(object bool) {
	bit := uint64(1) << (s.depth % 64)
	if object {
		s.isObject[s.depth/64] |= bit
	} else {
		s.isObject[s.depth/64] &^= bit
	}
}

func (s *scanner) inObject() bool { return s.isObject[s.depth/64]>>(s.depth%64)&1 == 1 }

// scalar checks a value that begins with c and is no object, array or string.
func (s *scanner) scalar(c byte) error {
	switch {
	case c == '-' || isDigit(c):
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.unexpected("a value")
}

// enter goes into the object or array at the scanner's position.
func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return s.fail(fmt.Sprintf("values nested deeper than %d", maxDepth))
	}
	s.pos++
	return nil
}

// version enters an object that begins as most messages do, with the version
// of the protocol, and returns that member's value. Else it does nothing.
func (s *scanner) version() []byte {
	const head = `{"jsonrpc":"2.0"`
	if !bytes.HasPrefix(s.data[s.pos:], []byte(head)) || s.depth == maxDepth {
		return nil
	}
	s.depth++
	s.pos += len(head)
	return s.data[s.pos-len(`"2.0"`) : s.pos]
}

// member goes to the value of the next member and returns its name, still
// quoted. At the end of the object it leaves that, and ok is false. first is
// true for the first call after enter.
func (s *scanner) member(first bool) (quoted []byte, ok bool, err error) {
	switch c := s.peek(); {
	case c == '}':
		s.pos++
		s.depth--
		return nil, false, nil
	case first:
	case c == ',':
		s.pos++
		s.peek()
	default:
		return nil, false, s.unexpected("',' or '}'")
	}
	quoted, err = s.name()
	return quoted, err == nil, err
}

// element goes to the next element of an array, or leaves that; first is as
// for member.
func (s *scanner) element(first bool) (ok bool, err error) {
	switch c := s.peek(); {
	case c == ']':
		s.pos++
		s.depth--
		return false, nil
	case first:
	case c == ',':
		s.pos++
	default:
		return false, s.unexpected("',' or ']'")
	}
	return true, nil
}

// name reads a member's name and the colon behind it.
func (s *scanner) name() ([]byte, error) {
	if !s.at('"') {
		return nil, s.unexpected("a member name")
	}
	name, err := s.str()
	if err != nil {
		return nil, err
	}
	if s.peek() != ':' {
		return nil, s.unexpected("':'")
	}
	s.pos++
	return name, nil
}

// str checks the string at the scanner's position and returns it with its
// quotes.
func (s *scanner) str() ([]byte, error) {
	start := s.pos
	s.pos++
	for {
		s.pos = plainEnd(s.data, s.pos)
		if s.pos >= len(s.data) {
			return nil, s.unexpected("the end of a string")
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.data[start:s.pos], nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		case c < 0x20:
			return nil, s.fail(fmt.Sprintf("control character %q in a string", c))
		default:
			if err := s.beyondASCII(); err != nil {
				return nil, err
			}
		}
	}
}

// plainEnd returns where the ASCII characters end that mean themselves in a
// string. It takes eight at a time where there are so many.
func plainEnd(data []byte, pos int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for pos+8 <= len(data) {
		x := binary.LittleEndian.Uint64(data[pos:])
		quote, escape := x^('"'*ones), x^('\\'*ones)
		// A byte less than n sets its high bit in x-n*ones. One behind such a
		// byte may set it too, by the borrow, but the first is always right.
		if stop := (x | (x - 0x20*ones) | (quote - ones) | (escape - ones)) & highs; stop != 0 {
			return pos + bits.TrailingZeros64(stop)/8
		}
		pos += 8
	}
	for pos < len(data) {
		if c := data[pos]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
		pos++
	}
	return pos
}

// beyondEnd returns where the bytes end that are no ASCII.
func beyondEnd(data []byte, pos int) int {
	for pos < len(data) && data[pos] >= utf8.RuneSelf {
		pos++
	}
	return pos
}

// beyondASCII checks and skips the characters at the scanner's position that
// are no ASCII.
func (s *scanner) beyondASCII() error {
	end := beyondEnd(s.data, s.pos)
	if utf8.Valid(s.data[s.pos:end]) {
		s.pos = end
		return nil
	}
	for {
		r, n := utf8.DecodeRune(s.data[s.pos:])
		if r == utf8.RuneError && n == 1 {
			return s.fail("invalid UTF-8 in a string")
		}
		s.pos += n
	}
}

func (s *scanner) escape() error {
	rest := s.data[s.pos+1:]
	if len(rest) == 0 {
		s.pos = len(s.data)
		return s.unexpected("an escape")
	}
	switch rest[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		if len(rest) >= 5 && isHex(rest[1]) && isHex(rest[2]) && isHex(rest[3]) && isHex(rest[4]) {
			s.pos += 6
			return nil
		}
	}
	return s.fail("invalid escape in a string")
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (s *scanner) number() error {
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.at('.') {
		s.pos++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.data) && s.data[s.pos] == c }

func (s *scanner) digits() error {
	pos := s.pos
	for pos < len(s.data) && isDigit(s.data[pos]) {
		pos++
	}
	if pos == s.pos {
		return s.unexpected("a digit")
	}
	s.pos = pos
	return nil
}

func (s *scanner) literal(word string) error {
	for i := range len(word) {
		if !s.at(word[i]) {
			return s.unexpected(word)
		}
		s.pos++
	}
	return nil
}

// unquote returns the contents of a checked string. Only one with escapes is
// copied; an error says that the escapes make no Unicode text.
func unquote(quoted []byte) ([]byte, error) {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	return jsontext.AppendUnquote(nil, quoted)
}
