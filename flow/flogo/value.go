package flogo

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// term reads a mapping: a constant, an expression behind "=", or an object of
// mappings. What is wrong is noted.
func (r *reader) term(n *node, s scope) (term, bool) {
	switch n.kind {
	case null, boolean, number:
		return r.constant(n)
	case text:
		if !strings.HasPrefix(n.text, "=") {
			t := textTerm(n.text)
			t.sure = true
			return t, true
		}
		t, err := translate(n.text[1:], s)
		if err != nil {
			r.problem(n, 1, err)
			return term{}, false
		}
		return t, true
	case object:
		if m := n.get("mapping"); m != nil && len(n.members) == 1 {
			return r.mapping(m, s)
		}
		for _, m := range n.members { // conditions of newer versions
			if strings.HasPrefix(m.key, "@") {
				r.bad(m.at, "%s is not read: use an expression, condition ? a : b", shown(m.key))
				return term{}, false
			}
		}
	}
	return r.whole(n, func(item *node) (term, bool) {
		if item.kind == text {
			return textTerm(item.text), true // as it is
		}
		return r.term(item, s)
	})
}

// problem notes what is wrong with an expression that begins at a byte of a text.
func (r *reader) problem(n *node, from int, err *problem) {
	r.bad(within(r.src, n, from+err.at), "%s", err.text).Allowed = err.allowed
}

func (r *reader) constant(n *node) (term, bool) {
	var v any
	switch n.kind { //nolint:exhaustive // the others are no constants
	case boolean:
		v = n.text == "true"
	case number:
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil {
			v = i
		} else if f, err := strconv.ParseFloat(n.text, 64); err == nil && !math.IsInf(f, 0) {
			v = f
		} else {
			r.bad(n.at, "the number %v is beyond those that can be computed with", n)
			return term{}, false
		}
	}
	t := literal(v)
	t.sure = v != nil
	return t, true
}

// mapping reads what is below "mapping", where all texts may be expressions.
func (r *reader) mapping(n *node, s scope) (term, bool) {
	if n.kind != object && n.kind != list {
		return r.term(n, s)
	}
	for _, m := range n.members {
		if strings.HasPrefix(m.key, "@") {
			r.bad(m.at, "%s is not read: map each member, or have a service make the list", shown(m.key))
			return term{}, false
		}
	}
	return r.whole(n, func(item *node) (term, bool) { return r.mapping(item, s) })
}

// whole reads an object or a list.
func (r *reader) whole(n *node, each func(*node) (term, bool)) (term, bool) {
	out, good := &made{at: n.at, kind: n.kind}, true
	for _, m := range n.members {
		t, ok := each(m.value)
		if good = good && ok; ok {
			out.put(m.key, m.at, emit(t, m.value.at))
		}
	}
	for _, item := range n.items {
		t, ok := each(item)
		if good = good && ok; ok {
			out.items = append(out.items, emit(t, item.at))
		}
	}
	return term{whole: out, sure: true}, good
}

const openMark = "${{"

// emit writes a term as a value of the flow file.
func emit(t term, at int) *made {
	switch {
	case t.whole != nil:
		return t.whole
	case t.literal && t.typ == stringType:
		if s := t.value.(string); !strings.Contains(s, openMark) { //nolint:forcetypeassert // as its type says
			return say(at, s)
		}
	case t.literal:
		return word(at, t.text)
	case len(t.parts) == 1:
		t = t.parts[0].asText()
	case len(t.parts) > 1:
		if s, ok := template(t.parts); ok {
			return say(at, s)
		}
	}
	return say(at, openMark+" "+t.text+" }}")
}

// template writes texts that are joined as a text with expressions in it. It reports
// false if a constant would look like the mark of an expression.
func template(parts []term) (string, bool) {
	var b strings.Builder
	marks := 0
	for _, p := range parts {
		if s, ok := p.value.(string); ok {
			b.WriteString(s)
			continue
		}
		marks += 1 + strings.Count(p.text, openMark)
		b.WriteString(openMark + " " + p.text + " }}")
	}
	return b.String(), strings.Count(b.String(), openMark) == marks
}

// as makes a term one of a type, as Flogo does by itself, if its type is known.
func (t term) as(want typ) term {
	switch {
	case t.whole != nil || t.typ == want || want == anyType || t.typ == anyType:
		return t
	case t.literal:
		if p := (property{typ: want}); p.parse(plain(t.value)) {
			l := literal(p.value)
			l.sure = true
			return l
		}
	case want == stringType:
		s := t.asText()
		s.sure = t.sure
		return s
	case want == intType && t.typ != boolType:
		return term{text: "int(" + t.text + ")", level: atomLevel, typ: intType, sure: t.sure}
	case want == floatType && t.typ == stringType:
		return term{text: "float(" + t.text + ")", level: atomLevel, typ: floatType, sure: t.sure}
	}
	return t
}

// plain is a constant as Flogo makes it a text.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// propertyTerm is $property[name].
func (r *reader) propertyTerm(ref ref, constants bool) (term, *problem) {
	parts := []string{ref.item}
	if ref.item == "" {
		parts = nil
	}
	for _, s := range ref.path {
		parts = append(parts, s.name)
	}
	name := strings.Join(parts, ".")
	p := r.propertyOf[name]
	if p == nil {
		err := wrong(ref.at, "the app has no property %s", shown(name))
		for known := range r.propertyOf {
			err.allowed = append(err.allowed, known)
		}
		return term{}, err
	}
	if constants {
		return literal(p.value), nil
	}
	t := atom("settings."+p.name, p.typ)
	t.sure = true
	return t, nil
}

// common is the scope of what all expressions can name. others are told by it.
func (r *reader) common(ref ref, allowed ...string) (term, *problem) {
	switch ref.resolver {
	case "property":
		return r.propertyTerm(ref, false)
	case "env":
		return term{}, wrong(ref.at, "environment variables are not read: make it a property, which --set gives another value")
	}
	name := "$" + ref.resolver
	if ref.resolver == "" {
		name = "$."
	}
	err := wrong(ref.at, "%s cannot be named here", name)
	err.allowed = slices.Concat(allowed, []string{"$property[…]"})
	return term{}, err
}

// constText reads a text that must be known before the app runs. It reports false
// if it has noted an error or there is none.
func (r *reader) constText(n *node) (string, bool) {
	if n == nil {
		return "", false
	}
	t, ok := r.term(n, func(ref ref) (term, *problem) {
		if ref.resolver == "property" {
			return r.propertyTerm(ref, true)
		}
		return r.common(ref)
	})
	switch {
	case !ok:
		return "", false
	case t.literal && t.value != nil:
		return plain(t.value), true
	case t.parts != nil:
		var s strings.Builder
		for _, p := range t.parts {
			if !p.literal {
				r.bad(n.at, "this must be known before the app runs: only properties and constants can be joined")
				return "", false
			}
			s.WriteString(plain(p.value))
		}
		return s.String(), true
	}
	r.bad(n.at, "this must be a text that is known before the app runs")
	return "", false
}

// flag reads a setting that is true or false, also as a text.
func (r *reader) flag(n *node, key string) bool {
	v := n.get(key)
	if v == nil || empty(v) {
		return false
	}
	s, ok := r.constText(v)
	on, err := strconv.ParseBool(s)
	if ok && err != nil {
		r.bad(v.at, "%q is true or false, not %v", key, v)
	}
	return on
}
