package flow

import (
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/internal/yamltree"
)

// The marks around an expression in a text.
const (
	openMark  = "${{"
	closeMark = "}}"
)

// value reads what makes a value. It returns nil if it has noted an error.
func (s *source) value(n ast.Node, at Pos) *Value {
	if empty(n) {
		s.bad(at, "a value is missing: write null, '', {} or [] for one that is nothing")
		return nil
	}
	v := &Value{Pos: start(n)}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		v.Const = n.Value
	case *ast.IntegerNode:
		v.Const = n.Value
		if u, ok := n.Value.(uint64); ok && u <= 1<<63-1 {
			v.Const = int64(u)
		}
	case *ast.FloatNode:
		v.Const = n.Value
	case *ast.StringNode, *ast.LiteralNode:
		return s.text(n)
	case *ast.MappingNode, *ast.MappingValueNode:
		v.Kind = Object
		all, _ := s.entries(n, "an object")
		for _, e := range all {
			if m := s.value(e.value, e.at); m != nil {
				v.Members = append(v.Members, Member{e.at, e.key, m})
			}
		}
	case *ast.SequenceNode:
		v.Kind = List
		for _, item := range n.Values {
			if i := s.value(item, v.Pos); i != nil {
				v.Items = append(v.Items, i)
			}
		}
	default:
		s.bad(v.Pos, "a value should stand here, not %s", kindOf(n))
		return nil
	}
	return v
}

// text reads a text with the expressions in it.
func (s *source) text(n ast.Node) *Value {
	text, _ := yamltree.Scalar(n)
	from, q := s.origin(n)
	place := func(offset int) Pos { return s.place(from, q, text, offset) }
	v := &Value{Pos: start(n), Const: text}
	if !strings.Contains(text, openMark) {
		return v
	}
	v.Kind, v.Const = Text, nil
	for at := 0; at < len(text); {
		i := strings.Index(text[at:], openMark)
		if i < 0 {
			v.Parts = append(v.Parts, Part{Text: text[at:]})
			break
		}
		if i > 0 {
			v.Parts = append(v.Parts, Part{Text: text[at : at+i]})
		}
		begin := at + i + len(openMark)
		length := endOf(text[begin:])
		if length < 0 {
			s.bad(place(at+i), "the expression has no end: %s is missing", closeMark)
			return nil
		}
		e := s.expression(text[begin:begin+length], func(offset int) Pos { return place(begin + offset) })
		if e == nil {
			return nil
		}
		v.Parts = append(v.Parts, Part{Expr: e})
		at = begin + length + len(closeMark)
	}
	if len(v.Parts) == 1 && v.Parts[0].Expr != nil {
		v.Kind, v.Expr, v.Parts = Computed, v.Parts[0].Expr, nil
	}
	return v
}

// endOf finds the end of an expression, which is not in one of its texts; -1 if it
// has none.
func endOf(text string) int {
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.HasPrefix(text[i:], closeMark):
			return i
		}
	}
	return -1
}

// expression reads an expression. place finds a byte of it in the file.
func (s *source) expression(text string, place func(offset int) Pos) *Expr {
	parsed, err := expr.Parse(text)
	if err != nil {
		s.badExpr(err, place)
		return nil
	}
	trimmed := strings.TrimSpace(text)
	return &Expr{Pos: place(strings.Index(text, trimmed)), Text: trimmed, parsed: parsed, place: place}
}

// badExpr notes an error of an expression.
func (s *source) badExpr(err error, place func(offset int) Pos) {
	e := err.(*expr.Error) //nolint:errorlint,forcetypeassert // package expr promises it
	s.bad(place(e.Offset), "%s", e.Text).Allowed = e.Allowed
}

// compile checks an expression against what it may name.
func (s *source) compile(e *Expr, scope expr.Scope) bool {
	prog, err := e.parsed.Compile(scope)
	if err != nil {
		s.badExpr(err, e.place)
		return false
	}
	e.prog = prog
	return true
}

// compileValue compiles all expressions of a value.
func (s *source) compileValue(v *Value, scope expr.Scope) bool {
	if v == nil {
		return false
	}
	good := true
	if v.Expr != nil {
		good = s.compile(v.Expr, scope)
	}
	for _, p := range v.Parts {
		if p.Expr != nil && !s.compile(p.Expr, scope) {
			good = false
		}
	}
	for _, m := range v.Members {
		good = s.compileValue(m.Value, scope) && good
	}
	for _, i := range v.Items {
		good = s.compileValue(i, scope) && good
	}
	return good
}

// eval makes the value. Errors are of type [*Error].
func (v *Value) eval(src *source, env []any) (any, error) {
	switch v.Kind {
	case Constant:
		return v.Const, nil
	case Computed:
		return v.Expr.eval(src, env)
	case Text:
		return v.evalText(src, env)
	case Object:
		return evalMembers(src, v.Members, env)
	}
	list := make([]any, len(v.Items))
	for i, item := range v.Items {
		var err error
		if list[i], err = item.eval(src, env); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (v *Value) evalText(src *source, env []any) (any, error) {
	text := make([]byte, 0, 64)
	for _, p := range v.Parts {
		if p.Expr == nil {
			text = append(text, p.Text...)
			continue
		}
		x, err := p.Expr.eval(src, env)
		if err != nil {
			return nil, err
		}
		if text, err = expr.AppendText(text, x); err != nil {
			return nil, src.located(err, p.Expr.place)
		}
	}
	return string(text), nil
}

func evalMembers(src *source, members []Member, env []any) (map[string]any, error) {
	object := make(map[string]any, len(members))
	for _, m := range members {
		x, err := m.Value.eval(src, env)
		if err != nil {
			return nil, err
		}
		object[m.Name] = x
	}
	return object, nil
}

func (e *Expr) eval(src *source, env []any) (any, error) {
	v, err := e.prog.Eval(env)
	if err != nil {
		return nil, src.located(err, e.place)
	}
	return v, nil
}

// located is the error of an expression that was computed, with its place.
func (s *source) located(err error, place func(offset int) Pos) error {
	e := err.(*expr.Error) //nolint:errorlint,forcetypeassert // package expr promises it
	return s.errorAt(place(e.Offset), e.Text)
}

// typeOf is what is known of a value that has been compiled.
func (v *Value) typeOf() *expr.Type {
	switch v.Kind {
	case Computed:
		return v.Expr.prog.Type()
	case Text:
		return expr.Simple(expr.String)
	case Object:
		t := &expr.Type{Kind: expr.Object, Closed: true}
		for _, m := range v.Members {
			t.Members = append(t.Members, expr.Member{Name: m.Name, Type: m.Value.typeOf()})
		}
		return t
	case List:
		t := &expr.Type{Kind: expr.List}
		for i, item := range v.Items {
			if is := item.typeOf(); i == 0 {
				t.Of = is
			} else {
				t.Of = expr.Common(t.Of, is)
			}
		}
		return t
	}
	return expr.TypeOf(v.Const)
}

// A constant is a part of a file that settings may stand in, with its place: it is
// known when the file has been read.
type constant struct {
	src      *source
	settings expr.Scope
}

// value is the value of a node in which settings may stand.
func (c *constant) value(e *entry) (any, bool) {
	v := c.src.value(e.value, e.at)
	if v == nil || !c.src.compileValue(v, c.settings) {
		return nil, false
	}
	x, err := v.eval(c.src, nil)
	if err != nil {
		c.src.errs = append(c.src.errs, err.(*Error)) //nolint:errorlint,forcetypeassert // as eval says
		return nil, false
	}
	return x, true
}

// text is a text in which settings may stand, "" if it cannot be read.
func (c *constant) text(e *entry, what, example string) string {
	x, ok := c.value(e)
	if !ok {
		return ""
	}
	text, ok := x.(string)
	if !ok || text == "" {
		c.src.bad(start(e.value), "%s is a text such as %s, not %s", what, example, shown(x))
		return ""
	}
	return text
}

// duration is a time of at least some length.
func (c *constant) duration(e *entry, what string, least time.Duration) time.Duration {
	x, ok := c.value(e)
	if !ok {
		return 0
	}
	text, isText := x.(string)
	d, err := time.ParseDuration(text)
	switch {
	case !isText || err != nil:
		c.src.bad(start(e.value), "%s is a duration such as 100ms, 2s or 1m30s, not %s", what, shown(x))
		return 0
	case d < least:
		c.src.bad(start(e.value), "%s is at least %v, not %v", what, least, d)
		return 0
	}
	return d
}

// integer is a number within limits.
func (c *constant) integer(e *entry, what string, least, most int64) int {
	x, ok := c.value(e)
	if !ok {
		return 0
	}
	n, ok := x.(int64)
	if !ok || n < least || n > most {
		c.src.bad(start(e.value), "%s is a whole number from %d to %d, not %s", what, least, most, shown(x))
		return 0
	}
	return int(n)
}

// word is one of several.
func (c *constant) word(e *entry, what string, words []string) (int, bool) {
	x, ok := c.value(e)
	if !ok {
		return 0, false
	}
	text, _ := x.(string)
	for i, w := range words {
		if w == text {
			return i, true
		}
	}
	c.src.bad(start(e.value), "%s cannot be %s%s", what, shown(x), meant(text, words)).Allowed = words
	return 0, false
}

// shown is a value as it stands in errors.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) > 60 {
			v = strings.ToValidUTF8(v[:60], "") + "…"
		}
		return `"` + v + `"`
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	}
	text, err := expr.AppendText(nil, v)
	if err != nil {
		return "a value that is too long"
	}
	return string(text)
}
