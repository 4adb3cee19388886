package members

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/everywire/everywire/schema"
)

type (
	tree struct {
		Name   string  `wire:"1"`
		Leaves []*leaf `wire:"2"`
	}
	leaf struct {
		Root *tree `wire:"1"`
	}
)

// A plan of these tests knows the plans of a type's messages.
type plan struct {
	of     reflect.Type
	fields []*plan
}

func compile(p *plan, m *schema.Message, of func(*schema.Message) *plan) {
	p.of = m.Type
	for _, f := range m.Fields {
		if f.Message != nil {
			p.fields = append(p.fields, of(f.Message))
		}
	}
}

func TestPlansOfRecursiveTypes(t *testing.T) {
	var plans Plans[plan]
	var all sync.WaitGroup
	got := make([]*plan, 8)
	for i := range got {
		all.Go(func() {
			p, v, err := plans.For(&tree{Name: "x"}, compile)
			if err != nil || v.Field(0).String() != "x" {
				t.Errorf("%v, %v", v, err)
			}
			got[i] = p
		})
	}
	all.Wait()
	for _, p := range got {
		if p != got[0] || p.of != reflect.TypeFor[tree]() || p.fields[0].fields[0] != p {
			t.Errorf("plan %+v", p)
		}
	}
	p, _, err := plans.For(new(leaf), compile)
	if err != nil || p != got[0].fields[0] {
		t.Errorf("the plan of a leaf is not that which its tree has: %v", err)
	}
}

func TestPlansRefuse(t *testing.T) {
	p := new(tree)
	for _, tt := range []struct {
		msg  any
		want string
	}{
		{nil, "<nil> is not a pointer to a message"},
		{tree{}, "members.tree is not a pointer to a message"},
		{(*tree)(nil), "the message is a nil *members.tree"},
		{&p, "**members.tree is not a pointer to a plain struct"},
		{new(schema.Document), "*schema.Document is not a pointer to a plain struct"},
		{new(int), "schema: int is not a struct"},
	} {
		var plans Plans[plan]
		if _, _, err := plans.For(tt.msg, compile); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%T: %v, want %q", tt.msg, err, tt.want)
		}
	}
}

func TestSeen(t *testing.T) {
	var ordinals Ordinals
	var names Names
	for round := range 2 {
		for n := range 200 { // the sets change their form on the way
			if got := ordinals.Add(n); got != (round == 0) {
				t.Errorf("round %d: %d is new: %v", round, n, got)
			}
			if got := names.Add(fmt.Append(nil, n)); got != (round == 0) {
				t.Errorf("round %d: the name %d is new: %v", round, n, got)
			}
		}
	}
}

func TestInterner(t *testing.T) {
	var in Interner
	for range 2 {
		for _, name := range []string{"", "a", "b", "ab", "ba", "axb", "ayb", strings.Repeat("x", longest), strings.Repeat("x", longest+1)} {
			if got := in.String([]byte(name)); got != name {
				t.Errorf("%q became %q", name, got)
			}
		}
	}
	name := []byte("name")
	in.String(name)
	if n := testing.AllocsPerRun(10, func() { in.String(name) }); n != 0 {
		t.Errorf("%v allocations for a name that was seen", n)
	}
	kept := in.String(name)
	name[0] = 'X'
	if kept != "name" {
		t.Error("the string is a part of the input")
	}
}
