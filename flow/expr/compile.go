package expr

import (
	"fmt"
	"slices"
)

// A Scope is what the names in an expression mean.
type Scope []Root

// A Root is a name that paths begin with, such as inputs.
type Root struct {
	Name string
	// What is what its members are in errors, such as "input".
	What string
	Vars []Var
	// Missing says more about a member that is not there, or nothing; it may be nil.
	Missing func(name string) string
}

// A Var is a member of a root.
type Var struct {
	Name string
	Type *Type
	// Slot is where its value stands among those that Eval is given.
	Slot int
	// Const is set for one whose value is Value, always.
	Const bool
	Value any
}

// A Program is a checked expression that can be computed. It is safe for concurrent
// use.
type Program struct {
	code code
}

// A code computes a part. Its values are those of documents: nil, bool, int64,
// uint64, float64, schema.Number, string, []byte, time.Time, time.Duration, []any
// and map[string]any.
type code struct {
	typ *Type
	run func(env []any) (any, error)
	// constant is set if it is always value.
	constant bool
	value    any
}

// Compile checks an expression's names and types. Its errors are of type [*Error].
func (e *Expr) Compile(scope Scope) (*Program, error) {
	c := compiler{scope}
	out, err := c.node(e.root)
	if err != nil {
		return nil, err
	}
	return &Program{out}, nil
}

// Type is what is known of the value.
func (p *Program) Type() *Type { return p.code.typ }

// Constant returns the value of an expression that has always the same.
func (p *Program) Constant() (value any, ok bool) { return p.code.value, p.code.constant }

// Eval computes the expression from the values of its variables. Its errors are of
// type [*Error].
func (p *Program) Eval(env []any) (any, error) { return p.code.run(env) }

type compiler struct{ scope Scope }

// constant is the code of a value.
func constant(v any, t *Type) code {
	return code{typ: t, run: func([]any) (any, error) { return v, nil }, constant: true, value: v}
}

// folded computes a code at once if all that it needs is constant.
func folded(c code, from ...code) (code, *Error) {
	for _, f := range from {
		if !f.constant {
			return c, nil
		}
	}
	v, err := c.run(nil)
	if err != nil {
		return c, err.(*Error) //nolint:errorlint // all codes' errors are of this type
	}
	t := TypeOf(v)
	if c.typ.Kind != Unknown && t.Kind == Null {
		t = c.typ
	}
	return constant(v, t), nil
}

func (c *compiler) node(n node) (code, *Error) {
	switch n := n.(type) {
	case literal:
		return constant(n.value, TypeOf(n.value)), nil
	case variable:
		return code{}, c.bare(n)
	case member:
		return c.member(n)
	case index:
		return c.index(n)
	case unary:
		return c.unary(n)
	case binary:
		return c.binary(n)
	case call:
		return c.call(n)
	}
	panic(fmt.Sprintf("expr: a node of type %T", n))
}

// bare is the error for a name that stands alone.
func (c *compiler) bare(n variable) *Error {
	root, err := c.root(n)
	if err != nil {
		return err
	}
	e := errorf(n.at(), "%s is no value: the name of %s should follow, as in %s.NAME", n.name, root.what(), n.name)
	e.Allowed = root.names()
	return e
}

func (r *Root) what() string { return "its " + r.What }

func (r *Root) names() []string {
	names := make([]string, len(r.Vars))
	for i, v := range r.Vars {
		names[i] = v.Name
	}
	return names
}

func (c *compiler) root(n variable) (*Root, *Error) {
	for i := range c.scope {
		if c.scope[i].Name == n.name {
			return &c.scope[i], nil
		}
	}
	names := make([]string, len(c.scope))
	for i, r := range c.scope {
		names[i] = r.Name
	}
	if len(names) == 0 {
		return nil, errorf(n.at(), "there is nothing that an expression here could name: %q", n.name)
	}
	err := unknown(n.at(), "name", n.name, names)
	if _, ok := functions[n.name]; ok {
		err.Text = fmt.Sprintf("%s is a function: its arguments should follow, in brackets", n.name)
	}
	return nil, err
}

// member is a member of a root, or of a value.
func (c *compiler) member(n member) (code, *Error) {
	if v, ok := n.of.(variable); ok {
		root, err := c.root(v)
		if err != nil {
			return code{}, err
		}
		return root.member(n)
	}
	of, err := c.node(n.of)
	if err != nil {
		return code{}, err
	}
	if !of.typ.is(Object) {
		return code{}, errorf(n.at(), "%v has no members: %q cannot be one", of.typ, n.name)
	}
	t := unknownType
	if of.typ.Kind == Object {
		if t = of.typ.member(n.name); t == nil {
			return code{}, unknown(n.at(), memberOf(of.typ), n.name, of.typ.names())
		}
	}
	name, at := n.name, n.at()
	return folded(code{typ: t, run: func(env []any) (any, error) {
		v, err := of.run(env)
		if err != nil {
			return nil, err
		}
		return memberOfValue(v, name, at)
	}}, of)
}

// memberOf is what a member of a type is called in errors.
func memberOf(t *Type) string {
	if t.Name != "" {
		return "field of " + t.Name + " named"
	}
	return "member"
}

func memberOfValue(v any, name string, at int) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		return v[name], nil
	case nil:
		return nil, nil //nolint:nilnil // the member of nothing is nothing
	}
	return nil, errorf(at, "%v has no members: %q cannot be one", kindOf(v), name)
}

func (r *Root) member(n member) (code, *Error) {
	i := slices.IndexFunc(r.Vars, func(v Var) bool { return v.Name == n.name })
	if i < 0 {
		err := unknown(n.at(), r.What, n.name, r.names())
		if r.Missing != nil {
			if why := r.Missing(n.name); why != "" {
				err.Text = why
			}
		}
		return code{}, err
	}
	v := r.Vars[i]
	if v.Const {
		return constant(v.Value, v.Type), nil
	}
	slot := v.Slot
	return code{typ: v.Type, run: func(env []any) (any, error) { return env[slot], nil }}, nil
}

// index is an element of a list, or a member whose name is computed.
func (c *compiler) index(n index) (code, *Error) {
	if v, ok := n.of.(variable); ok {
		return code{}, c.bare(v)
	}
	of, err := c.node(n.of)
	if err != nil {
		return code{}, err
	}
	i, err := c.node(n.i)
	if err != nil {
		return code{}, err
	}
	t := unknownType
	switch {
	case of.typ.Kind == List:
		if !i.typ.is(Int) {
			return code{}, errorf(n.i.at(), "the elements of a list have numbers from 0: %v is none", i.typ)
		}
		if of.typ.Of != nil {
			t = of.typ.Of
		}
	case of.typ.Kind == Object:
		if !i.typ.is(String) {
			return code{}, errorf(n.i.at(), "the members of an object have names: %v is none", i.typ)
		}
		if len(of.typ.Members) == 0 && of.typ.Of != nil {
			t = of.typ.Of
		}
	case !of.typ.open():
		return code{}, errorf(n.at(), "%v has neither elements nor members", of.typ)
	}
	at, atIndex := n.at(), n.i.at()
	return folded(code{typ: t, run: func(env []any) (any, error) {
		v, err := of.run(env)
		if err != nil {
			return nil, err
		}
		k, err := i.run(env)
		if err != nil {
			return nil, err
		}
		return element(v, k, at, atIndex)
	}}, of, i)
}

func element(v, k any, at, atIndex int) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil //nolint:nilnil // the element of nothing is nothing
	case []any:
		i, ok := k.(int64)
		if !ok {
			return nil, errorf(atIndex, "the elements of a list have numbers from 0: %v is none", kindOf(k))
		}
		if i < 0 || i >= int64(len(v)) {
			return nil, nil //nolint:nilnil // as a member that is not there
		}
		return v[i], nil
	case map[string]any:
		name, ok := k.(string)
		if !ok {
			return nil, errorf(atIndex, "the members of an object have names: %v is none", kindOf(k))
		}
		return v[name], nil
	}
	return nil, errorf(at, "%v has neither elements nor members", kindOf(v))
}
