package flogo

import (
	"slices"
	"strconv"
	"strings"

	"github.com/everywire/everywire/flow"
)

// app makes the flow file.
func (r *reader) app(n *node) *made {
	root := obj(n.at)
	read := []string{"name", "type", "version", "description", "appModel", "imports", "properties", "triggers", "resources"}
	if !r.fields(n, "the app", read, []string{"contrib", "ui", "metadata", "contribs"}) {
		return root
	}
	if t := n.get("type"); t != nil && (t.kind != text || t.text != "flogo:app") {
		r.bad(t.at, "the type of an app is \"flogo:app\", not %v", t)
	}
	name := r.textOf(n, "name", "the app", true)
	r.pkg = strings.ToLower(nameLike(name))
	root.put("name", n.at, say(n.at, name))
	if v := r.textOf(n, "version", "the app", false); v != "" {
		root.put("version", n.get("version").at, say(n.get("version").at, v))
	}
	if d := r.textOf(n, "description", "the app", false); d != "" {
		root.put("doc", n.get("description").at, say(n.get("description").at, d))
	}
	if m := n.get("appModel"); m != nil && !strings.HasPrefix(m.text, "1.1") {
		r.bad(m.at, "the app model %s is not read: open the app with a Flogo of app model 1.1 and save it", shown(m.text)).Allowed = []string{"1.1.0", "1.1.1"}
		return root
	}
	r.readImports(n.get("imports"))
	settings := r.readProperties(n.get("properties"))
	r.readResources(n.get("resources"))
	triggers := r.readTriggers(n)
	flows := r.makeFlows(n.at)
	if len(settings.members) > 0 {
		root.put("settings", settings.at, settings)
	}
	if len(r.messages.members) > 0 {
		root.put("messages", n.at, r.messages)
	}
	if len(r.methods.members) > 0 {
		root.put("methods", n.at, r.methods)
	}
	return root.put("triggers", triggers.at, triggers).put("flows", n.at, flows)
}

// The parts of Flogo that are read, by where they are.
const (
	core = "github.com/project-flogo/"
)

// known are the refs that are read, by kind and short name.
var known = map[string]map[string]string{
	"action": {"flow": core + "flow"},
	"trigger": {
		"timer": core + "contrib/trigger/timer", "rest": core + "contrib/trigger/rest", "grpc": core + "grpc/trigger/grpc",
	},
	"activity": {
		"log": core + "contrib/activity/log", "rest": core + "contrib/activity/rest", "mapper": core + "contrib/activity/mapper",
		"actreturn": core + "contrib/activity/actreturn", "noop": core + "contrib/activity/noop", "error": core + "contrib/activity/error",
		"subflow": core + "flow/activity/subflow", "grpc": core + "grpc/activity/grpc",
	},
}

// elsewhere are other places of the same.
var elsewhere = map[string]string{
	core + "grpc/trigger": core + "grpc/trigger/grpc", core + "grpc/activity": core + "grpc/activity/grpc",
	core + "contrib/activity/subflow": core + "flow/activity/subflow",
}

func (r *reader) readImports(n *node) {
	if n == nil {
		return
	}
	if n.kind != list {
		r.bad(n.at, "the imports are a list, not %v", n)
		return
	}
	for _, i := range n.items {
		if i.kind != text {
			r.bad(i.at, "an import is a text such as %q, not %v", core+"flow", i)
			continue
		}
		alias, path, ok := strings.Cut(strings.TrimSpace(i.text), " ")
		if !ok {
			alias, path = "", alias
		}
		path, _, _ = strings.Cut(strings.TrimSpace(path), "@")
		path = strings.ReplaceAll(path, ":", "")
		if alias == "" {
			alias = path[strings.LastIndexByte(path, '/')+1:]
		}
		// The short names of a trigger and of an activity may be one.
		r.imports[kindOfRef(path)+" "+alias] = path
	}
}

// kindOfRef is what is at a path, by Flogo's custom.
func kindOfRef(path string) string {
	switch {
	case strings.Contains(path, "/trigger"):
		return "trigger"
	case strings.Contains(path, "/activity"):
		return "activity"
	}
	return "action"
}

// ref says which of the parts of a kind a thing's "ref" names: its short name, or ""
// if it is none that is read, which is noted.
func (r *reader) ref(n *node, kind, what string) string {
	v := n.get("ref")
	if v == nil || v.kind != text || v.text == "" {
		r.bad(n.at, "%s needs a \"ref\"", what)
		return ""
	}
	path, _, _ := strings.Cut(v.text, "@")
	if alias, ok := strings.CutPrefix(path, "#"); ok {
		if path, ok = r.imports[kind+" "+alias]; !ok {
			if path = known[kind][alias]; path == "" {
				path = "#" + alias
			}
		}
	}
	if same := elsewhere[path]; same != "" {
		path = same
	}
	for short, p := range known[kind] {
		if p == path {
			return short
		}
	}
	e := r.bad(v.at, "the %s %s is not read", kind, shown(path))
	if hint := hints[kind+" "+path[strings.LastIndexAny(path, "/#")+1:]]; hint != "" {
		e.Text += ": " + hint
	}
	for _, p := range known[kind] {
		e.Allowed = append(e.Allowed, p)
	}
	slices.Sort(e.Allowed)
	return ""
}

// hints say what to do instead of parts that are often met.
var hints = map[string]string{
	"activity actreply":          "use actreturn as the last activity of the flow",
	"activity counter":           "flow run --admin counts the runs of each flow and activity",
	"activity jsexec":            "say it in expressions, or invoke a service",
	"activity aggregate":         "invoke a service that keeps the values",
	"activity kafka":             "invoke a service that publishes",
	"activity restinvoke":        "use " + core + "contrib/activity/rest",
	"trigger cli":                "use a timer or a REST trigger",
	"trigger kafka":              "have a consumer call a REST or gRPC trigger",
	"trigger mqtt":               "have a subscriber call a REST or gRPC trigger",
	"trigger graphql":            "use a REST trigger",
	"trigger websocket":          "use a REST or gRPC trigger",
	"trigger schedule":           "use a timer, or cron and everywire flow run --count 1",
	"trigger receivehttpmessage": "use " + core + "contrib/trigger/rest",
	"action microgateway":        "make its steps a flow",
	"action stream":              "use a flow",
}

// A property is a setting of the flow file.
type property struct {
	name  string
	typ   typ
	value any
}

func (r *reader) readProperties(n *node) *made {
	settings := obj(0)
	if n == nil {
		return settings
	}
	settings.at = n.at
	if n.kind != list {
		r.bad(n.at, "the properties are a list, not %v", n)
		return settings
	}
	for _, p := range n.items {
		if !r.fields(p, "a property", []string{"name", "type", "value"}, []string{"description", "encryption"}) {
			continue
		}
		name := r.textOf(p, "name", "a property", true)
		if name == "" {
			continue
		}
		if r.propertyOf[name] != nil {
			r.bad(p.at, "there is another property %s", shown(name))
			continue
		}
		prop := &property{name: r.properties.of(name), typ: stringType, value: ""}
		r.propertyOf[name] = prop // also one with a mistake, which is told once
		if value := r.property(p, prop, name); value != nil {
			settings.put(prop.name, p.at, value)
		}
	}
	return settings
}

// property reads one, with the value that it is set to, or returns nil.
func (r *reader) property(p *node, prop *property, name string) *made {
	if t := p.get("type"); t != nil {
		switch t.text {
		case "string", "password", "any":
		case "int", "integer", "long", "int32", "int64":
			prop.typ, prop.value = intType, int64(0)
		case "float", "double", "number", "float32", "float64":
			prop.typ, prop.value = floatType, float64(0)
		case "bool", "boolean":
			prop.typ, prop.value = boolType, false
		default:
			r.bad(t.at, "a property of the type %s is not read", shown(t.text)).Allowed = []string{"string", "int64", "float64", "bool"}
			return nil
		}
	}
	at := p.at
	if v := p.get("value"); v != nil {
		if v.kind == object || v.kind == list {
			r.bad(v.at, "the value of a property is a single one, not %v", v)
			return nil
		}
		if len(v.text) > maxSource {
			r.bad(v.at, "the value of the property has %d bytes: the limit is %d", len(v.text), maxSource)
			return nil
		}
		at = v.at
		secret := strings.HasPrefix(v.text, "SECRET:")
		switch set := slices.ContainsFunc(r.options.Set, func(a flow.Assignment) bool { return a.Name == prop.name }); {
		case secret && !set:
			r.bad(v.at, "the property %s is encrypted: give it another value, --set %s=VALUE", shown(name), prop.name)
		case !secret && !prop.parse(v.text) && v.text != "":
			r.bad(v.at, "%v is not of the property's type", v)
			return nil
		}
	}
	for _, a := range r.options.Set {
		if a.Name == prop.name && !prop.parse(a.Value) {
			r.bad(at, "the property %s cannot be set to %s, which is of another type", prop.name, shown(a.Value))
		}
	}
	return prop.made(at)
}

// parse gives a property a value.
func (p *property) parse(s string) bool {
	var err error
	var v any
	switch p.typ {
	case intType:
		v, err = strconv.ParseInt(s, 10, 64)
	case floatType:
		v, err = strconv.ParseFloat(s, 64)
	case boolType:
		v, err = strconv.ParseBool(s)
	default:
		v = s
	}
	if err != nil {
		return false
	}
	p.value = v
	return true
}

func (p *property) made(at int) *made {
	if s, ok := p.value.(string); ok {
		return say(at, s)
	}
	return word(at, literal(p.value).text)
}
