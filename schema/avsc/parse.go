package avsc

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/everywire/everywire/schema"
)

// Parse reads a schema of any writer. Logical types, aliases and the order of
// sorting are passed over: they do not matter to who reads data as it was
// written.
func Parse(text []byte) (*Type, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("avsc: %w", err)
	}
	p := parser{named: map[string]*Type{}}
	t, err := p.typ(v, "", 0)
	if err == nil {
		err = measure(t)
	}
	if err != nil {
		return nil, fmt.Errorf("avsc: %w", err)
	}
	return t, nil
}

type parser struct{ named map[string]*Type }

// typ reads a type within a namespace.
func (p *parser) typ(v any, namespace string, depth int) (*Type, error) {
	if depth > schema.MaxDepth {
		return nil, fmt.Errorf("the schema is nested deeper than %d levels", schema.MaxDepth)
	}
	switch v := v.(type) {
	case string:
		if k := slices.Index(kindNames[:Record], v); k >= 0 {
			return &Type{Kind: Kind(k)}, nil //nolint:gosec // a kind's index
		}
		for _, name := range []string{fullName(v, namespace), v} {
			if t := p.named[name]; t != nil {
				return t, nil
			}
		}
		return nil, fmt.Errorf("there is no type %q", v)
	case []any:
		return p.union(v, namespace, depth)
	case map[string]any:
		return p.object(v, namespace, depth)
	}
	return nil, fmt.Errorf("%v is no type", v)
}

func fullName(name, namespace string) string {
	if namespace == "" || strings.Contains(name, ".") {
		return name
	}
	return namespace + "." + name
}

func (p *parser) union(branches []any, namespace string, depth int) (*Type, error) {
	t := &Type{Kind: Union}
	if len(branches) == 0 {
		return nil, fmt.Errorf("a union has no branches")
	}
	seen := map[string]bool{}
	for _, v := range branches {
		b, err := p.typ(v, namespace, depth+1)
		if err != nil {
			return nil, err
		}
		if b.Kind == Union || seen[b.String()] {
			return nil, fmt.Errorf("a union holds another, or has the branch %s twice", b)
		}
		seen[b.String()] = true
		t.Branches = append(t.Branches, b)
	}
	return t, nil
}

func (p *parser) object(o map[string]any, namespace string, depth int) (*Type, error) {
	kind, ok := o["type"].(string)
	if !ok { // such as {"type": {"type": "array", …}}
		if o["type"] == nil {
			return nil, fmt.Errorf("an object has no type")
		}
		return p.typ(o["type"], namespace, depth+1)
	}
	var err error
	switch kind {
	case "array", "map":
		t, member := &Type{Kind: Array}, "items"
		if kind == "map" {
			t.Kind, member = Map, "values"
		}
		t.Elem, err = p.typ(o[member], namespace, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s of a %s: %w", member, kind, err)
		}
		return t, nil
	case "record", "error", "enum", "fixed":
		return p.define(kind, o, namespace, depth)
	}
	return p.typ(kind, namespace, depth+1)
}

func (p *parser) define(kind string, o map[string]any, namespace string, depth int) (*Type, error) {
	name, _ := o["name"].(string)
	if space, ok := o["namespace"].(string); ok {
		namespace = space
	}
	name = fullName(name, namespace)
	for part := range strings.SplitSeq(name, ".") {
		if !isName(part) {
			return nil, fmt.Errorf("%q is not a name for a type", name)
		}
	}
	if p.named[name] != nil {
		return nil, fmt.Errorf("the type %s is defined twice", name)
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		namespace = name[:i]
	}
	t := &Type{Name: name}
	t.Doc, _ = o["doc"].(string)
	p.named[name] = t
	var err error
	switch kind {
	case "enum":
		t.Kind = Enum
		err = symbols(t, o["symbols"])
	case "fixed":
		t.Kind = Fixed
		size, ok := o["size"].(float64)
		if !ok || size < 0 || size > math.MaxInt32 || size != math.Trunc(size) {
			err = fmt.Errorf("the size %v is none", o["size"])
		}
		t.Size = int(size)
	default:
		t.Kind = Record
		err = p.fields(t, o["fields"], namespace, depth)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

func symbols(t *Type, v any) error {
	list, _ := v.([]any)
	for _, v := range list {
		s, _ := v.(string)
		if !isName(s) || slices.Contains(t.Symbols, s) {
			return fmt.Errorf("%v is no symbol, or is there twice", v)
		}
		t.Symbols = append(t.Symbols, s)
	}
	if len(list) == 0 {
		return fmt.Errorf("an enum has no symbols")
	}
	return nil
}

func (p *parser) fields(t *Type, v any, namespace string, depth int) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("a record has no fields")
	}
	seen := map[string]bool{}
	for _, v := range list {
		o, _ := v.(map[string]any)
		name, _ := o["name"].(string)
		if !isName(name) || seen[name] {
			return fmt.Errorf("%q is no name for a field, or is there twice", name)
		}
		seen[name] = true
		ft, err := p.typ(o["type"], namespace, depth+1)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f := Field{Name: name, Type: ft}
		f.Doc, _ = o["doc"].(string)
		if def, ok := o["default"]; ok {
			b, err := json.Marshal(def)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			f.Default = string(b)
		}
		t.Fields = append(t.Fields, f)
	}
	return nil
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
