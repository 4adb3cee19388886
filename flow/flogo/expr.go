package flogo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on an expression.
const (
	maxSource = 8 << 10
	maxDepth  = 48
	maxParts  = 256 // of a text that is joined
)

// translate makes an expression of Flogo one of package expr.
func translate(src string, s scope) (term, *problem) {
	if len(src) > maxSource {
		return term{}, wrong(0, "the expression has %d bytes: the limit is %d", len(src), maxSource)
	}
	p := &exprParser{src: src, scope: s}
	t, err := p.ternary()
	if err != nil {
		return term{}, err
	}
	if p.space(); p.i < len(src) {
		return term{}, wrong(p.i, "%s does not belong here: an operator or the end of the expression should follow", p.here())
	}
	if len(t.text) > maxSource {
		return term{}, wrong(0, "the expression becomes longer than %d bytes", maxSource)
	}
	return t, nil
}

type exprParser struct {
	src   string
	i     int
	depth int
	scope scope
}

func (p *exprParser) space() {
	for p.i < len(p.src) && strings.IndexByte(" \t\r\n\v\f", p.src[p.i]) >= 0 {
		p.i++
	}
}

func (p *exprParser) here() string {
	if p.i >= len(p.src) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.i:])
	return fmt.Sprintf("%q", r)
}

// accept reads one of some operators, of which the longer ones are first.
func (p *exprParser) accept(ops ...string) (op string, at int) {
	p.space()
	for _, op := range ops {
		if strings.HasPrefix(p.src[p.i:], op) {
			p.i += len(op)
			return op, p.i - len(op)
		}
	}
	return "", p.i
}

// ternary reads a whole expression.
func (p *exprParser) ternary() (term, *problem) {
	if p.depth++; p.depth > maxDepth {
		return term{}, wrong(p.i, "the expression nests more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	cond, err := p.binary(orLevel)
	if err != nil {
		return term{}, err
	}
	op, at := p.accept("?")
	if op == "" {
		return cond, nil
	}
	a, err := p.ternary()
	if err != nil {
		return term{}, err
	}
	if op, at := p.accept(":"); op == "" {
		return term{}, wrong(at, "\":\" should follow, not %s", p.here())
	}
	b, err := p.ternary()
	if err != nil {
		return term{}, err
	}
	if err := single(at, cond, a, b); err != nil {
		return term{}, err
	}
	t := atom("if("+cond.text+", "+a.text+", "+b.text+")", anyType)
	if a.typ == b.typ {
		t.typ = a.typ
	}
	return t, nil
}

// single refuses values that no expression makes.
func single(at int, terms ...term) *problem {
	for _, t := range terms {
		if t.whole != nil {
			return wrong(at, "an object that is mapped member by member cannot be a part of an expression: name its members")
		}
	}
	return nil
}

// operators are those of each level, the longer ones first.
var operators = [][]string{{"||"}, {"&&"}, {"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}

func (p *exprParser) binary(level int) (term, *problem) {
	if level == unaryLevel {
		return p.unary()
	}
	x, err := p.binary(level + 1)
	if err != nil {
		return term{}, err
	}
	for {
		op, at := p.accept(operators[level]...)
		if op == "" {
			return x, nil
		}
		y, err := p.binary(level + 1)
		if err != nil {
			return term{}, err
		}
		if err := single(at, x, y); err != nil {
			return term{}, err
		}
		if x, err = combine(op, at, level, x, y); err != nil {
			return term{}, err
		}
	}
}

func combine(op string, at, level int, x, y term) (term, *problem) {
	text := x.in(level) + " " + op + " " + y.in(level+1)
	out := term{text: text, level: level, typ: anyType}
	switch {
	case level <= compareLevel:
		out.typ = boolType
		if level == compareLevel { // which do not chain
			out.text = x.in(level+1) + " " + op + " " + y.in(level+1)
		}
	case op == "+" && (x.typ == stringType || y.typ == stringType):
		if len(x.parts) == maxParts {
			return out, wrong(at, "this joins more than %d texts", maxParts)
		}
		return joined(x, y), nil
	case op == "+" && x.typ == anyType && y.typ == anyType:
		return out, wrong(at, "whether this + adds numbers or joins texts is not known before the values are there: write string.concat(…), or coerce.toFloat64(…) + …")
	case op == "/" && x.typ == intType && y.typ == intType: // has no fraction in Flogo
		return atom("int("+text+")", intType), nil
	case x.typ == intType && y.typ == intType:
		out.typ = intType
	case x.typ == floatType || y.typ == floatType:
		out.typ = floatType
	}
	return out, nil
}

func (p *exprParser) unary() (term, *problem) {
	op, at := p.accept("!", "-")
	if op == "" {
		return p.primary()
	}
	if p.depth++; p.depth > maxDepth {
		return term{}, wrong(p.i, "the expression nests more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	x, err := p.unary()
	if err != nil {
		return term{}, err
	}
	if err := single(at, x); err != nil {
		return term{}, err
	}
	t := term{text: op + x.in(unaryLevel), level: unaryLevel, typ: x.typ}
	if op == "!" {
		t.typ = boolType
	}
	return t, nil
}

func (p *exprParser) primary() (term, *problem) {
	p.space()
	at := p.i
	if at == len(p.src) {
		return term{}, wrong(at, "a value should stand here, not the end")
	}
	switch c := p.src[at]; {
	case c == '(':
		p.i++
		t, err := p.ternary()
		if err != nil {
			return term{}, err
		}
		if op, at := p.accept(")"); op == "" {
			return term{}, wrong(at, "\")\" should follow, not %s", p.here())
		}
		return t, nil
	case c == '"' || c == '\'' || c == '`':
		s, err := p.quoted()
		return textTerm(s), err
	case c == '$':
		r, err := p.ref()
		if err != nil {
			return term{}, err
		}
		return p.scope(r)
	case c >= '0' && c <= '9' || c == '.':
		return p.number()
	case letter(c):
		return p.name()
	}
	return term{}, wrong(at, "a value should stand here, not %s", p.here())
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// quoted reads a text in one of three quotes.
func (p *exprParser) quoted() (string, *problem) {
	begin, quote := p.i, p.src[p.i]
	var b strings.Builder
	for p.i++; p.i < len(p.src); p.i++ {
		c := p.src[p.i]
		switch {
		case c == quote:
			p.i++
			return b.String(), nil
		case c == '\\' && quote != '`' && p.i+1 < len(p.src) && strings.IndexByte(`"'\nrt`, p.src[p.i+1]) >= 0:
			p.i++
			if i := strings.IndexByte("nrt", p.src[p.i]); i >= 0 {
				b.WriteByte("\n\r\t"[i])
				continue
			}
			b.WriteByte(p.src[p.i])
		default:
			b.WriteByte(c)
		}
	}
	p.i = begin
	return "", wrong(begin, "the text has no end: a %c is missing", quote)
}

func (p *exprParser) number() (term, *problem) {
	at := p.i
	for p.i < len(p.src) {
		c := p.src[p.i]
		sign := (c == '+' || c == '-') && p.src[p.i-1]|0x20 == 'e' && p.i > at
		if !digit(c) && !letter(c) && c != '.' && !sign {
			break
		}
		p.i++
	}
	s := p.src[at:p.i]
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return term{text: strconv.FormatInt(n, 10), level: atomLevel, typ: intType, literal: true, value: n}, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.ContainsAny(s, "xX_pP") {
		return term{}, wrong(at, "%s is no number that can be computed with", shown(s))
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return term{text: text, level: atomLevel, typ: floatType, literal: true, value: f}, nil
}

// name reads true, false, nil, null, or a function with its arguments.
func (p *exprParser) name() (term, *problem) {
	at := p.i
	for p.i < len(p.src) && (letter(p.src[p.i]) || digit(p.src[p.i]) || p.src[p.i] == '.') {
		p.i++
	}
	name := p.src[at:p.i]
	if op, _ := p.accept("("); op != "" {
		args, err := p.args()
		if err != nil {
			return term{}, err
		}
		return call(name, at, args)
	}
	switch name {
	case "true", "false":
		return term{text: name, level: atomLevel, typ: boolType, literal: true, value: name == "true"}, nil
	case "nil", "null":
		return term{text: "null", level: atomLevel, literal: true}, nil
	}
	return term{}, wrong(at, "%s is no value: paths begin with $, such as $flow.%s, and texts are in quotes", shown(name), name)
}

func (p *exprParser) args() (args []term, err *problem) {
	if op, _ := p.accept(")"); op != "" {
		return nil, nil
	}
	for {
		p.space()
		at := p.i
		t, err := p.ternary()
		if err != nil {
			return nil, err
		}
		if err := single(at, t); err != nil {
			return nil, err
		}
		args = append(args, t)
		op, at := p.accept(",", ")")
		switch op {
		case "":
			return nil, wrong(at, "\",\" or \")\" should follow, not %s", p.here())
		case ")":
			return args, nil
		}
	}
}

// ref reads a path.
func (p *exprParser) ref() (ref, *problem) {
	r := ref{at: p.i}
	p.i++
	r.resolver = p.ident()
	if r.resolver != "" && p.i < len(p.src) && p.src[p.i] == '[' {
		item, err := p.bracket()
		if err != nil {
			return r, err
		}
		r.item = item.name
	}
	for p.i < len(p.src) {
		at := p.i
		switch {
		case p.src[at] == '[':
			s, err := p.bracket()
			if err != nil {
				return r, err
			}
			if !s.index && s.name != "" && p.src[at+1] != '"' && p.src[at+1] != '\'' && p.src[at+1] != '`' {
				return r, wrong(at+1, "an index is a number such as [0], or a name in quotes, not %s", shown(s.name))
			}
			r.path = append(r.path, s)
		case p.src[at] == '.' && at+1 < len(p.src) && (letter(p.src[at+1]) || p.src[at+1] == '$'):
			p.i++
			name := p.ident()
			r.path = append(r.path, segment{at: at + 1, name: name})
		default:
			return r, nil
		}
	}
	return r, nil
}

func (p *exprParser) ident() string {
	at := p.i
	for p.i < len(p.src) && (letter(p.src[p.i]) || digit(p.src[p.i]) && p.i > at) {
		p.i++
	}
	return p.src[at:p.i]
}

// bracket reads [name], ["name"] or [0].
func (p *exprParser) bracket() (segment, *problem) {
	begin := p.i
	p.i++
	s := segment{at: p.i}
	if p.i < len(p.src) && strings.IndexByte("\"'`", p.src[p.i]) >= 0 {
		name, err := p.quoted()
		if err != nil {
			return s, err
		}
		if op, at := p.accept("]"); op == "" {
			return s, wrong(at, "\"]\" should follow, not %s", p.here())
		}
		s.name = name
		return s, nil
	}
	end := strings.IndexByte(p.src[p.i:], ']')
	if end < 0 {
		return s, wrong(begin, "the bracket has no end: a ] is missing")
	}
	s.name = strings.TrimSpace(p.src[p.i : p.i+end])
	p.i += end + 1
	if s.name == "" {
		return s, wrong(begin, "a name or a number is missing in the brackets")
	}
	if _, err := strconv.ParseUint(s.name, 10, 31); err == nil {
		s.index = true
	}
	return s, nil
}
