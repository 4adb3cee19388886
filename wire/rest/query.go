package rest

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire/schema"
)

// A style is how a query parameter's name says which part of its field it is.
type style uint8

const (
	plainName style = iota // a=1, and a=2 for the next of a list
	brackets               // a[]=1
	byIndex                // a[0]=1
	byKey                  // a[key]=1, of a map
)

// maxNesting is how deep a parameter's field may be: a.b is 2 deep.
const maxNesting = 64

// parseQuery adds the query's parameters.
func (b *builder) parseQuery(e *endpoint, query string) {
	for query != "" {
		var part string
		part, query, _ = strings.Cut(query, "&")
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(key)
		if err != nil {
			b.refuse(&pair{in: inQuery, name: key}, err.Error())
			continue
		}
		p := pair{in: inQuery, name: name}
		if why := b.resolve(e, &p); why != "" {
			b.refuse(&p, why)
			continue
		}
		if p.value, err = url.QueryUnescape(value); err != nil {
			b.refuse(&p, err.Error())
			continue
		}
		b.pairs = append(b.pairs, p)
	}
}

// resolve finds the field that a parameter's name means, or says why there is
// none.
func (b *builder) resolve(e *endpoint, p *pair) (why string) {
	start := len(b.chain)
	defer func() {
		p.chain = b.chain[start:len(b.chain):len(b.chain)]
	}()
	at := e.input
	for left := p.name; ; {
		end := strings.IndexAny(left, ".[")
		name := left
		if end >= 0 {
			name = left[:end]
		}
		f := at.byQuery[name]
		if f == nil {
			return e.verb + " " + e.pattern + " has no such parameter"
		}
		b.chain = append(b.chain, f)
		if len(b.chain) == start+1 {
			if why := e.outsideQuery(f); why != "" {
				return why
			}
		}
		switch {
		case end >= 0 && left[end] == '[':
			return p.bracketed(f, left[end:])
		case end < 0:
			return p.bare(f)
		case f.message == nil:
			return "field " + f.name + " is no message that has fields"
		case len(b.chain)-start == maxNesting:
			return "it is nested more than " + strconv.Itoa(maxNesting) + " deep"
		}
		at, left = f.message, left[end+1:]
	}
}

// outsideQuery says why a field of the request does not stand in the query.
func (e *endpoint) outsideQuery(f *field) string {
	switch {
	case e.wholeBody && f.place.In != schema.InQuery:
		return e.verb + " " + e.pattern + " takes this field from the body"
	case f == e.bodyField:
		return "the body fills this field"
	case f.place.In == schema.InHeader && !e.inPath(f):
		return "the field stands in the header " + f.place.Name
	case f.place.In == schema.InCookie && !e.inPath(f):
		return "the field stands in the cookie " + f.place.Name
	}
	return ""
}

// bare is for a name without brackets.
func (p *pair) bare(f *field) string {
	switch {
	case f.isMap && f.form != noForm:
		return "the field is a map: write " + p.name + "[KEY]=VALUE"
	case f.message != nil && len(f.message.all) > 0:
		return "the field is a message: write " + p.name + ".FIELD=VALUE"
	case f.form == noForm:
		return noText
	}
	return ""
}

const noText = "the field has a message or document for a value, which cannot be in a query"

// bracketed reads what follows a list's or map's name, from the bracket on.
func (p *pair) bracketed(f *field, text string) string {
	inner, closed := strings.CutSuffix(text[1:], "]")
	switch {
	case f.form == noForm:
		return noText
	case !closed:
		return "a name with [ ends in ]"
	case f.isMap:
		p.style, p.key = byKey, inner
		if !utf8.ValidString(inner) {
			return "the key is not valid UTF-8"
		}
	case !f.list:
		return "the field is no list or map"
	case inner == "":
		p.style = brackets
	default:
		n, err := strconv.ParseUint(inner, 10, 31)
		if err != nil || inner[0] == '0' && inner != "0" {
			return strconv.Quote(inner) + " is no index"
		}
		p.style, p.index = byIndex, int(n)
	}
	return ""
}

// sort brings the values of each field together; those of one field keep their
// order.
func (b *builder) sort() {
	slices.SortStableFunc(b.pairs, func(x, y pair) int {
		for i := range min(len(x.chain), len(y.chain)) {
			if d := x.chain[i].index - y.chain[i].index; d != 0 {
				return d
			}
		}
		return len(x.chain) - len(y.chain)
	})
}

// checkGroup checks the values of one field against each other, and puts those
// of a list into the order of their indexes. It notes the first thing that is
// wrong with them, and reports whether all is well.
func (b *builder) checkGroup(group []pair) bool {
	p, why := faultOf(group)
	if why != "" {
		b.refuse(p, why)
	}
	return why == ""
}

func faultOf(group []pair) (p *pair, why string) {
	for i := range group {
		if !utf8.ValidString(group[i].value) {
			return &group[i], "the value is not valid UTF-8"
		}
	}
	if len(group) == 1 && group[0].style != byIndex {
		return nil, ""
	}
	last := &group[len(group)-1] // a parameter of the query, if any is
	switch f := last.leaf(); {
	case f.isMap:
		slices.SortStableFunc(group, func(x, y pair) int { return cmp.Compare(x.key, y.key) })
		for i := range group[1:] {
			if group[i].key == group[i+1].key {
				return &group[i+1], givenTwice
			}
		}
		return nil, ""
	case !f.list && group[0].in == inPath:
		return last, "the path fills this field already"
	case !f.list:
		return last, givenTwice
	}
	return faultOfList(group)
}

const givenTwice = "it is given more than once"

func faultOfList(group []pair) (p *pair, why string) {
	for i := range group {
		if group[i].style != group[0].style {
			return &group[i], "the list is written in another way before, as " + group[0].name
		}
	}
	if group[0].style != byIndex {
		return nil, ""
	}
	slices.SortStableFunc(group, func(x, y pair) int { return x.index - y.index })
	for i := range group {
		switch {
		case group[i].index < i:
			return &group[i], givenTwice
		case group[i].index > i:
			return &group[i], "index " + strconv.Itoa(i) + " is missing before it"
		}
	}
	return nil, ""
}

// unescape decodes percent-escapes of a value that is not in the query, and
// reports whether it could.
func (b *builder) unescape(p *pair) bool {
	text, err := url.PathUnescape(p.value)
	if err != nil {
		b.refuse(p, err.Error())
		return false
	}
	p.value = text
	return true
}
