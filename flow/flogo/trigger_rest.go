package flogo

import (
	"slices"
	"strconv"
	"strings"
)

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
