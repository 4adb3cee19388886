package flogo

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits on a file.
const (
	// MaxFile is how many bytes a file may have: designers keep pictures in them.
	MaxFile = 4 << 20
	// MaxNesting is how deeply objects and lists may nest.
	MaxNesting = 64
	// MaxMembers is how many members an object may have, and how many elements a list.
	MaxMembers = 1000
)

// A node is a value of a JSON text, with its place.
type node struct {
	kind    kind
	at      int    // its first byte
	text    string // of a string or a number, and true or false
	members []member
	items   []*node
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	object
	list
)

// String is the kind as errors call it.
func (n *node) String() string {
	switch n.kind {
	case null:
		return "null"
	case boolean, number:
		return n.text
	case text:
		return "the text " + shown(n.text)
	case object:
		return "an object"
	}
	return "a list"
}

// A member is one of an object.
type member struct {
	key   string
	at    int
	value *node
}

// get is the value of a member that is there and is not null, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key && m.value.kind != null {
			return m.value
		}
	}
	return nil
}

// shown is a text as errors show it.
func shown(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		s = string([]rune(s)[:60]) + "…"
	}
	return `"` + s + `"`
}

// A jsonError is what is wrong at a byte.
type jsonError struct {
	at   int
	text string
}

// parseJSON reads a JSON text. It is stricter than most: a name may be in an object once.
func parseJSON(src string) (*node, *jsonError) {
	p := &jsonParser{src: src, i: len(bom(src))}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.i < len(src) {
		return nil, p.bad("%s does not belong behind the end of the app", p.here())
	}
	return n, nil
}

// bom is the mark that some editors put before a text.
func bom(src string) string {
	if strings.HasPrefix(src, "\ufeff") {
		return "\ufeff"
	}
	return ""
}

type jsonParser struct {
	src string
	i   int
}

func (p *jsonParser) bad(format string, args ...any) *jsonError {
	return &jsonError{p.i, "this is not JSON: " + fmt.Sprintf(format, args...)}
}

// here is the next character as errors show it.
func (p *jsonParser) here() string {
	if p.i >= len(p.src) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.i:])
	return fmt.Sprintf("%q", r)
}

func (p *jsonParser) space() {
	for p.i < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.i]) >= 0 {
		p.i++
	}
}

// accept reads a character if it is the next.
func (p *jsonParser) accept(c byte) bool {
	p.space()
	if p.i < len(p.src) && p.src[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *jsonParser) value(depth int) (*node, *jsonError) {
	p.space()
	if depth > MaxNesting {
		return nil, &jsonError{p.i, fmt.Sprintf("the file nests more than %d deep", MaxNesting)}
	}
	n := &node{at: p.i}
	rest := p.src[p.i:]
	switch {
	case strings.HasPrefix(rest, "{"):
		n.kind = object
		return n, p.object(n, depth)
	case strings.HasPrefix(rest, "["):
		n.kind = list
		return n, p.list(n, depth)
	case strings.HasPrefix(rest, `"`):
		n.kind = text
		var err *jsonError
		n.text, err = p.string()
		return n, err
	}
	word := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."))]
	switch {
	case word == "null":
	case word == "true" || word == "false":
		n.kind, n.text = boolean, word
	case isNumber(word):
		n.kind, n.text = number, word
	case word == "":
		return nil, p.bad("a value should stand here, not %s", p.here())
	default:
		return nil, p.bad("%s is no value: texts are in double quotes", shown(word))
	}
	p.i += len(word)
	return n, nil
}

// isNumber checks the grammar of JSON's numbers.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, rest := digits(s)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		var fraction string
		if fraction, rest = digits(after); fraction == "" {
			return false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		var exponent string
		if exponent, rest = digits(rest); exponent == "" {
			return false
		}
	}
	return rest == ""
}

func digits(s string) (digits, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

func (p *jsonParser) object(n *node, depth int) *jsonError {
	p.i++
	if p.accept('}') {
		return nil
	}
	known := map[string]bool{}
	for {
		p.space()
		at := p.i
		if p.i >= len(p.src) || p.src[p.i] != '"' {
			return p.bad("the name of a member in double quotes should stand here, not %s", p.here())
		}
		key, err := p.string()
		if err != nil {
			return err
		}
		if known[key] {
			return &jsonError{at, fmt.Sprintf("%s is here twice in one object", shown(key))}
		}
		known[key] = true
		if !p.accept(':') {
			return p.bad("a colon should follow the name %s, not %s", shown(key), p.here())
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if len(n.members) == MaxMembers {
			return &jsonError{at, fmt.Sprintf("the object has more than %d members", MaxMembers)}
		}
		n.members = append(n.members, member{key, at, v})
		switch {
		case p.accept('}'):
			return nil
		case !p.accept(','):
			return p.bad("a comma or } should follow, not %s", p.here())
		}
	}
}

func (p *jsonParser) list(n *node, depth int) *jsonError {
	p.i++
	if p.accept(']') {
		return nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if len(n.items) == MaxMembers {
			return &jsonError{v.at, fmt.Sprintf("the list has more than %d elements", MaxMembers)}
		}
		n.items = append(n.items, v)
		switch {
		case p.accept(']'):
			return nil
		case !p.accept(','):
			return p.bad("a comma or ] should follow, not %s", p.here())
		}
	}
}

// string reads a text in quotes.
func (p *jsonParser) string() (string, *jsonError) {
	var b strings.Builder
	begin := p.i
	p.i++
	for p.i < len(p.src) {
		switch c := p.src[p.i]; {
		case c == '"':
			p.i++
			return b.String(), nil
		case c == '\\':
			r, n := escape(p.src[p.i:])
			if n == 0 {
				return "", p.bad(`a \ in a text is followed by one of " \ / b f n r t, or u and four digits`)
			}
			b.WriteRune(r)
			p.i += n
		case c < 0x20:
			return "", p.bad("a text has no line ends or control characters as they are: write \\n, \\t or \\u00%02x", c)
		default:
			b.WriteByte(c)
			p.i++
		}
	}
	p.i = begin
	return "", p.bad("the text that begins here has no end")
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one, and says how long it is: 0 if it is none.
func escape(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	if r, ok := escapes[s[1]]; ok {
		return r, 2
	}
	r, ok := hex(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// hex reads \u and four digits.
func hex(s string) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		i := strings.IndexByte("0123456789abcdef", c|0x20)
		if i < 0 || c < '0' {
			return 0, false
		}
		r = r<<4 | rune(i) //nolint:gosec // of sixteen
	}
	return r, true
}

// within is the byte of the file that a byte of a text's value comes from.
func within(src string, n *node, offset int) int {
	i := n.at + 1
	for offset > 0 && i < len(src) && src[i] != '"' {
		if src[i] != '\\' {
			i++
			offset--
			continue
		}
		r, length := escape(src[i:])
		if length == 0 {
			break
		}
		i += length
		offset -= utf8.RuneLen(r)
	}
	return i
}
