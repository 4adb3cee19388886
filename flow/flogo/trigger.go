package flogo

import (
	"net/url"
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
			given[m.key] = t.sure || t.literal // which is not null here
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
