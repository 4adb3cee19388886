package rest

import (
	"fmt"
	"net/url"
	"strings"
)

// A segment is one part of a path template between slashes: a literal, decoded,
// or a variable that is bound to a field.
type segment struct {
	literal  string
	variable string // the field's name as written, "" for a literal
}

// parseTemplate reads a path template of google.api.http. What that grammar
// has and this package does not take is refused by name, never ignored.
func parseTemplate(pattern string) ([]segment, error) {
	rest, ok := strings.CutPrefix(pattern, "/")
	if !ok {
		return nil, fmt.Errorf("path template %q does not begin with /", pattern)
	}
	var segs []segment
	for more := true; more; {
		var seg segment
		var err error
		if strings.HasPrefix(rest, "{") {
			seg, rest, err = parseVariable(rest)
		} else {
			seg, rest, err = parseLiteral(rest)
		}
		if err != nil {
			return nil, fmt.Errorf("path template %q: %w", pattern, err)
		}
		segs = append(segs, seg)
		rest, more = strings.CutPrefix(rest, "/")
	}
	return segs, nil
}

// parseVariable reads {field} or {field=*} at the start of s and returns what
// follows, which is "" or begins with a slash.
func parseVariable(s string) (segment, string, error) {
	inner, rest, ok := strings.Cut(s[1:], "}")
	if !ok {
		return segment{}, "", fmt.Errorf("%q is not closed by }", s)
	}
	name, sub, hasSub := strings.Cut(inner, "=")
	switch {
	case hasSub && sub != "*":
		return segment{}, "", fmt.Errorf("variable {%s} spans several segments, which is not supported: only {field} and {field=*} are", inner)
	case strings.Contains(name, "."):
		return segment{}, "", fmt.Errorf("variable {%s} is a field of a field, which is not supported", inner)
	case !isIdentifier(name):
		return segment{}, "", fmt.Errorf("variable {%s} is not the name of a field", inner)
	case strings.HasPrefix(rest, ":"):
		return segment{}, "", fmt.Errorf("the verb %q is not supported", rest)
	case rest != "" && rest[0] != '/':
		return segment{}, "", fmt.Errorf("%q follows variable {%s} within one segment", rest, inner)
	}
	return segment{variable: name}, rest, nil
}

func parseLiteral(s string) (segment, string, error) {
	lit, rest := s, ""
	if i := strings.IndexByte(s, '/'); i >= 0 {
		lit, rest = s[:i], s[i:]
	}
	if lit == "" {
		return segment{}, "", fmt.Errorf("it has an empty segment")
	}
	for _, r := range lit {
		switch {
		case r == '*':
			return segment{}, "", fmt.Errorf("the wildcard %q without a field is not supported", lit)
		case r == ':':
			return segment{}, "", fmt.Errorf("%q: a verb after a colon is not supported", lit)
		case r <= ' ' || r == 0x7f || strings.ContainsRune(`{}?#"<>\^|`+"`", r):
			return segment{}, "", fmt.Errorf("segment %q contains %q", lit, r)
		}
	}
	dec, err := url.PathUnescape(lit)
	if err != nil {
		return segment{}, "", fmt.Errorf("segment %q: %w", lit, err)
	}
	return segment{literal: dec}, rest, nil
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
