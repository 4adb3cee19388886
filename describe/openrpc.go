package describe

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// Options say what a document cannot take from the methods.
type Options struct {
	// Title names the API; by default the names of its services.
	Title string
	// Version is that of the API; by default that of the program's main module.
	Version string
	// BytesAsArray is for a server that writes bytes as arrays of integers.
	BytesAsArray bool
	// OpenAPI is the version of an OpenAPI document, one of [OpenAPIVersions];
	// by default the first.
	OpenAPI string
	// Server is the URL that an OpenAPI document's paths are appended to. It
	// may be relative to where the document is; by default it is "/".
	Server string
	// Routes adds the HTTP routes of plain services to .proto files, as
	// google.api.http, which google/api/annotations.proto defines.
	Routes bool
}

// The parts of an OpenRPC document.
type (
	openRPC struct {
		OpenRPC    string     `json:"openrpc"`
		Info       info       `json:"info"`
		Methods    []method   `json:"methods"`
		Components components `json:"components"`
	}
	info struct {
		Title   string `json:"title"`
		Version string `json:"version"`
	}
	method struct {
		Name           string              `json:"name"`
		Summary        string              `json:"summary,omitempty"`
		Description    string              `json:"description,omitempty"`
		ParamStructure string              `json:"paramStructure"`
		Params         []contentDescriptor `json:"params"`
		Result         contentDescriptor   `json:"result"`
		Deprecated     bool                `json:"deprecated,omitempty"`
	}
	contentDescriptor struct {
		Name     string      `json:"name"`
		Required bool        `json:"required,omitempty"`
		Schema   *jsonSchema `json:"schema"`
	}
	components struct {
		Schemas map[string]*jsonSchema `json:"schemas"`
	}
)

// OpenRPC describes methods as JSON-RPC peers see them: each under its full
// name with named params, and under its short name with the form that it
// declares. Streaming methods are left out, for OpenRPC has no words for them.
//
// A method whose declaration is faulty is described by its full name; the
// error names it then, and the document is good without what it is about.
func OpenRPC(methods []*everywire.Method, o Options) ([]byte, error) {
	ts := newTypes("#/components/schemas/", o)
	doc := openRPC{
		OpenRPC:    "1.3.2",
		Info:       infoOf(methods, o),
		Methods:    []method{}, // an empty array, not null
		Components: components{ts.byName},
	}
	var errs []error
	taken := map[string]bool{}
	add := func(m method, err error) {
		if err == nil && taken[m.Name] {
			err = fmt.Errorf("the JSON-RPC name %q is taken", m.Name)
		}
		if err != nil {
			errs = append(errs, err)
			return
		}
		taken[m.Name] = true
		doc.Methods = append(doc.Methods, m)
	}
	for _, m := range methods {
		if m.Kind == everywire.Unary {
			add(ts.fullMethod(m), nil)
		}
	}
	for _, m := range methods {
		if m.Kind == everywire.Unary && m.JSONRPC != nil && m.JSONRPC.Name != "" && m.JSONRPC.Name != m.FullName() {
			add(ts.shortMethod(m))
		}
	}
	slices.SortStableFunc(doc.Methods, func(a, b method) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(doc)
	return text, errors.Join(append(errs, err)...)
}

func infoOf(methods []*everywire.Method, o Options) info {
	i := info{o.Title, o.Version}
	if i.Title == "" {
		var services []string
		for _, m := range methods {
			if !slices.Contains(services, m.Service) {
				services = append(services, m.Service)
			}
		}
		i.Title = strings.Join(services, ", ")
	}
	if i.Version == "" {
		i.Version = "(unknown)"
		if build, ok := debug.ReadBuildInfo(); ok && build.Main.Version != "" {
			i.Version = build.Main.Version
		}
	}
	return i
}

const (
	byName     = "by-name"
	byPosition = "by-position"
	either     = "either"
)

func (ts *types) fullMethod(m *everywire.Method) method {
	d := ts.method(m, m.FullName())
	if strings.HasPrefix(d.Name, "rpc.") || strings.HasPrefix(d.Name, "$/") { // reserved; with the slash it is not
		d.Name = m.Path()
	}
	d.Result.Schema = ts.message(m.Output)
	return d
}

// method describes a method with named params, or with its one value if that
// is no object.
func (ts *types) method(m *everywire.Method, name string) method {
	d := method{Name: name, ParamStructure: byName, Params: []contentDescriptor{}, Result: contentDescriptor{Name: "result"}}
	switch m.Idempotency {
	case everywire.NoSideEffects:
		d.Summary = "Has no side effects."
	case everywire.Idempotent:
		d.Summary = "Idempotent."
	}
	d.Deprecated = isDeprecated(m)
	d.Description = docOf(m)
	switch {
	case m.Input == nil:
		d.Description = sentences(d.Description, "The message type is not known; params are its fields by name.")
	case !m.Input.IsObject():
		d.ParamStructure = byPosition
		d.Params = append(d.Params, contentDescriptor{"value", true, ts.message(m.Input)})
	default:
		d.Params = ts.params(m.Input)
		if m.Input.Name == "google.protobuf.Struct" || m.Input.Name == "google.protobuf.Any" {
			d.Description = sentences(d.Description, "Params may have any members.")
		}
	}
	return d
}

// params are the fields of a message.
func (ts *types) params(m *schema.Message) []contentDescriptor {
	all := []contentDescriptor{}
	if m.Desc != nil {
		if own := ts.wellKnown(m.Desc); own != nil {
			for _, p := range own.Properties {
				all = append(all, contentDescriptor{p.name, true, p.value})
			}
			return all
		}
		for _, fd := range fieldsOf(m.Desc) {
			all = append(all, contentDescriptor{Name: fd.JSONName(), Schema: ts.generatedField(fd)})
		}
		return all
	}
	for _, f := range m.Fields {
		all = append(all, contentDescriptor{Name: f.JSONName, Schema: ts.field(f)})
	}
	return all
}

// shortMethod describes the form that a method declares.
func (ts *types) shortMethod(m *everywire.Method) (method, error) {
	form := m.JSONRPC
	d := ts.method(m, form.Name)
	bad := func(format string, args ...any) (method, error) {
		return d, fmt.Errorf("JSON-RPC form of %s: %s", m.FullName(), fmt.Sprintf(format, args...))
	}
	if m.Input != nil && !m.Input.IsObject() && form.Params != everywire.ParamsNamed {
		return bad("%s is no object, so its params are an array of one", m.Input.Name)
	}
	d.Result.Schema = ts.message(m.Output)
	if form.Result != "" {
		var ok bool
		if d.Result.Name, d.Result.Schema, ok = ts.named(m.Output, form.Result); !ok {
			return bad("the reply has no field %q", form.Result)
		}
	}
	switch form.Params {
	case everywire.ParamsNamed:
	case everywire.ParamsInOrder:
		if m.Input == nil {
			return bad("the order of the fields is not known")
		}
		d.ParamStructure = either
	case everywire.ParamsObject:
		d.ParamStructure = byPosition
		d.Params = []contentDescriptor{{"message", false, ts.message(m.Input)}}
	case everywire.ParamsList, everywire.ParamsScalar:
		name, s, ok := ts.named(m.Input, form.Field)
		if !ok {
			return bad("the request has no field %q", form.Field)
		}
		if form.Params == everywire.ParamsScalar {
			d.ParamStructure = either
			d.Params = []contentDescriptor{{name, false, s}}
			break
		}
		if m.Input != nil && s.Type != "array" {
			return bad("field %q is not repeated", form.Field)
		}
		// OpenRPC cannot say that there are as many params as one likes.
		d.Description = sentences(d.Description, fmt.Sprintf("Params may also be an array, which is then the value of %q.", name))
	default:
		return bad("unknown form of params %d", form.Params)
	}
	return d, nil
}

// named finds a message's field by its JSON or protobuf name and returns its
// JSON name and schema. Of a message that is not known, it believes the name.
func (ts *types) named(m *schema.Message, name string) (string, *jsonSchema, bool) {
	switch {
	case m == nil:
		return name, &jsonSchema{}, name != ""
	case m.Desc != nil:
		fd := m.Desc.Fields().ByTextName(name)
		if fd == nil {
			fd = m.Desc.Fields().ByJSONName(name)
		}
		if fd == nil {
			return "", nil, false
		}
		return fd.JSONName(), ts.generatedField(fd), true
	}
	f := m.ByName(name)
	if f == nil {
		return "", nil, false
	}
	return f.JSONName, ts.field(f), true
}
