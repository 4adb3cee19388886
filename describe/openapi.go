package describe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everywire/everywire"
)

// openAPIVersions are what may be asked for, and what a document then says.
var openAPIVersions = []struct{ name, full string }{{"3.1", "3.1.1"}, {"3.0", "3.0.3"}}

// OpenAPIVersions returns the versions of OpenAPI that documents can have, the
// default first.
func OpenAPIVersions() []string {
	names := make([]string, len(openAPIVersions))
	for i, v := range openAPIVersions {
		names[i] = v.name
	}
	return names
}

// The parts of an OpenAPI document.
type (
	openAPI struct {
		OpenAPI    string             `json:"openapi"`
		Info       info               `json:"info"`
		Servers    []serverURL        `json:"servers"`
		Tags       []tag              `json:"tags"`
		Paths      ordered[*pathItem] `json:"paths"`
		Components apiComponents      `json:"components"`
	}
	serverURL struct {
		URL string `json:"url"`
	}
	tag struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
	apiComponents struct {
		Schemas    map[string]*jsonSchema `json:"schemas"`
		Responses  map[string]*response   `json:"responses"`
		Parameters map[string]*parameter  `json:"parameters,omitempty"`
	}
	// A pathItem has the operations by verb; see [document.put] for the verbs
	// that OpenAPI has no place for.
	pathItem struct {
		path template
		ops  ordered[*operation]
		more ordered[*operation]
	}
)

// MarshalJSON writes the verbs in the order of their routes.
func (p *pathItem) MarshalJSON() ([]byte, error) {
	all := make(ordered[any], 0, len(p.ops)+1)
	for _, op := range p.ops {
		all = append(all, entry[any]{op.name, op.value})
	}
	if len(p.more) > 0 {
		all = append(all, entry[any]{"x-additionalOperations", p.more})
	}
	return all.MarshalJSON()
}

// OpenAPI describes methods as HTTP clients see them on the wire "rest": each
// at its declared routes and then at its default ones, in the order of the
// methods. docs/spec/openapi.md says how everything is described. The same
// methods give the same bytes.
//
// Of a route that is faulty, or in conflict with one before it, the document
// has nothing, and the error names it; the rest of the document is good.
func OpenAPI(methods []*everywire.Method, o Options) ([]byte, error) {
	version := ""
	for _, v := range openAPIVersions {
		if v.name == o.OpenAPI || o.OpenAPI == "" && version == "" {
			version = v.full
		}
	}
	if version == "" {
		return nil, fmt.Errorf("there is no OpenAPI version %q: there are %s", o.OpenAPI, strings.Join(OpenAPIVersions(), " and "))
	}
	d := newDocument(methods, o)
	for _, m := range methods {
		d.method(m)
	}
	d.finish()
	if o.OpenAPI == "3.0" {
		d.eachSchema(openAPI30)
		for _, s := range d.types.byName {
			openAPI30(s)
		}
	}
	server := o.Server
	if server == "" {
		server = "/"
	}
	text, err := json.Marshal(openAPI{
		OpenAPI: version, Info: infoOf(methods, o), Servers: []serverURL{{server}}, Tags: d.tags, Paths: d.paths,
		Components: apiComponents{d.types.byName, map[string]*response{"Problem": d.problem}, d.parameters},
	})
	return text, errors.Join(append(d.errs, err)...)
}

// A document is one in the making.
type document struct {
	types      *types
	tags       []tag
	paths      ordered[*pathItem]
	byShape    map[string]*pathItem
	ids        map[string]bool // operationIds taken
	ambiguous  map[string]bool // last names that several services have
	parameters map[string]*parameter
	problem    *response
	asked      []*jsonSchema // what requests have
	errs       []error
}

func newDocument(methods []*everywire.Method, o Options) *document {
	d := &document{
		types: newTypes("#/components/schemas/", o), tags: []tag{}, paths: ordered[*pathItem]{},
		byShape: map[string]*pathItem{}, ids: map[string]bool{}, ambiguous: map[string]bool{}, parameters: map[string]*parameter{},
	}
	d.problem = d.types.problem()
	services := map[string]string{} // by last name
	for _, m := range methods {
		last := lastName(m.Service)
		if other, ok := services[last]; ok && other != m.Service {
			d.ambiguous[last] = true
		}
		services[last] = m.Service
		if slices.ContainsFunc(d.tags, func(t tag) bool { return t.Name == m.Service }) {
			continue
		}
		t := tag{Name: m.Service}
		if m.Desc != nil {
			t.Description = comment(m.Desc.Parent())
		}
		d.tags = append(d.tags, t)
	}
	return d
}

func lastName(service string) string { return service[strings.LastIndexByte(service, '.')+1:] }

// A verb of OpenAPI has a place of its own in a path item.
var openAPIVerbs = []string{"GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"}

// named returns the template with the parameters' names that its path has.
// Templates that differ only in them are one path, with the names of the first.
func (d *document) named(t template) template {
	if item := d.byShape[t.shape()]; item != nil {
		return item.path
	}
	return t
}

// item returns the path item for a template.
func (d *document) item(t template) *pathItem {
	shape := t.shape()
	item := d.byShape[shape]
	if item == nil {
		item = &pathItem{path: t}
		d.byShape[shape] = item
		d.paths = append(d.paths, entry[*pathItem]{t.String(), item})
	}
	return item
}

// put adds an operation. OpenAPI before 3.2 has no place for other verbs than
// its eight; they stand in an extension that is like the one of 3.2.
func (p *pathItem) put(verb string, op *operation) bool {
	to, name := &p.more, verb
	if slices.Contains(openAPIVerbs, verb) {
		to, name = &p.ops, strings.ToLower(verb)
	}
	if slices.ContainsFunc(*to, func(e entry[*operation]) bool { return e.name == name }) {
		return false
	}
	*to = append(*to, entry[*operation]{name, op})
	return true
}

// id gives an operation a name that generators can make a function's name of.
func (d *document) id(m *everywire.Method, suffix string) string {
	service := lastName(m.Service)
	if d.ambiguous[service] {
		service = m.Service
	}
	base := componentName(strings.ReplaceAll(service, ".", "_")+"_"+m.Name) + suffix
	id := base
	for n := 2; d.ids[id]; n++ {
		id = fmt.Sprintf("%s_%d", base, n)
	}
	d.ids[id] = true
	return id
}

// componentName keeps to the characters that the names of components may have.
func componentName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// finish marks the members that are always there, in messages that stand in
// replies only; in a request every member may be absent. It drops components
// that nothing refers to: those of messages of which only the fields are used.
func (d *document) finish() {
	asked, used := map[string]bool{}, map[string]bool{}
	for _, s := range d.asked {
		d.types.reach(s, asked)
	}
	d.eachSchema(func(s *jsonSchema) { d.types.reach(s, used) })
	for name, s := range d.types.byName {
		switch {
		case !used[name]:
			delete(d.types.byName, name)
		case !asked[name] && len(s.always) > 0:
			s.Required = s.always
		}
	}
}

// reach adds the names of the components that s leads to.
func (ts *types) reach(s *jsonSchema, reached map[string]bool) {
	if name, ok := strings.CutPrefix(s.Ref, ts.prefix); ok {
		if reached[name] {
			return
		}
		reached[name] = true
		s = ts.byName[name]
	}
	s.each(func(inner *jsonSchema) { ts.reach(inner, reached) })
}

// eachSchema calls f for the outermost schemas of the document, without the
// components.
func (d *document) eachSchema(f func(*jsonSchema)) {
	content := func(c ordered[mediaType]) {
		for _, media := range c {
			for _, s := range []*jsonSchema{media.value.Schema, media.value.Item} {
				if s != nil {
					f(s)
				}
			}
		}
	}
	content(d.problem.Content)
	for _, p := range d.parameters {
		f(p.Schema)
	}
	for _, item := range d.paths {
		for _, op := range slices.Concat(item.value.ops, item.value.more) {
			for _, p := range op.value.Parameters {
				if p.Schema != nil {
					f(p.Schema)
				}
			}
			if op.value.RequestBody != nil {
				content(op.value.RequestBody.Content)
			}
			for _, r := range op.value.Responses {
				content(r.value.Content)
				for _, h := range r.value.Headers {
					f(h.value.Schema)
				}
			}
			if ws := op.value.Everywire.WebSocket; ws != nil {
				f(ws.Send)
				f(ws.Receive)
			}
		}
	}
}
