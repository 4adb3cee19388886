package flogo

import (
	"strconv"
	"strings"
)

// makeFlow makes the steps of a flow.
func (r *reader) makeFlow(v *variant) {
	s := &flowScope{r: r, v: v, run: map[string]*task{}, assigned: map[string]term{}, links: map[*link]condition{}}
	steps := &made{at: v.res.n.at, kind: list}
	for _, t := range v.res.tasks {
		var when []condition
		for _, l := range t.in {
			when = append(when, s.links[l])
		}
		c := condition{}
		if len(when) > 0 {
			c = either(when)
		}
		if c.never {
			r.bad(t.n.at, "the task %s never runs: an otherwise needs links with conditions from the same task", shown(t.id))
		}
		if step := s.step(t, c); step != nil {
			steps.items = append(steps.items, step)
		}
		s.run[t.id] = t
		s.follow(t, c)
	}
	if len(steps.items) == 0 && len(v.res.tasks) > 0 { // nothing but noop
		steps.items = append(steps.items, obj(steps.at).put("return", steps.at, obj(steps.at)))
	}
	v.inputs = obj(v.res.n.at)
	v.made = obj(v.res.n.at).put("steps", v.res.n.at, steps)
}

// step makes a step of a task, or returns nil if there is none to make.
func (s *flowScope) step(t *task, c condition) *made {
	var what string
	var does *made
	settings, in := t.activity.get("settings"), t.activity.get("input")
	none := &node{at: t.activity.at, kind: object}
	if settings == nil {
		settings = none
	}
	if in == nil {
		in = none
	}
	switch t.kind {
	case "log":
		what, does = "log", s.log(settings, in)
	case "mapper":
		what, does = "map", s.mapper(t, settings, in, c)
	case "actreturn":
		what, does = "return", s.ret(t, settings, in)
	case "error":
		what, does = "return", s.failure(settings, in)
	case "subflow":
		what, does = "flow", s.subflow(t, settings, in)
	case "rest":
		what, does = "invoke", s.rest(t, settings, in)
	case "grpc":
		what, does = "invoke", s.grpc(t, settings, in)
	}
	s.taskSettings(t, does)
	if does == nil {
		return nil
	}
	step := obj(t.n.at).put("name", t.n.at, say(t.n.at, t.name))
	if c.text != "" {
		step.put("when", t.n.at, say(t.n.at, c.text))
	}
	return step.put(what, t.activity.at, does)
}

// taskSettings are those of the task itself: calls that are made again.
func (s *flowScope) taskSettings(t *task, does *made) {
	n := t.n.get("settings")
	if n == nil || !s.r.fields(n, "the settings of a task", []string{"retryOnError"}, nil) {
		return
	}
	retry := n.get("retryOnError")
	if retry == nil || empty(retry) {
		return
	}
	if t.kind != "rest" && t.kind != "grpc" {
		s.r.bad(retry.at, "only REST and gRPC activities are made again")
		return
	}
	if !s.r.fields(retry, "retryOnError", []string{"count", "interval"}, nil) || does == nil {
		return
	}
	number := func(key string) int {
		v := retry.get(key)
		if v == nil {
			return 0
		}
		text, ok := s.r.constText(v)
		n, err := strconv.Atoi(text)
		if ok && (err != nil || n < 0) {
			s.r.bad(v.at, "%q is a whole number, not %v", key, v)
		}
		return n
	}
	count, interval := number("count"), number("interval")
	if count < 1 {
		return
	}
	out := obj(retry.at).put("attempts", retry.at, word(retry.at, strconv.Itoa(count+1)))
	if interval > 0 {
		out.put("backoff", retry.at, word(retry.at, strconv.Itoa(interval)+"ms"))
	}
	does.put("retry", retry.at, out)
}

func (s *flowScope) log(settings, in *node) *made {
	s.r.fields(settings, "a log activity", []string{"logLevel"}, []string{"addDetails", "usePrint"})
	s.r.fields(in, "a log activity", []string{"message", "logLevel", "Log Level"}, []string{"addDetails", "flowInfo", "addToFlow", "usePrint"})
	message := say(in.at, "")
	if m := in.get("message"); m != nil {
		t, ok := s.r.term(m, s.scope)
		if !ok {
			return nil
		}
		if message = emit(t, m.at); t.whole != nil {
			message = s.json(m, t)
		}
	}
	out := obj(in.at).put("message", in.at, message)
	for _, v := range []*node{settings.get("logLevel"), in.get("logLevel"), in.get("Log Level")} {
		if v != nil && !empty(v) {
			return out.put("level", v.at, s.level(v))
		}
	}
	return out
}

// levels are those of log activities.
var levels = []string{"DEBUG", "INFO", "WARN", "ERROR"}

func (s *flowScope) level(n *node) *made {
	level, ok := s.r.constText(n)
	if level = strings.ToUpper(level); ok && !contained(levels, level) {
		s.r.bad(n.at, "the level %s is not read", shown(level)).Allowed = levels
	}
	return word(n.at, strings.ToLower(level))
}

// json is an object in a text, where package flow makes JSON of it.
func (s *flowScope) json(at *node, t term) *made {
	if t.whole.kind == object || t.whole.kind == list {
		return t.whole
	}
	return emit(t, at.at)
}

// mappings are those of a mapper or a return.
func (s *flowScope) mappings(settings, in *node, what string) *node {
	s.r.fields(settings, what, []string{"mappings"}, nil)
	s.r.fields(in, what, []string{"mappings"}, nil)
	m := settings.get("mappings")
	if m == nil {
		m = in.get("mappings")
	}
	if m != nil && m.kind != object {
		s.r.bad(m.at, "the mappings are an object of names and values, not %v", m)
		return nil
	}
	return m
}

func (s *flowScope) mapper(t *task, settings, in *node, c condition) *made {
	m := s.mappings(settings, in, "a mapper")
	out := obj(t.activity.at)
	if m == nil {
		return out
	}
	assigned := map[string]term{}
	for _, one := range m.members {
		v, ok := s.r.term(one.value, s.scope)
		if !ok {
			v = atom("null", anyType)
		}
		out.put(one.key, one.at, emit(v, one.value.at))
		if _, before := s.assigned[one.key]; c.text != "" && (before || s.v.res.input(one.key) != nil) {
			s.r.bad(one.at, "%s has a value already, which it would keep if this task does not run: give it another name", shown(one.key))
		}
		assigned[one.key] = atom("steps."+t.name+pathText([]segment{{name: one.key}}), v.typ)
	}
	for name, v := range assigned { // a mapper names what was before it
		s.assigned[name] = v
	}
	return out
}

func (s *flowScope) subflow(t *task, settings, in *node) *made {
	r := s.r
	r.fields(settings, "a subflow activity", []string{"flowURI"}, nil)
	f := r.flowOf(settings, t.activity)
	if f == nil {
		return nil
	}
	given, with := r.with(f, in, t.activity.at, s.scope)
	v := r.variant(f, &reply{whole: true})
	v.callers = append(v.callers, given)
	uri := settings.get("flowURI").at
	out := obj(t.activity.at).put("name", uri, say(uri, v.name))
	if len(with.members) > 0 {
		out.put("with", with.at, with)
	}
	return out
}

// failure is the activity "error": the run ends.
func (s *flowScope) failure(settings, in *node) *made {
	s.r.fields(settings, "an error activity", nil, nil)
	s.r.fields(in, "an error activity", []string{"message"}, nil)
	message := say(in.at, "the flow failed")
	if m := in.get("message"); m != nil {
		t, ok := s.r.term(m, s.scope)
		if !ok {
			return nil
		}
		message = emit(t, m.at)
	}
	return failed(in.at, "FAILED_PRECONDITION", message) // HTTP 400, as Flogo answers
}

func failed(at int, code string, message *made) *made {
	e := obj(at).put("code", at, word(at, code)).put("message", at, message)
	return obj(at).put("error", at, e)
}
