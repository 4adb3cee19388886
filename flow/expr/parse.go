package expr

import "strings"

// An Expr is an expression that has been read, but not checked.
type Expr struct {
	root node
}

// A node is a part of an expression.
type node interface {
	at() int
}

type (
	// place is where a part begins.
	place int

	literal struct {
		place
		value any
	}
	variable struct {
		place
		name string
	}
	member struct {
		place // of the name
		of    node
		name  string
	}
	index struct {
		place // of the bracket
		of, i node
	}
	unary struct {
		place
		op string
		x  node
	}
	binary struct {
		place // of the operator
		op    string
		x, y  node
	}
	call struct {
		place
		name string
		args []node
	}
)

func (p place) at() int { return int(p) }

// Parse reads an expression. Its errors are of type [*Error].
func Parse(src string) (*Expr, error) {
	if len(src) > MaxSource {
		return nil, errorf(0, "the expression has %d bytes: the limit is %d", len(src), MaxSource)
	}
	tokens, err := lex(src)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	if p.next().kind == endToken {
		return nil, errorf(0, "the expression is empty")
	}
	root, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.next(); t.kind != endToken {
		return nil, errorf(t.at, "%v does not belong here: an operator or the end of the expression should follow", t)
	}
	return &Expr{root}, nil
}

type parser struct {
	tokens []token
	nodes  int
	depth  int
}

// next is the token that is read next.
func (p *parser) next() token { return p.tokens[0] }

// take reads a token.
func (p *parser) take() token {
	t := p.tokens[0]
	if t.kind != endToken {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept reads an operator if it is one of ops.
func (p *parser) accept(ops ...string) (token, bool) {
	t := p.next()
	if t.kind == opToken {
		for _, op := range ops {
			if t.text == op {
				return p.take(), true
			}
		}
	}
	return t, false
}

// count counts a part.
func (p *parser) count(at int) *Error {
	if p.nodes++; p.nodes > MaxNodes {
		return errorf(at, "the expression has more than %d parts", MaxNodes)
	}
	return nil
}

// deeper counts a level of nesting, until the function that it returns is called.
func (p *parser) deeper(at int) (out func(), err *Error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, errorf(at, "the expression nests more than %d deep", MaxDepth)
	}
	return func() { p.depth-- }, nil
}

// levels are the binary operators, the loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}}

const comparisons = 2 // the level of which an expression has one operator at most

func (p *parser) expression() (node, *Error) {
	out, err := p.deeper(p.next().at)
	if err != nil {
		return nil, err
	}
	defer out()
	return p.binary(0)
}

func (p *parser) binary(level int) (node, *Error) {
	if level == len(levels) {
		return p.unary()
	}
	x, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}
	for {
		op, ok := p.accept(levels[level]...)
		if !ok {
			return x, nil
		}
		if err := p.count(op.at); err != nil {
			return nil, err
		}
		y, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		x = binary{place(op.at), op.text, x, y}
		if level == comparisons {
			if again, ok := p.accept(levels[level]...); ok {
				return nil, errorf(again.at, "comparisons do not chain: join them with &&")
			}
			return x, nil
		}
	}
}

func (p *parser) unary() (node, *Error) {
	op, ok := p.accept("!", "-")
	if !ok {
		return p.postfix()
	}
	out, err := p.deeper(op.at)
	if err != nil {
		return nil, err
	}
	defer out()
	if err := p.count(op.at); err != nil {
		return nil, err
	}
	x, err := p.unary()
	if err != nil {
		return nil, err
	}
	return unary{place(op.at), op.text, x}, nil
}

// postfix reads a value with the members and elements behind it.
func (p *parser) postfix() (node, *Error) {
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	for {
		op, ok := p.accept(".", "[")
		if !ok {
			return x, nil
		}
		if err := p.count(op.at); err != nil {
			return nil, err
		}
		if op.text == "." {
			name := p.take()
			if name.kind != nameToken {
				if name.kind == literalToken && isLetter((name.text + "0")[0]) { // true, false, null
					return nil, errorf(name.at, "%s is no name of a member: write ['%s']", name.text, name.text)
				}
				return nil, errorf(name.at, "the name of a member should follow the dot, not %v: other names are written ['…']", name)
			}
			x = member{place(name.at), x, name.text}
			continue
		}
		i, err := p.expression()
		if err != nil {
			return nil, err
		}
		if t, ok := p.accept("]"); !ok {
			return nil, errorf(t.at, `"]" should follow, not %v`, t)
		}
		if s, ok := i.(literal); ok {
			if name, ok := s.value.(string); ok {
				x = member{s.place, x, name}
				continue
			}
		}
		x = index{place(op.at), x, i}
	}
}

func (p *parser) primary() (node, *Error) {
	t := p.take()
	if err := p.count(t.at); err != nil {
		return nil, err
	}
	switch {
	case t.kind == literalToken:
		return literal{place(t.at), t.value}, nil
	case t.kind == nameToken:
		if _, ok := p.accept("("); ok {
			return p.call(t)
		}
		return variable{place(t.at), t.text}, nil
	case t.kind == opToken && t.text == "(":
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		if end, ok := p.accept(")"); !ok {
			return nil, errorf(end.at, `")" should follow, not %v`, end)
		}
		return x, nil
	}
	return nil, &Error{
		Offset: t.at, Text: "a value should stand here, not " + t.String(),
		Allowed: []string{"a path such as inputs.name", "a function such as upper(…)", "a text in quotes", "a number", "true", "false", "null"},
	}
}

// call reads the arguments of a function.
func (p *parser) call(name token) (node, *Error) {
	c := call{place: place(name.at), name: name.text}
	if _, ok := p.accept(")"); ok {
		return c, nil
	}
	for {
		arg, err := p.expression()
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, arg)
		end, ok := p.accept(",", ")")
		switch {
		case !ok:
			return nil, errorf(end.at, `"," or ")" should follow, not %v`, end)
		case end.text == ")":
			return c, nil
		}
	}
}

// Path returns the path that an expression consists of, such as steps.greet.text,
// or "" if it is none.
func (e *Expr) Path() string {
	var names []string
	for n := e.root; ; {
		switch x := n.(type) {
		case member:
			names = append([]string{x.name}, names...)
			n = x.of
		case variable:
			return strings.Join(append([]string{x.name}, names...), ".")
		default:
			return ""
		}
	}
}
