package rest

import (
	"fmt"
	"net/url"
	"strings"
)

// A template is a path template in the grammar of google/api/http.proto:
//
//	Template = "/" Segments [ Verb ] ;
//	Segments = Segment { "/" Segment } ;
//	Segment  = "*" | "**" | LITERAL | Variable ;
//	Variable = "{" FieldPath [ "=" Segments ] "}" ;
//	FieldPath = IDENT { "." IDENT } ;
//	Verb     = ":" LITERAL ;
//
// Beyond it, "/" is a template: the path that has no segments, which is the
// same as that of one empty literal.
//
// The segments of variables stand among the others; a variable says which of
// them are its own.
type template struct {
	segments  []segment
	variables []variable
	verb      string // the text after the colon, decoded; "" if there is none
}

// A segment is one part of a template between slashes.
type segment struct {
	kind    segmentKind
	literal string // decoded
}

type segmentKind uint8

const (
	literal segmentKind = iota
	one                 // *, one segment that is not empty
	rest                // **, all that is left, be it nothing; it comes last
)

// A variable is a part of the path that fills a field.
type variable struct {
	path       string // the field's, as written: book.name
	first, end int    // its segments
	// many is set if the value may have slashes. Then %2F in the path is no
	// slash of the value but stays as it is, so that the two can be told apart.
	many bool
}

// parseTemplate reads a path template.
func parseTemplate(pattern string) (*template, error) {
	t := &template{}
	if err := t.parse(pattern); err != nil {
		return nil, fmt.Errorf("path template %q: %w", pattern, err)
	}
	return t, nil
}

func (t *template) parse(pattern string) error {
	if pattern == "/" {
		t.segments = []segment{{kind: literal}}
		return nil
	}
	s, ok := strings.CutPrefix(pattern, "/")
	if !ok {
		return fmt.Errorf("it does not begin with /")
	}
	for more := true; more; {
		var err error
		if strings.HasPrefix(s, "{") {
			s, err = t.parseVariable(s)
		} else {
			s, err = t.parseSegment(s)
		}
		if err != nil {
			return err
		}
		s, more = strings.CutPrefix(s, "/")
	}
	if verb, ok := strings.CutPrefix(s, ":"); ok {
		text, err := parseLiteral(verb)
		if err != nil {
			return fmt.Errorf("verb: %w", err)
		}
		t.verb = text
	}
	for i, seg := range t.segments {
		if seg.kind == rest && i < len(t.segments)-1 {
			return fmt.Errorf("** is not the last segment")
		}
	}
	return nil
}

// parseSegment reads a segment that is no variable and returns what follows:
// a slash and more, a colon and the verb, or nothing.
func (t *template) parseSegment(s string) (string, error) {
	seg, tail := s, ""
	if i := strings.IndexByte(s, '/'); i >= 0 {
		seg, tail = s[:i], s[i:]
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 { // only the last segment has a verb
		seg, tail = s[:i], s[i:]
	}
	return tail, t.add(seg)
}

func (t *template) add(seg string) error {
	switch seg {
	case "*":
		t.segments = append(t.segments, segment{kind: one})
	case "**":
		t.segments = append(t.segments, segment{kind: rest})
	default:
		text, err := parseLiteral(seg)
		if err != nil {
			return err
		}
		t.segments = append(t.segments, segment{literal: text})
	}
	return nil
}

// parseVariable reads a variable and returns what follows.
func (t *template) parseVariable(s string) (string, error) {
	inner, tail, closed := strings.Cut(s[1:], "}")
	if !closed {
		return "", fmt.Errorf("%q is not closed by }", s)
	}
	if strings.Contains(inner, "{") {
		return "", fmt.Errorf("a variable is within variable {%s}", inner)
	}
	if tail != "" && tail[0] != '/' && tail[0] != ':' {
		return "", fmt.Errorf("%q follows variable {%s} within one segment", tail, inner)
	}
	if tail != "" && tail[0] == ':' && strings.Contains(tail, "/") {
		return "", fmt.Errorf("the verb after variable {%s} is not at the end", inner)
	}
	path, pattern, hasPattern := strings.Cut(inner, "=")
	for name := range strings.SplitSeq(path, ".") {
		if !isIdentifier(name) {
			return "", fmt.Errorf("variable {%s} is not the name of a field", inner)
		}
	}
	if !hasPattern {
		pattern = "*"
	}
	v := variable{path: path, first: len(t.segments)}
	for seg := range strings.SplitSeq(pattern, "/") {
		if err := t.add(seg); err != nil {
			return "", fmt.Errorf("variable {%s}: %w", inner, err)
		}
	}
	v.end = len(t.segments)
	v.many = v.end-v.first > 1 || t.segments[v.first].kind == rest
	for _, seg := range t.segments[v.first:v.end] {
		if v.many && strings.Contains(seg.literal, "/") {
			return "", fmt.Errorf("variable {%s}: a slash in %q would be one of the value's", inner, seg.literal)
		}
	}
	t.variables = append(t.variables, v)
	return tail, nil
}

func parseLiteral(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("it has an empty segment or verb")
	}
	for _, r := range s {
		switch {
		case r == '*':
			return "", fmt.Errorf("%q: a wildcard is a segment by itself, * or **", s)
		case r <= ' ' || r == 0x7f || strings.ContainsRune(`{}?#"<>\^|`+"`", r):
			return "", fmt.Errorf("%q contains %q", s, r)
		}
	}
	text, err := url.PathUnescape(s)
	if err != nil {
		return "", fmt.Errorf("%q: %w", s, err)
	}
	return text, nil
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// endsInRest reports whether the variable takes all that is left of the path.
func (t *template) endsInRest(v variable) bool { return t.segments[v.end-1].kind == rest }

// inVariable reports whether segment i belongs to a variable.
func (t *template) inVariable(i int) bool {
	for _, v := range t.variables {
		if v.first <= i && i < v.end {
			return true
		}
	}
	return false
}

// expand makes the path that the template matches with these values of its
// variables. A wildcard that belongs to no variable is "-". An error names the
// variable whose value does not suit its pattern.
func (t *template) expand(values []string) (string, error) {
	b := make([]byte, 0, 64)
	for i := 0; i < len(t.segments); {
		if len(values) > 0 {
			if v := t.variables[len(t.variables)-len(values)]; v.first == i {
				var err error
				if b, err = t.expandVariable(b, v, values[0]); err != nil {
					return "", err
				}
				i, values = v.end, values[1:]
				continue
			}
		}
		switch seg := t.segments[i]; seg.kind {
		case literal:
			b = appendEscaped(append(b, '/'), seg.literal)
		case one:
			b = append(b, '/', '-')
		case rest: // may be nothing
		}
		i++
	}
	if len(b) == 0 { // from ** alone
		b = append(b, '/')
	}
	if t.verb != "" {
		b = appendEscaped(append(b, ':'), t.verb)
	}
	return string(b), nil
}

func (t *template) expandVariable(b []byte, v variable, value string) ([]byte, error) {
	segs := t.segments[v.first:v.end]
	if !v.many {
		if !segs[0].matches(value) {
			return nil, t.unsuitable(v, value)
		}
		return appendEscaped(append(b, '/'), value), nil
	}
	left, more := value, value != "" || segs[0].kind != rest
	for _, seg := range segs {
		if seg.kind == rest {
			break
		}
		var part string
		if !more {
			return nil, t.unsuitable(v, value)
		}
		if part, left, more = strings.Cut(left, "/"); !seg.matches(part) {
			return nil, t.unsuitable(v, value)
		}
		b = appendEscaped(append(b, '/'), part)
	}
	if more && segs[len(segs)-1].kind != rest {
		return nil, t.unsuitable(v, value)
	}
	for more {
		var part string
		part, left, more = strings.Cut(left, "/")
		b = appendEscaped(append(b, '/'), part)
	}
	return b, nil
}

func (s segment) matches(text string) bool {
	return s.kind == literal && s.literal == text || s.kind == one && text != ""
}

func (t *template) unsuitable(v variable, value string) error {
	if value == "" {
		return fmt.Errorf("field %s is empty, which the path has no way to say", v.path)
	}
	return fmt.Errorf("field %s is %q, which is not of the form %s", v.path, value, t.patternOf(v))
}

// patternOf is the part of the template that v has to match.
func (t *template) patternOf(v variable) string {
	parts := make([]string, 0, v.end-v.first)
	for _, seg := range t.segments[v.first:v.end] {
		parts = append(parts, [...]string{literal: seg.literal, one: "*", rest: "**"}[seg.kind])
	}
	return strings.Join(parts, "/")
}

// appendEscaped escapes one segment: all but what RFC 3986, section 2.3 calls
// unreserved, as http.proto asks. The segments . and .. would be taken for steps
// in a hierarchy (section 5.2.4), so their dots are escaped too.
func appendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	dots := s == "." || s == ".."
	for i := range len(s) {
		c := s[i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '~' || c == '.' && !dots {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// unescapeMany decodes the value of a variable of many segments, in which %2F
// stays as it is. Its escapes are well formed.
func unescapeMany(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if c = unhex(s[i+1])<<4 | unhex(s[i+2]); c != '/' {
				i += 2
			} else {
				c = '%'
			}
		}
		b = append(b, c)
	}
	return string(b)
}

func wellEscaped(s string) bool {
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			return true
		}
		if s = s[i+1:]; len(s) < 2 || unhex(s[0]) > 15 || unhex(s[1]) > 15 {
			return false
		}
	}
}

// unhex is the value of a hexadecimal digit, more than 15 for anything else.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
