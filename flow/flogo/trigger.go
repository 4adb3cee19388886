package flogo

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A handler is one of a trigger, with the flow that it starts.
type handler struct {
	r                 *reader
	trigger, n        *node
	settings, action  *node
	flow              *resource
	variant           *variant
	params            map[string]bool // of the path
	queries, contents []string        // members of the request that are named
	contentAt         int             // where the whole content is named, -1 if nowhere
	given             map[string]bool // the inputs that it gives: true if they are sure
}

func (r *reader) readTriggers(app *node) *made {
	out := obj(app.at)
	n := app.get("triggers")
	if n == nil || n.kind != list || len(n.items) == 0 {
		r.bad(app.at, "the app needs \"triggers\", a list with a timer, a REST or a gRPC trigger at least")
		return out
	}
	out.at = n.at
	names := newNames()
	for _, t := range n.items {
		idle := []string{"name", "description", "outputs", "reply", "schemas", "type"}
		if !r.fields(t, "a trigger", []string{"id", "ref", "settings", "handlers"}, idle) {
			continue
		}
		id := r.textOf(t, "id", "a trigger", true)
		kind := r.ref(t, "trigger", "a trigger")
		hs := t.get("handlers")
		if kind == "" || hs == nil || hs.kind != list {
			if kind != "" {
				r.bad(t.at, "a trigger needs \"handlers\", a list")
			}
			continue
		}
		for _, h := range hs.items {
			name := id
			if len(hs.items) > 1 && r.textOf(h, "name", "", false) != "" {
				name = h.get("name").text
			}
			if made := r.readHandler(t, h, kind, name); made != nil {
				out.put(names.another(name), h.at, made)
			}
		}
	}
	return out
}

func (r *reader) readHandler(t, n *node, kind, name string) *made {
	idle := []string{"name", "description", "outputs", "reply", "schemas", "settings_ui"}
	if !r.fields(n, "a handler", []string{"settings", "action", "actions"}, idle) {
		return nil
	}
	h := &handler{r: r, trigger: t, n: n, settings: n.get("settings"), contentAt: -1, params: map[string]bool{}}
	if h.settings == nil {
		h.settings = &node{at: n.at, kind: object}
	}
	h.action = n.get("action")
	if all := n.get("actions"); all != nil {
		if all.kind != list || len(all.items) != 1 || h.action != nil {
			r.bad(all.at, "a handler has one action here: make the others handlers of their own, or subflows")
			return nil
		}
		h.action = all.items[0]
	}
	if h.action == nil {
		r.bad(n.at, "a handler needs an \"action\" with a flow")
		return nil
	}
	if !r.fields(h.action, "an action", []string{"ref", "settings", "input", "output"}, []string{"name", "description"}) || r.ref(h.action, "action", "an action") == "" {
		return nil
	}
	if h.flow = r.flowOf(h.action.get("settings"), h.action); h.flow == nil {
		return nil
	}
	switch kind {
	case "timer":
		return h.timer()
	case "rest":
		return h.rest(name)
	}
	return h.grpc()
}

// flowOf is the flow that settings name.
func (r *reader) flowOf(settings, of *node) *resource {
	uri := settings.get("flowURI")
	if uri == nil {
		r.bad(of.at, "the settings need a \"flowURI\" such as res://flow:greet")
		return nil
	}
	s, ok := r.constText(uri)
	if !ok {
		return nil
	}
	f := r.byURI[strings.TrimPrefix(s, "res://")]
	if f == nil {
		e := r.bad(uri.at, "there is no flow %s in the app's resources", shown(s))
		for _, f := range r.flows {
			e.Allowed = append(e.Allowed, "res://"+f.id)
		}
	}
	return f
}

// timer makes a trigger with a timer.
func (h *handler) timer() *made {
	r := h.r
	r.fields(h.settings, "a timer", []string{"startDelay", "repeatInterval"}, nil)
	if s := h.trigger.get("settings"); s != nil {
		r.fields(s, "a timer", nil, nil)
	}
	timer := obj(h.settings.at)
	every := h.duration("repeatInterval")
	if every > 0 {
		timer.put("every", h.settings.get("repeatInterval").at, word(h.settings.get("repeatInterval").at, every.String()))
	} else {
		timer.put("every", h.settings.at, word(h.settings.at, "1s"))
	}
	if after := h.duration("startDelay"); after > 0 {
		timer.put("after", h.settings.get("startDelay").at, word(h.settings.get("startDelay").at, after.String()))
	}
	if every <= 0 {
		timer.put("count", h.settings.at, word(h.settings.at, "1"))
	} else {
		timer.put("overlap", h.settings.at, word(h.settings.at, "parallel")) // as Flogo does
	}
	with := h.with(func(ref ref) (term, *problem) {
		if ref.resolver == "" {
			return term{}, wrong(ref.at, "a timer has no values: a flow that it starts is given constants and properties")
		}
		return r.common(ref)
	})
	h.starts(nil)
	return obj(h.n.at).put("timer", h.settings.at, timer).put("flow", h.action.at, h.flowName()).put("with", h.action.at, with)
}

func (h *handler) duration(key string) time.Duration {
	v := h.settings.get(key)
	if v == nil || empty(v) {
		return 0
	}
	s, ok := h.r.constText(v)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > 0 && d < time.Millisecond {
		h.r.bad(v.at, "%q is a time of at least 1ms such as 100ms, 10s or 1m30s, not %v", key, v)
		return 0
	}
	return d
}

// flowName is the name of the flow, which is known when all handlers have been read.
func (h *handler) flowName() *made {
	at := h.action.at
	if uri := h.action.get("settings").get("flowURI"); uri != nil {
		at = uri.at
	}
	return say(at, h.variant.name)
}

// with are the inputs that the handler gives its flow.
func (h *handler) with(s scope) *made {
	given, out := h.r.with(h.flow, h.action.get("input"), h.action.at, s)
	h.given = given
	if len(out.members) == 0 {
		return nil
	}
	return out
}

// starts says that the handler starts its flow, whose answers are made so.
func (h *handler) starts(p *reply) {
	h.variant = h.r.variant(h.flow, p)
	h.variant.callers = append(h.variant.callers, h.given)
}

// with reads the inputs of a flow that is started: the mapped ones, and the defaults
// of others. given has those, with true for one that is never null.
func (r *reader) with(f *resource, input *node, at int, s scope) (given map[string]bool, out *made) {
	given, out = map[string]bool{}, obj(at)
	if input != nil {
		out.at = input.at
		if input.kind != object {
			r.bad(input.at, "the input is an object of mappings, not %v", input)
			return given, out
		}
		for _, m := range input.members {
			in := f.input(m.key)
			if in == nil {
				if !empty(m.value) {
					e := r.bad(m.at, "the flow %s has no input %s", shown(f.id), shown(m.key))
					for _, in := range f.inputs {
						e.Allowed = append(e.Allowed, in.app)
					}
				}
				continue
			}
			t, ok := r.term(m.value, s)
			if !ok {
				given[m.key] = true // whatever it is
				continue
			}
			if t = t.as(in.typ); t.literal && t.value == nil {
				continue
			}
			given[m.key] = t.sure
			out.put(in.name, m.at, emit(t, m.value.at))
		}
	}
	for _, in := range f.inputs {
		if _, ok := given[in.app]; !ok && in.value != nil && !empty(in.value) {
			if t, ok := r.term(in.value, r.nothing); ok {
				given[in.app] = true
				out.put(in.name, in.value.at, emit(t.as(in.typ), in.value.at))
			}
		}
	}
	return given, out
}

// nothing is the scope of constants.
func (r *reader) nothing(ref ref) (term, *problem) { return r.common(ref) }

// on is the target that a trigger serves on.
func (h *handler) on(wire, cert, key string) *made {
	r, settings := h.r, h.trigger.get("settings")
	port := settings.get("port")
	if port == nil {
		r.bad(h.trigger.at, "the settings of the trigger need a \"port\"")
		return say(h.trigger.at, wire+"://:0")
	}
	t, ok := r.term(port, r.nothing)
	if !ok {
		return say(port.at, wire+"://:0")
	}
	if n, err := strconv.Atoi(plain(t.value)); t.literal && (err != nil || n < 0 || n > 65535) {
		r.bad(port.at, "the port is a number from 0 to 65535, not %v", port)
		return say(port.at, wire+"://:0")
	}
	options := ""
	if r.flag(settings, "enableTLS") {
		wire += "+tls"
		c, okCert := r.constText(settings.get(cert))
		k, okKey := r.constText(settings.get(key))
		if !okCert || !okKey {
			r.bad(settings.at, "a trigger with TLS needs %q and %q, names of files", cert, key)
		}
		options = "?cert=" + url.QueryEscape(c) + "&key=" + url.QueryEscape(k)
	}
	if t.literal {
		return say(port.at, wire+"://:"+plain(t.value)+options)
	}
	return emit(joined(textTerm(wire+"://:"), t, textTerm(options)), port.at)
}

// verbs are those of REST triggers and activities.
var verbs = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

func (r *reader) verb(n, of *node) string {
	s, ok := r.constText(n)
	if n == nil {
		r.bad(of.at, "the settings need a \"method\"").Allowed = verbs
		return ""
	}
	s = strings.ToUpper(s)
	if ok && !slices.Contains(verbs, s) {
		r.bad(n.at, "the method %s is not read", shown(s)).Allowed = verbs
		return ""
	}
	return s
}

// hasBody reports whether requests of a verb have a content.
func hasBody(verb string) bool { return verb == "POST" || verb == "PUT" || verb == "PATCH" }

func (h *handler) rest(name string) *made {
	r := h.r
	if s := h.trigger.get("settings"); s != nil {
		r.fields(s, "a REST trigger", []string{"port", "enableTLS", "certFile", "keyFile"}, nil)
	}
	r.fields(h.settings, "a handler of a REST trigger", []string{"method", "path"}, nil)
	verb := r.verb(h.settings.get("method"), h.n)
	path := h.path()
	with := h.with(h.restScope(verb))
	h.starts(&reply{out: h.action.get("output")})
	if verb == "" || path == "" {
		return nil
	}
	method := r.declare(r.pkg+"."+camel(h.triggerID(name)), camel(strings.TrimPrefix(h.flow.id, "flow:")))
	def := obj(h.n.at)
	if h.contentAt >= 0 {
		if len(h.params)+len(h.queries) > 0 {
			r.bad(h.contentAt, "the whole content cannot be named where the path or the query has parameters: name its members, such as $.content.name")
		}
	} else {
		def.put("request", h.n.at, say(h.n.at, h.message(method)))
	}
	def.put("route", h.settings.at, say(h.settings.at, verb+" "+path))
	if word := idempotency(verb); word != "" {
		def.put("idempotency", h.settings.at, say(h.settings.at, word))
	}
	r.methods.put(method, h.n.at, def)
	return obj(h.n.at).put("on", h.n.at, h.on("rest", "certFile", "keyFile")).put("method", h.n.at, say(h.n.at, method)).
		put("flow", h.action.at, h.flowName()).put("with", h.action.at, with)
}

func (h *handler) triggerID(name string) string {
	if id := h.trigger.get("id"); id != nil && id.text != "" {
		return id.text
	}
	return name
}

// idempotency is what HTTP says of a verb.
func idempotency(verb string) string {
	switch verb {
	case "GET":
		return "no-side-effects"
	case "PUT", "DELETE":
		return "idempotent"
	}
	return ""
}

// declare gives a method a name that none has.
func (r *reader) declare(service, method string) string {
	full := service + "/" + method
	for i := 2; r.declared[full]; i++ {
		full = service + "/" + method + strconv.Itoa(i)
	}
	r.declared[full] = true
	return full
}

// path reads /a/:b as /a/{b}.
func (h *handler) path() string {
	n := h.settings.get("path")
	if n == nil {
		h.r.bad(h.settings.at, "the settings of a handler need a \"path\" such as /greet/:name")
		return ""
	}
	s, ok := h.r.constText(n)
	if !ok {
		return ""
	}
	path, params, ok := h.r.route(n, s)
	for _, p := range params {
		h.params[p] = true
	}
	if !ok {
		return ""
	}
	return path
}

// route reads the path of a route, with the names of its parameters.
func (r *reader) route(n *node, s string) (path string, params []string, ok bool) {
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(s, "/"), "/") {
		name, isParam := strings.CutPrefix(part, ":")
		switch {
		case strings.HasPrefix(part, "*"):
			r.bad(n.at, "the rest of a path, %s, is not read: name each part, such as /:name", shown(part))
			return "", nil, false
		case !isParam && strings.ContainsAny(part, "{}:*?# \\") || part == "" && s != "/" && strings.Trim(s, "/") != "":
			r.bad(n.at, "%s cannot be in a path", shown(part))
			return "", nil, false
		case !isParam:
			parts = append(parts, part)
		case !fieldName(name) || slices.Contains(params, name):
			r.bad(n.at, "%s cannot be the name of a parameter of the path: it has letters, digits and '_', and is there once", shown(name))
			return "", nil, false
		default:
			params = append(params, name)
			parts = append(parts, "{"+name+"}")
		}
	}
	return "/" + strings.Join(parts, "/"), params, true
}

// fieldName reports whether a message can have a field of a name.
func fieldName(s string) bool { return identifier.MatchString(s) && s[0] != '_' }

// restScope is what a REST trigger's mappings can name.
func (h *handler) restScope(verb string) scope {
	return func(ref ref) (term, *problem) {
		if ref.resolver != "" {
			return h.r.common(ref, "$.pathParams.…", "$.queryParams.…", "$.content")
		}
		if len(ref.path) == 0 {
			return term{}, wrong(ref.at, "a value of the trigger should follow $")
		}
		first, rest := ref.path[0], ref.path[1:]
		switch first.name {
		case "pathParams", "queryParams":
			return h.param(first, rest)
		case "content":
			if !hasBody(verb) {
				return term{}, wrong(first.at, "a %s has no content here: only POST, PUT and PATCH do", verb)
			}
			return h.content(rest)
		case "method":
			return textTerm(verb), nil
		}
		err := wrong(first.at, "%s of a REST trigger is not read", shown(first.name))
		err.allowed = []string{"pathParams", "queryParams", "content", "method"}
		return term{}, err
	}
}

// param is a parameter of the path or the query.
func (h *handler) param(first segment, rest []segment) (term, *problem) {
	if len(rest) != 1 || rest[0].index {
		return term{}, wrong(first.at, "one of the parameters should be named, such as $.%s.name", first.name)
	}
	name := rest[0]
	if first.name == "pathParams" && !h.params[name.name] {
		err := wrong(name.at, "the path has no parameter %s", shown(name.name))
		for p := range h.params {
			err.allowed = append(err.allowed, p)
		}
		slices.Sort(err.allowed)
		return term{}, err
	}
	if first.name == "queryParams" {
		if !fieldName(name.name) || h.params[name.name] || slices.Contains(h.contents, name.name) {
			return term{}, wrong(name.at, "%s cannot be the name of a parameter of the query: it has letters, digits and '_', and is not in the path or the content", shown(name.name))
		}
		if !slices.Contains(h.queries, name.name) {
			h.queries = append(h.queries, name.name)
		}
	}
	t := atom("trigger.request."+name.name, stringType)
	t.sure = true
	return t, nil
}

// content is the request, or a member of it.
func (h *handler) content(rest []segment) (term, *problem) {
	if len(rest) == 0 || rest[0].index {
		if h.contentAt < 0 {
			h.contentAt = h.n.at
			if input := h.action.get("input"); input != nil {
				h.contentAt = input.at
			}
		}
		return atom("trigger.request"+pathText(rest), anyType), nil
	}
	name := rest[0]
	if !fieldName(name.name) || h.params[name.name] || slices.Contains(h.queries, name.name) {
		return term{}, wrong(name.at, "%s cannot be the name of a member of the content: it has letters, digits and '_', and is not in the path or the query", shown(name.name))
	}
	if !slices.Contains(h.contents, name.name) {
		h.contents = append(h.contents, name.name)
	}
	return atom("trigger.request"+pathText(rest), anyType), nil
}

// message declares the request of a method.
func (h *handler) message(method string) string {
	params := make([]string, 0, len(h.params))
	for p := range h.params {
		params = append(params, p)
	}
	slices.Sort(params)
	return h.r.requestMessage(method, h.n.at, append(params, h.queries...), h.contents)
}

// requestMessage declares a message of texts and of any values.
func (r *reader) requestMessage(method string, at int, texts, anys []string) string {
	service, name, _ := strings.Cut(method, "/")
	full := service[:strings.LastIndexByte(service, '.')+1] + name + "Request"
	for i := 2; r.declared[full]; i++ {
		full = service[:strings.LastIndexByte(service, '.')+1] + name + "Request" + strconv.Itoa(i)
	}
	r.declared[full] = true
	fields := obj(at)
	for _, t := range texts {
		fields.put(t, at, say(at, "string = "+strconv.Itoa(len(fields.members)+1)))
	}
	for _, a := range anys {
		fields.put(a, at, say(at, "any = "+strconv.Itoa(len(fields.members)+1)))
	}
	r.messages.put(full, at, fields)
	return full
}
