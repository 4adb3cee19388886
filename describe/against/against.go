package against

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/schema"
)

// A Change is one that breaks old clients.
type Change struct {
	// Place is a method, a field or a value of an enum, by its old full name.
	Place string `json:"place"`
	// Change says what was and what is.
	Change string `json:"change"`
	// In says where the change of a message is met: in requests, which old
	// clients write, in replies, which they read, or in both. It is empty where
	// a method itself has changed.
	In string `json:"in,omitempty"`
	// Breaks are the encodings, or wires, that it breaks; or [All].
	Breaks []string `json:"breaks"`
}

// All stands for every encoding and wire in what a [Change] breaks.
const All = "all"

// What a Change is in.
const (
	InRequests = "requests"
	InReplies  = "replies"
	InBoth     = "both"
)

// Compare names the changes from old to new that break old clients, in the
// order of the old methods. Routes are compared if the old methods have any.
func Compare(old, now []*everywire.Method) ([]Change, error) {
	before, err := describeAll(old)
	if err != nil {
		return nil, fmt.Errorf("the old services: %w", err)
	}
	after, err := describeAll(now)
	if err != nil {
		return nil, fmt.Errorf("the new services: %w", err)
	}
	c := comparison{
		routes: slices.ContainsFunc(old, func(m *everywire.Method) bool { return len(m.Routes) > 0 }),
		seen:   map[pair]bool{},
	}
	for _, m := range before {
		i := slices.IndexFunc(after, func(n method) bool { return n.FullName() == m.FullName() })
		if i < 0 {
			c.add(m.FullName(), "removed", "", All)
			continue
		}
		c.method(m, after[i])
	}
	return c.changes, nil
}

// A method has its descriptor, made or generated; nil if its types are not
// known.
type method struct {
	*everywire.Method
	desc protoreflect.MethodDescriptor
}

func describeAll(methods []*everywire.Method) ([]method, error) {
	set, err := schema.Files(describe.Services(methods, false)...)
	if err != nil {
		return nil, err
	}
	all := make([]method, len(methods))
	for i, m := range methods {
		all[i] = method{m, m.Desc}
		if m.Desc != nil {
			continue
		}
		d, err := set.Files.FindDescriptorByName(protoreflect.FullName(m.Service))
		if err != nil {
			return nil, err
		}
		all[i].desc = d.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(m.Name))
	}
	return all, nil
}

type comparison struct {
	routes  bool
	changes []Change
	seen    map[pair]bool
}

// add notes a change. One that is in requests and in replies is one.
func (c *comparison) add(place, change, in string, breaks ...string) {
	if len(breaks) == 0 {
		return
	}
	byRank := func(a, b string) int { return rank(a) - rank(b) }
	i := slices.IndexFunc(c.changes, func(d Change) bool { return d.Place == place && d.Change == change })
	if i < 0 {
		c.changes = append(c.changes, Change{place, change, in, slices.SortedFunc(slices.Values(breaks), byRank)})
		return
	}
	d := &c.changes[i]
	if d.In != in {
		d.In = InBoth
	}
	for _, b := range breaks {
		if !slices.Contains(d.Breaks, b) {
			d.Breaks = append(d.Breaks, b)
		}
	}
	slices.SortFunc(d.Breaks, byRank)
}

func (c *comparison) method(old, now method) {
	place := old.FullName()
	if old.Kind != now.Kind {
		c.add(place, fmt.Sprintf("%s → %s", old.Kind, now.Kind), "", All)
	}
	switch {
	case old.Idempotency == now.Idempotency:
	case old.Idempotency == everywire.NoSideEffects: // GET goes with it
		c.add(place, "has side effects now: clients may call it with GET, and again", "", All)
	case old.Idempotency == everywire.Idempotent && now.Idempotency == everywire.IdempotencyUnknown:
		c.add(place, "is not idempotent any more: clients may call it again", "", All)
	}
	if c.routes {
		c.methodRoutes(old, now)
	}
	if old.desc == nil || now.desc == nil {
		return
	}
	c.whole(place+" (request)", InRequests, old.desc.Input(), now.desc.Input())
	c.whole(place+" (reply)", InReplies, old.desc.Output(), now.desc.Output())
}

// methodRoutes looks for each old route among the new ones. How its variables
// are called is not in the URL.
func (c *comparison) methodRoutes(old, now method) {
	for _, r := range old.Routes {
		place := old.FullName()
		name := r.Verb + " " + r.Pattern
		i := slices.IndexFunc(now.Routes, func(n everywire.Route) bool {
			return (n.Verb == r.Verb || n.Verb == "*") && shapeOf(n.Pattern) == shapeOf(r.Pattern)
		})
		if i < 0 {
			c.add(place, name+": removed", "", "rest")
			continue
		}
		n := now.Routes[i]
		if n.Body != r.Body {
			c.add(place, fmt.Sprintf("%s: body %s → %s", name, bodyName(r.Body), bodyName(n.Body)), "", "rest")
		}
		if n.ResponseBody != r.ResponseBody {
			c.add(place, fmt.Sprintf("%s: response body %s → %s", name, responseName(r.ResponseBody), responseName(n.ResponseBody)), "", "rest")
		}
		if was, is := variables(r.Pattern), variables(n.Pattern); !slices.Equal(was, is) && old.desc != nil && now.desc != nil {
			if !sameFields(old.desc.Input(), now.desc.Input(), was, is) {
				c.add(place, fmt.Sprintf("%s: fills %s → %s", name, strings.Join(was, ", "), strings.Join(is, ", ")), "", "rest")
			}
		}
	}
}

var variable = regexp.MustCompile(`\{([^}=]+)(=[^}]*)?\}`)

// shapeOf is a pattern without the names of its variables.
func shapeOf(pattern string) string {
	return variable.ReplaceAllStringFunc(pattern, func(v string) string {
		template := "*"
		if _, t, ok := strings.Cut(strings.Trim(v, "{}"), "="); ok {
			template = t
		}
		return "{" + template + "}"
	})
}

func variables(pattern string) []string {
	var names []string
	for _, v := range variable.FindAllStringSubmatch(pattern, -1) {
		names = append(names, v[1])
	}
	return names
}

// sameFields reports whether paths that differ lead to the same fields, which
// then have other names.
func sameFields(old, now protoreflect.MessageDescriptor, was, is []string) bool {
	if len(was) != len(is) {
		return false
	}
	for i := range was {
		a, b := numbersOf(old, was[i]), numbersOf(now, is[i])
		if len(a) == 0 || !slices.Equal(a, b) {
			return false
		}
	}
	return true
}

// numbersOf are the numbers of the fields on a path such as book.name; nil if
// there is no such path.
func numbersOf(m protoreflect.MessageDescriptor, path string) []protoreflect.FieldNumber {
	var numbers []protoreflect.FieldNumber
	for name := range strings.SplitSeq(path, ".") {
		if m == nil {
			return nil
		}
		f := m.Fields().ByTextName(name)
		if f == nil {
			return nil
		}
		numbers = append(numbers, f.Number())
		m = f.Message()
	}
	return numbers
}

func bodyName(body string) string {
	if body == "" {
		return "none"
	}
	return body
}

func responseName(field string) string {
	if field == "" {
		return "the reply"
	}
	return field
}
