package describe

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/everywire/everywire"
)

// A template is a route's path for OpenAPI, whose parameters are one segment
// each. A variable of google.api.http may be more: {name=shelves/*/books/*}
// becomes shelves/{name_1}/books/{name_2}, so that every client that fills in
// the parameters makes a path that the route matches.
type template []piece

// A piece is text, or a parameter.
type piece struct {
	text  string // as it stands in the path
	param string // the parameter's name
	field string // the request's field that it fills, or a part of; "" for none
	whole bool   // the parameter is all of the field's value
	many  bool   // it may be several segments, as ** is
}

// parseTemplate reads a pattern in the grammar of google.api.http.
func parseTemplate(pattern string) (template, error) {
	if !strings.HasPrefix(pattern, "/") {
		return nil, fmt.Errorf("path template %q does not begin with /", pattern)
	}
	var t template
	free := 0 // wildcards outside of variables
	for rest := pattern; rest != ""; {
		switch rest[0] {
		case '{':
			inner, after, ok := strings.Cut(rest[1:], "}")
			if !ok || inner == "" || strings.ContainsAny(inner, "{") {
				return nil, fmt.Errorf("path template %q: a variable is not closed by }", pattern)
			}
			t = append(t, variable(inner)...)
			rest = after
		case '*':
			free++
			stars := len(rest) - len(strings.TrimLeft(rest, "*"))
			t = append(t, piece{param: "segment_" + strconv.Itoa(free), many: stars > 1})
			rest = rest[stars:]
		default:
			end := strings.IndexAny(rest, "{*")
			if end < 0 {
				end = len(rest)
			}
			t = append(t, piece{text: rest[:end]})
			rest = rest[end:]
		}
	}
	return t, nil
}

// variable reads what is between braces.
func variable(inner string) template {
	field, pattern, has := strings.Cut(inner, "=")
	if !has {
		pattern = "*"
	}
	segments := strings.Split(pattern, "/")
	wild := strings.Count("/"+pattern, "/*")
	var t template
	n := 0
	for i, s := range segments {
		if i > 0 {
			t = append(t, piece{text: "/"})
		}
		if s != "*" && s != "**" {
			t = append(t, piece{text: s})
			continue
		}
		n++
		p := piece{param: field, field: field, many: s == "**", whole: len(segments) == 1}
		if wild > 1 {
			p.param += "_" + strconv.Itoa(n)
		}
		t = append(t, p)
	}
	if wild == 0 { // the field's value is always the same
		t = append(t, piece{field: field})
	}
	return t
}

// defaultTemplate is /SERVICE/NAME, whatever characters the names have.
func defaultTemplate(m *everywire.Method) template {
	return template{{text: "/" + url.PathEscape(m.Service) + "/" + url.PathEscape(m.Name)}}
}

// String is the path for OpenAPI.
func (t template) String() string { return t.write(func(p piece) string { return p.param }) }

// shape is what the template has in common with those that match the same paths.
func (t template) shape() string { return t.write(func(piece) string { return "" }) }

func (t template) write(name func(piece) string) string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.text)
		if p.param != "" {
			b.WriteString("{" + name(p) + "}")
		}
	}
	return b.String()
}

// params are the parameters in order.
func (t template) params() []piece {
	var all []piece
	for _, p := range t {
		if p.param != "" {
			all = append(all, p)
		}
	}
	return all
}
