package flow

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/internal/yamltree"
)

// An Assignment gives a setting another value than the file does.
type Assignment struct{ Name, Value string }

// Parse reads a flow file. The name stands in errors. An error is of type [Errors]
// and has all that is wrong with what the file says by itself; whether its targets
// can be dialled and served is for [Check]. The file is then what could be read, for
// Check and for those who draw it, but cannot be run.
func Parse(name string, text []byte, set ...Assignment) (*File, error) {
	if !utf8.Valid(text) {
		s := newSource(name, strings.ToValidUTF8(string(text), "\uFFFD"))
		s.bad(s.firstInvalid(), "the file is not UTF-8")
		return &File{Name: name, src: s}, s.errs.err()
	}
	return newSource(name, string(text)).parse(text, set)
}

func (s *source) parse(text []byte, set []Assignment) (*File, error) {
	r := &reader{source: s, file: &File{Name: s.name, src: s}, flows: map[string]*Flow{}}
	if root := s.document(text); root != nil {
		r.read(root, set)
		r.resolve()
	}
	return r.file, s.errs.err()
}

// firstInvalid is the place of the first character that stands for bytes which are
// not UTF-8.
func (s *source) firstInvalid() Pos {
	for i, line := range s.lines {
		if j := slices.Index(line, utf8.RuneError); j >= 0 {
			return Pos{i + 1, j + 1}
		}
	}
	return Pos{1, 1}
}

// A reader makes a File of a document.
type reader struct {
	*source
	file     *File
	settings constant
	flows    map[string]*Flow
	// later are checks that need the whole file.
	later []func()
}

func (r *reader) read(root ast.Node, set []Assignment) {
	o := r.object(root, Pos{1, 1}, "a flow file", "name", "version", "doc", "settings", "messages", "methods", "triggers", "flows")
	if o == nil {
		return
	}
	r.file.App = o.plainText("name", "hello-client")
	if o.find("version") != nil {
		r.file.Version = o.plainText("version", "1.0.0")
	}
	r.file.Doc = o.doc()
	if e := o.get("settings"); e != nil {
		r.readSettings(e)
	}
	r.set(set)
	r.settings = constant{r.source, r.settingsScope()}
	if e := o.get("messages"); e != nil {
		r.readMessages(e)
	}
	if e := o.get("methods"); e != nil {
		r.readMethods(e)
	}
	if e := o.need("flows", "flows: {greet: {steps: […]}}"); e != nil {
		r.readFlows(e)
	}
	if e := o.need("triggers", "triggers: {tick: {timer: {every: 100ms}, flow: greet}}"); e != nil {
		r.readTriggers(e)
	}
}

// plainText is a text without expressions, which is needed.
func (o *object) plainText(key, example string) string {
	e := o.need(key, example)
	if e == nil {
		return ""
	}
	text, ok := yamltree.Scalar(e.value)
	if !ok || text == "" {
		o.src.bad(start(e.value), "%q is a text such as %s, not %s", key, example, kindOf(e.value))
	}
	return text
}

// doc is what a thing is for, to people.
func (o *object) doc() string {
	e := o.get("doc")
	if e == nil {
		return ""
	}
	text, ok := yamltree.Scalar(e.value)
	if !ok {
		o.src.bad(start(e.value), "\"doc\" is a text, not %s", kindOf(e.value))
	}
	return text
}

// names of things that expressions name, and of those that they do not.
var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	label      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)
)

// nameIs checks the name of a thing.
func (r *reader) nameIs(e entry, what string, form *regexp.Regexp) bool {
	if form.MatchString(e.key) {
		return true
	}
	also := "'_'"
	if form == label {
		also = "'_', '-' and '.'"
	}
	r.bad(e.at, "%s cannot be the name of %s: it begins with a letter and has letters, digits, %s, up to 64", shown(e.key), what, also)
	return false
}

func (r *reader) readSettings(e *entry) {
	all, _ := r.entries(e.value, "the settings")
	for _, m := range all {
		if !r.nameIs(m, "a setting", identifier) {
			continue
		}
		v := r.value(m.value, m.at)
		if v == nil {
			continue
		}
		if v.Kind != Constant || v.Const == nil {
			r.bad(v.Pos, "the value of a setting is a text, a number or a bool, without expressions")
			continue
		}
		r.file.Settings = append(r.file.Settings, &Setting{Pos: m.at, Name: m.key, Value: v.Const, Default: v.Const})
	}
}

// set puts in other values for settings, of the types that they have.
func (r *reader) set(all []Assignment) {
	for _, a := range all {
		s := byName(r.file.Settings, a.Name)
		if s == nil {
			r.bad(Pos{1, 1}, "the file has no setting %q%s", a.Name, meant(a.Name, namesOf(r.file.Settings))).Allowed = namesOf(r.file.Settings)
			continue
		}
		var err error
		switch s.Default.(type) {
		case string:
			s.Value = a.Value
		case bool:
			s.Value, err = strconv.ParseBool(a.Value)
		case float64:
			s.Value, err = strconv.ParseFloat(a.Value, 64)
		default:
			s.Value, err = strconv.ParseInt(a.Value, 10, 64)
		}
		if f, ok := s.Value.(float64); err != nil || ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			r.bad(s.Pos, "the setting %s is %v, which %s is not", s.Name, expr.TypeOf(s.Default), shown(a.Value))
			s.Value = s.Default
		}
	}
}

// settingsScope is what constants may name.
func (r *reader) settingsScope() expr.Scope {
	root := expr.Root{Name: "settings", What: "setting"}
	for _, s := range r.file.Settings {
		root.Vars = append(root.Vars, expr.Var{Name: s.Name, Type: expr.TypeOf(s.Value), Const: true, Value: s.Value})
	}
	return expr.Scope{root}
}

func (r *reader) readMethods(e *entry) {
	all, _ := r.entries(e.value, "the methods")
	for _, m := range all {
		service, name, err := everywire.SplitMethod(m.key)
		if err != nil || m.key[0] == '/' || !protoreflect.FullName(service).IsValid() || !protoreflect.Name(name).IsValid() {
			r.bad(m.at, "%s is not the name of a method: it is of the form package.Service/Method, such as hello.Hello/Greet", shown(m.key))
			continue
		}
		method := &Method{Pos: m.at, Name: m.key}
		r.file.Methods = append(r.file.Methods, method)
		if o := r.object(m.value, m.at, "a method", "request", "reply", "route", "idempotency", "doc"); o != nil {
			r.readMethod(method, o)
		}
	}
}

// idempotencies are the words for what happens if a call runs twice, in the order
// of [everywire.Idempotency].
var idempotencies = []string{"unknown", "no-side-effects", "idempotent"}

var verbs = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

func (r *reader) readMethod(m *Method, o *object) {
	m.Doc = o.doc()
	m.Request = r.messageNamed(o.get("request"))
	m.Reply = r.messageNamed(o.get("reply"))
	if e := o.get("idempotency"); e != nil {
		i, _ := r.settings.word(e, "\"idempotency\"", idempotencies)
		m.Idempotency = everywire.Idempotency(i) //nolint:gosec // of three
	}
	if e := o.get("route"); e != nil {
		text, _ := yamltree.Scalar(e.value)
		m.RoutePos = start(e.value)
		verb, path, ok := strings.Cut(text, " ")
		switch {
		case !ok || !strings.HasPrefix(path, "/"):
			r.bad(start(e.value), "%s is no route: it is of the form VERB /PATH, such as GET /hello/{name}", shown(text))
		case !slices.Contains(verbs, verb):
			r.bad(start(e.value), "there is no verb %q%s", verb, meant(verb, verbs)).Allowed = verbs
		default:
			m.Verb, m.Path = verb, path
		}
	}
}

// messageNamed is the message of a name. "any" is a document, and so is nothing.
func (r *reader) messageNamed(e *entry) *Message {
	if e == nil {
		return nil
	}
	name, _ := yamltree.Scalar(e.value)
	m := r.file.Message(name)
	if m == nil && name != "any" {
		names := append(namesOf(r.file.Messages), "any")
		r.bad(start(e.value), "there is no message %q%s", name, meant(name, names)).Allowed = names
	}
	return m
}

func (r *reader) readTriggers(e *entry) {
	all, _ := r.entries(e.value, "the triggers")
	if len(all) == 0 {
		r.bad(e.at, "a flow file needs a trigger, or nothing will ever run")
	}
	for _, m := range all {
		if !r.nameIs(m, "a trigger", label) {
			continue
		}
		o := r.object(m.value, m.at, "a trigger", "timer", "on", "method", "flow", "with", "limit")
		if o == nil {
			continue
		}
		t := &Trigger{Pos: m.at, Name: m.key}
		r.file.Triggers = append(r.file.Triggers, t)
		r.readTrigger(t, o)
	}
}

// The numbers of runs that a trigger may have under way, if the file does not say.
const (
	defaultParallel = 100  // of a timer
	defaultCalls    = 1000 // of a method
	maxLimit        = 1_000_000
)

func (r *reader) readTrigger(t *Trigger, o *object) {
	timer, on := o.find("timer"), o.find("on")
	switch {
	case timer != nil && on != nil:
		r.bad(on.at, "a trigger has a timer, or it serves a method on a target: this has both")
	case timer != nil:
		t.Timer = r.readTimer(timer)
		if e := o.find("method"); e != nil {
			r.bad(e.at, "a trigger with a timer has no method: a method is served on a target (\"on\")")
		}
	case on != nil:
		t.Service = r.readService(o)
	default:
		r.bad(o.at, "a trigger needs \"timer\", such as {every: 100ms}, or \"on\" and \"method\", such as rest://:8080 and hello.Hello/Greet")
	}
	t.Limit = defaultCalls
	if t.Timer != nil {
		t.Limit = defaultParallel
		if t.Timer.Overlap == Queue {
			t.Limit = defaultCalls
		}
	}
	if e := o.get("limit"); e != nil {
		t.Limit = r.settings.integer(e, "\"limit\"", 1, maxLimit)
		if t.Timer != nil && t.Timer.Overlap == Skip {
			r.bad(e.at, "\"limit\" is for runs that wait or run beside each other: with overlap: skip there is one at a time")
		}
	}
	if e := o.get("with"); e != nil {
		t.With = r.members(e, "the inputs")
	}
	if e := o.need("flow", "greet"); e != nil {
		t.FlowPos = start(e.value)
		r.later = append(r.later, func() { t.Flow = r.flowNamed(e) })
	}
}

// members reads names with values.
func (r *reader) members(e *entry, what string) []Member {
	all, _ := r.entries(e.value, what)
	var members []Member
	for _, m := range all {
		if v := r.value(m.value, m.at); v != nil {
			members = append(members, Member{m.at, m.key, v})
		}
	}
	return members
}

func (r *reader) flowNamed(e *entry) *Flow {
	name, _ := yamltree.Scalar(e.value)
	f := r.flows[name]
	if f == nil {
		names := namesOf(r.file.Flows)
		r.bad(start(e.value), "there is no flow %q%s", name, meant(name, names)).Allowed = names
	}
	return f
}

func (r *reader) readTimer(e *entry) *Timer {
	o := r.object(e.value, e.at, "a timer", "every", "after", "count", "overlap")
	if o == nil {
		return nil
	}
	t := new(Timer)
	if e := o.need("every", "100ms"); e != nil {
		t.Every = r.settings.duration(e, "\"every\"", time.Millisecond)
	}
	if e := o.get("after"); e != nil {
		t.After = r.settings.duration(e, "\"after\"", 0)
	}
	if e := o.get("count"); e != nil {
		t.Count = r.settings.integer(e, "\"count\"", 1, math.MaxInt32)
	}
	if e := o.get("overlap"); e != nil {
		i, _ := r.settings.word(e, "\"overlap\"", overlaps)
		t.Overlap = Overlap(i) //nolint:gosec // of three
	}
	return t
}

func (r *reader) readService(o *object) *Service {
	s := new(Service)
	if e := o.get("on"); e != nil {
		s.OnPos = start(e.value)
		s.On = r.settings.text(e, "\"on\"", "rest://:8080")
	}
	if e := o.need("method", "hello.Hello/Greet"); e != nil {
		s.Method = r.methodNamed(e)
	}
	return s
}

func (r *reader) methodNamed(e *entry) *Method {
	name, _ := yamltree.Scalar(e.value)
	m := r.file.Method(name)
	if m == nil {
		names := namesOf(r.file.Methods)
		if len(names) == 0 {
			r.bad(start(e.value), "there is no method %q: describe it under \"methods\"", name)
			return nil
		}
		r.bad(start(e.value), "there is no method %q%s", name, meant(name, names)).Allowed = names
	}
	return m
}
