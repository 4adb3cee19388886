package flogo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A typ is what is known of a value before it is there.
type typ uint8

const (
	anyType typ = iota
	stringType
	intType
	floatType
	boolType
)

// A problem is what is wrong with an expression, at a byte of it.
type problem struct {
	at      int
	text    string
	allowed []string
}

func wrong(at int, format string, args ...any) *problem {
	return &problem{at: at, text: fmt.Sprintf(format, args...)}
}

// A term is a part of an expression as package expr has it.
type term struct {
	text  string
	level int // how tightly it binds
	typ   typ
	// literal is set for a constant, whose value is in value.
	literal bool
	value   any
	// sure is set if it is never null.
	sure bool
	// parts are those of texts that are joined.
	parts []term
	// whole is set instead of text for a value that no expression makes, such as an
	// object whose members are mapped.
	whole *made
}

// The levels of operators, as package expr has them.
const (
	orLevel = iota
	andLevel
	compareLevel
	addLevel
	multiplyLevel
	unaryLevel
	atomLevel
)

func atom(text string, t typ) term { return term{text: text, level: atomLevel, typ: t} }

// in is the term as an operand of at least some level.
func (t term) in(level int) string {
	if t.level < level {
		return "(" + t.text + ")"
	}
	return t.text
}

func textTerm(s string) term {
	return term{text: "'" + strings.ReplaceAll(s, "'", "''") + "'", level: atomLevel, typ: stringType, literal: true, value: s}
}

// literal is a constant as a term.
func literal(v any) term {
	switch v := v.(type) {
	case string:
		return textTerm(v)
	case bool:
		return term{text: strconv.FormatBool(v), level: atomLevel, typ: boolType, literal: true, value: v}
	case int64:
		return term{text: strconv.FormatInt(v, 10), level: atomLevel, typ: intType, literal: true, value: v}
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return term{text: text, level: atomLevel, typ: floatType, literal: true, value: v}
	}
	return term{text: "null", level: atomLevel, literal: true}
}

// asText is the term as a text.
func (t term) asText() term {
	if t.typ == stringType {
		return t
	}
	return atom("string("+t.text+")", stringType)
}

// joined joins texts.
func joined(terms ...term) term {
	var parts []term
	for _, t := range terms {
		if t.parts != nil {
			parts = append(parts, t.parts...)
			continue
		}
		parts = append(parts, t)
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.text
	}
	return term{text: "concat(" + strings.Join(texts, ", ") + ")", level: atomLevel, typ: stringType, sure: true, parts: parts}
}

// A ref is a path such as $activity[call].data.name: its resolver, the item in
// brackets, and what follows.
type ref struct {
	at       int
	resolver string // without $
	item     string
	path     []segment
}

// A segment is a step of a path.
type segment struct {
	at    int
	name  string
	index bool
}

// String is the path below a value as package expr has it.
func pathText(path []segment) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.index:
			b.WriteString("[" + s.name + "]")
		case identifier.MatchString(s.name) && !slices.Contains([]string{"true", "false", "null"}, s.name):
			b.WriteString("." + s.name)
		default:
			b.WriteString("[" + textTerm(s.name).text + "]")
		}
	}
	return b.String()
}

// A scope says what paths stand for.
type scope func(ref) (term, *problem)
