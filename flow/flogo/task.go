package flogo

import (
	"slices"
	"strings"
)

// A task is an activity of a flow, with the links to it and from it.
type task struct {
	id       string
	n        *node
	activity *node
	kind     string // of the activity: log, rest …
	name     string // of the step
	in, out  []*link
}

// A link says that a task comes after another.
type link struct {
	n        *node
	kind     string
	from, to *task
}

// readTasks reads the tasks of a flow, and puts them in an order in which they can run.
func (r *reader) readTasks(f *resource) {
	names, byID := newNames(), map[string]*task{}
	var all []*task
	for _, n := range r.listOf(f.n, "tasks") {
		if !r.fields(n, "a task", []string{"id", "type", "settings", "activity"}, []string{"name", "description"}) {
			continue
		}
		t := &task{id: r.textOf(n, "id", "a task", true), n: n, activity: n.get("activity")}
		if kind := n.get("type"); kind != nil && kind.text != "" && kind.text != "default" && kind.text != "basic" {
			r.bad(kind.at, "a task of the type %s is not read: there are no loops; have a service go through the elements", shown(kind.text))
		}
		if t.activity == nil || t.activity.kind != object {
			r.bad(n.at, "a task needs an \"activity\"")
			continue
		}
		if byID[t.id] != nil {
			r.bad(n.at, "there is another task %s", shown(t.id))
			continue
		}
		r.fields(t.activity, "an activity", []string{"ref", "settings", "input"}, []string{"schemas"})
		if t.kind = r.ref(t.activity, "activity", "an activity"); t.kind == "" {
			t.kind = "unread" // its own mistake, and no other's
		}
		t.name = names.of(t.id)
		byID[t.id] = t
		all = append(all, t)
	}
	if len(all) == 0 {
		r.bad(f.n.at, "the flow %s needs \"tasks\"", shown(f.id))
	}
	for _, n := range r.listOf(f.n, "links") {
		r.readLink(n, byID)
	}
	f.tasks = r.ordered(all)
}

func (r *reader) readLink(n *node, byID map[string]*task) {
	r.fields(n, "a link", []string{"from", "to", "type", "value"}, []string{"id", "name", "label"})
	l := &link{n: n, from: r.taskOf(n, "from", byID), to: r.taskOf(n, "to", byID)}
	kind := ""
	if t := n.get("type"); t != nil {
		kind = t.text
	}
	switch kind {
	case "", "default", "dependency", "0", "label", "2":
	case "expression", "1":
		if l.kind = "expression"; n.get("value") == nil || n.get("value").kind != text {
			r.bad(n.at, "a link with a condition needs a \"value\", an expression")
			return
		}
	case "exprOtherwise", "4":
		l.kind = "otherwise"
	case "error", "3":
		r.bad(n.get("type").at, "a link that is followed when a task fails is not read: a run whose step fails ends, and its caller is told so; \"retryOnError\" of a task is read")
		return
	default:
		r.bad(n.get("type").at, "a link of the type %s is not read", shown(kind)).Allowed = []string{"default", "expression", "exprOtherwise", "label"}
		return
	}
	if l.from != nil && l.to != nil {
		l.from.out = append(l.from.out, l)
		l.to.in = append(l.to.in, l)
	}
}

// taskOf is the task that a link names.
func (r *reader) taskOf(n *node, key string, byID map[string]*task) *task {
	v := n.get(key)
	if v == nil {
		r.bad(n.at, "a link needs %q", key)
		return nil
	}
	t := byID[v.text]
	if t == nil {
		e := r.bad(v.at, "there is no task %s", shown(v.text))
		for id := range byID {
			e.Allowed = append(e.Allowed, id)
		}
		slices.Sort(e.Allowed)
	}
	return t
}

// ordered puts tasks behind those that they come after, and else leaves them in the
// order of the file.
func (r *reader) ordered(all []*task) []*task {
	waiting := map[*task]int{}
	for _, t := range all {
		waiting[t] = len(t.in)
	}
	var order []*task
	for len(order) < len(all) {
		i := slices.IndexFunc(all, func(t *task) bool { n, left := waiting[t]; return left && n == 0 })
		if i < 0 {
			for _, t := range all {
				if _, left := waiting[t]; left {
					r.bad(t.in[0].n.at, "the links go round in a circle: a flow runs each task once")
					break
				}
			}
			return order
		}
		t := all[i]
		delete(waiting, t)
		order = append(order, t)
		for _, l := range t.out {
			waiting[l.to]--
		}
	}
	return order
}

// A condition says when a task runs: always, if text is "".
type condition struct {
	text  string
	level int
	never bool
}

// maxCondition bounds conditions, which grow where branches come together.
const maxCondition = 4 << 10

func (c condition) in(level int) string {
	if c.level < level {
		return "(" + c.text + ")"
	}
	return c.text
}

// and is a condition that has another behind it.
func (c condition) and(t term) condition {
	if c.text == "" {
		return condition{text: t.text, level: t.level}
	}
	return condition{text: c.in(andLevel) + " && " + t.in(andLevel+1), level: andLevel}
}

// either joins the conditions of the links to a task.
func either(all []condition) condition {
	var texts []string
	for _, c := range all {
		switch {
		case c.never:
		case c.text == "":
			return condition{}
		case !slices.Contains(texts, c.in(orLevel+1)):
			texts = append(texts, c.in(orLevel+1))
		}
	}
	switch len(texts) {
	case 0:
		return condition{never: true}
	case 1:
		for _, c := range all {
			if !c.never {
				return c
			}
		}
	}
	return condition{text: strings.Join(texts, " || "), level: orLevel}
}

// follow computes the conditions of the links from a task that has run under one.
func (s *flowScope) follow(t *task, c condition) {
	var yes []string
	good := true
	for _, l := range t.out {
		if l.kind != "expression" {
			continue
		}
		cond, ok := s.linkTerm(l)
		if !ok {
			good = false
			continue
		}
		yes = append(yes, cond.in(orLevel+1))
		s.links[l] = c.and(cond)
		if c.never {
			s.links[l] = c
		}
	}
	for _, l := range t.out {
		switch {
		case l.kind == "":
			s.links[l] = c
		case l.kind == "otherwise" && good:
			s.links[l] = c.and(term{text: "!(" + strings.Join(yes, " || ") + ")", level: unaryLevel})
			if len(yes) == 0 || c.never {
				s.links[l] = condition{never: true}
			}
		}
		if len(s.links[l].text) > maxCondition {
			s.r.bad(l.n.at, "the condition of this link is too long with those before it: make a part of the flow a subflow")
			s.links[l] = condition{}
		}
	}
}

// linkTerm is the condition of a link, which may begin with "=".
func (s *flowScope) linkTerm(l *link) (term, bool) {
	v := l.n.get("value")
	src, from := v.text, 0
	if rest, ok := strings.CutPrefix(src, "="); ok && !strings.HasPrefix(rest, "=") {
		src, from = rest, 1
	}
	t, err := translate(src, s.scope)
	switch {
	case err != nil:
		s.r.problem(v, from, err)
		return term{}, false
	case t.whole != nil:
		s.r.bad(v.at, "the condition of a link is true or false")
		return term{}, false
	}
	return t, true
}
