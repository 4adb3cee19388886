package flogo

import (
	"slices"
	"strings"
)

// A flowScope is what the tasks of a flow may name so far.
type flowScope struct {
	r *reader
	v *variant
	// run are the tasks that are before the one that is made.
	run map[string]*task
	// assigned are what mappers have given the flow's attributes.
	assigned map[string]term
	links    map[*link]condition
}

// scope says what a path in a task stands for.
func (s *flowScope) scope(ref ref) (term, *problem) {
	switch ref.resolver {
	case "flow", "": // the scope of a task is its flow
		return s.attribute(ref)
	case "activity":
		return s.activity(ref)
	case "error":
		return term{}, wrong(ref.at, "$error is not read: a run whose step fails ends, and its caller is told so")
	case "iteration", "loop":
		return term{}, wrong(ref.at, "$%s is not read: there are no loops; have a service go through the elements", ref.resolver)
	}
	return s.r.common(ref, "$flow.…", "$activity[…].…")
}

// attribute is an input of the flow, or what a mapper has made.
func (s *flowScope) attribute(ref ref) (term, *problem) {
	path := ref.path
	if ref.item != "" {
		path = append([]segment{{at: ref.at, name: ref.item}}, path...)
	}
	if len(path) == 0 || path[0].index {
		return term{}, wrong(ref.at, "an input of the flow should follow, such as $flow.name")
	}
	name := path[0]
	if t, ok := s.assigned[name.name]; ok {
		return under(t, path[1:]), nil
	}
	in := s.v.res.input(name.name)
	if in == nil {
		err := wrong(name.at, "the flow has no input %s, and no mapper before has made it", shown(name.name))
		for _, in := range s.v.res.inputs {
			err.allowed = append(err.allowed, in.app)
		}
		for made := range s.assigned {
			err.allowed = append(err.allowed, made)
		}
		slices.Sort(err.allowed)
		return term{}, err
	}
	return under(atom("inputs."+in.name, in.typ), path[1:]), nil
}

// under is a value below a term.
func under(t term, path []segment) term {
	if len(path) == 0 {
		return t
	}
	return atom(t.in(atomLevel)+pathText(path), anyType)
}

// results are what the activities of a kind have, of which only some is read.
var results = map[string][]string{"rest": {"data", "status"}, "grpc": {"body"}}

// activity is the result of a task.
func (s *flowScope) activity(ref ref) (term, *problem) {
	t := s.run[ref.item]
	if t == nil {
		err := wrong(ref.at, "there is no task %s that has run before this one", shown(ref.item))
		for id, t := range s.run {
			if t.kind != "log" && t.kind != "noop" {
				err.allowed = append(err.allowed, id)
			}
		}
		slices.Sort(err.allowed)
		return term{}, err
	}
	step := "steps." + t.name
	switch t.kind {
	case "rest", "grpc":
		if len(ref.path) == 0 || ref.path[0].index || !contained(results[t.kind], ref.path[0].name) {
			err := wrong(ref.at, "of what a %s activity gives, this is not read", t.kind)
			err.allowed = results[t.kind]
			return term{}, err
		}
		if ref.path[0].name == "status" { // all else is an error
			return literal(int64(200)), nil
		}
		return under(atom(step, anyType), ref.path[1:]), nil
	case "mapper", "subflow", "unread":
		return under(atom(step, anyType), ref.path), nil
	}
	return term{}, wrong(ref.at, "the task %s has no result: it is a %s", shown(ref.item), t.kind)
}

// replyTerms are what a return gives, by name, so that the mapping of a trigger can
// name them.
type replyTerms struct {
	terms   map[string]term
	outputs []string
}

// scope is that of a trigger's output mapping.
func (p *replyTerms) scope(r *reader) scope {
	return func(ref ref) (term, *problem) {
		if ref.resolver != "" {
			return r.common(ref, "$.…, an output of the flow")
		}
		if len(ref.path) == 0 {
			return term{}, wrong(ref.at, "an output of the flow should follow, such as $.data")
		}
		name := ref.path[0]
		t, ok := p.terms[name.name]
		if !ok {
			if contained(p.outputs, name.name) {
				return literal(nil), nil
			}
			err := wrong(name.at, "the flow has no output %s", shown(name.name))
			err.allowed = p.outputs
			return term{}, err
		}
		return inside(t, ref.path[1:])
	}
}

// inside goes into what is mapped member by member.
func inside(t term, path []segment) (term, *problem) {
	for i, s := range path {
		if t.whole == nil {
			if t.literal {
				return term{}, wrong(s.at, "%s is in a value that has no members", shown(s.name))
			}
			return under(t, path[i:]), nil
		}
		j := slices.IndexFunc(t.whole.members, func(m madeMember) bool { return m.key == s.name })
		if j < 0 || s.index {
			return term{}, wrong(s.at, "the flow returns no %s there", shown(s.name))
		}
		next := t.whole.members[j].value
		if next.kind == object || next.kind == list {
			t = term{whole: next, sure: true}
			continue
		}
		// A value that has been written is taken as it stands.
		t = term{whole: next, sure: true}
		if i+1 < len(path) {
			if expr, ok := strings.CutPrefix(next.text, openMark+" "); ok && strings.Count(next.text, openMark) == 1 && strings.HasSuffix(expr, " }}") {
				return term{whole: say(next.at, openMark+" ("+strings.TrimSuffix(expr, " }}")+")"+pathText(path[i+1:])+" }}")}, nil
			}
			return term{}, wrong(s.at, "%s has no members", shown(s.name))
		}
	}
	return t, nil
}
