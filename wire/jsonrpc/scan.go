package jsonrpc

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/everywire/everywire/schema"
)

// maxDepth bounds the nesting of an envelope: a message of the deepest kind
// inside params, inside a request, inside a batch, with one to spare for a
// positional array.
const maxDepth = schema.MaxDepth + 4

// A scanner walks over one JSON text and checks it against RFC 8259, without
// decoding: what it hands out are slices of the text. Names within params and
// results are the codec's to check.
type scanner struct {
	data  []byte
	pos   int
	depth int
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

// value checks the value at the scanner's position and returns its text.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.pos
	var err error
	switch {
	case c == '{':
		err = s.object(func([]byte) error { _, err := s.value(); return err })
	case c == '[':
		err = s.array(func() error { _, err := s.value(); return err })
	case c == '"':
		_, err = s.str()
	case c == '-' || c >= '0' && c <= '9':
		err = s.number()
	case c == 't':
		err = s.literal("true")
	case c == 'f':
		err = s.literal("false")
	case c == 'n':
		err = s.literal("null")
	default:
		err = s.unexpected("a value")
	}
	if err != nil {
		return nil, err
	}
	return s.data[start:s.pos], nil
}

// object walks over an object; member is called with each name, still quoted,
// when the scanner stands before the value, which it must read.
func (s *scanner) object(member func(name []byte) error) error {
	if err := s.open(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		c := s.peek()
		if c == '}' && n == 0 {
			break
		}
		if c != '"' {
			return s.unexpected("a member name")
		}
		name, err := s.str()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.unexpected("':'")
		}
		s.pos++
		if err := member(name); err != nil {
			return err
		}
		if c = s.peek(); c == '}' {
			break
		}
		if c != ',' {
			return s.unexpected("',' or '}'")
		}
		s.pos++
	}
	s.pos++
	s.depth--
	return nil
}

// array walks over an array; element is called before each element, which it
// must read.
func (s *scanner) array(element func() error) error {
	if err := s.open(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n == 0 && s.peek() == ']' {
			break
		}
		if err := element(); err != nil {
			return err
		}
		c := s.peek()
		if c == ']' {
			break
		}
		if c != ',' {
			return s.unexpected("',' or ']'")
		}
		s.pos++
	}
	s.pos++
	s.depth--
	return nil
}

func (s *scanner) open() error {
	if s.depth++; s.depth > maxDepth {
		return s.fail(fmt.Sprintf("values nested deeper than %d", maxDepth))
	}
	s.pos++
	return nil
}

// str checks the string at the scanner's position and returns it with its
// quotes.
func (s *scanner) str() ([]byte, error) {
	start := s.pos
	s.pos++
	for s.pos < len(s.data) {
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
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && n == 1 {
				return nil, s.fail("invalid UTF-8 in a string")
			}
			s.pos += n
		}
	}
	return nil, s.unexpected("the end of a string")
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
	start := s.pos
	for s.pos < len(s.data) && isDigit(s.data[s.pos]) {
		s.pos++
	}
	if s.pos == start {
		return s.unexpected("a digit")
	}
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
