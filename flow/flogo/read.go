package flogo

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire/flow"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Options are what an app does not say by itself.
type Options struct {
	// Proto finds the services of the .proto file of a name, without ".proto", which
	// an app's gRPC triggers and activities give. Its error is told where the name
	// stands. Without Proto apps cannot have those.
	Proto func(name string) ([]protoreflect.ServiceDescriptor, error)
	// Set gives properties other values than the app does.
	Set []flow.Assignment
}

// Is reports whether a text is that of a Flogo app, by the file's name or by what
// an app says of itself.
func Is(name string, file []byte) bool {
	if strings.EqualFold(filepath.Ext(name), ".flogo") {
		return true
	}
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(file, []byte("\ufeff")), " \t\r\n")
	if !bytes.HasPrefix(trimmed, []byte("{")) {
		return false
	}
	var head struct {
		Type      json.RawMessage `json:"type"`
		AppModel  json.RawMessage `json:"appModel"`
		Resources json.RawMessage `json:"resources"`
		Flows     json.RawMessage `json:"flows"`
	}
	if err := json.Unmarshal(trimmed, &head); err != nil { // its errors are for the reader
		return bytes.Contains(trimmed, []byte(`"flogo:app"`)) || strings.EqualFold(filepath.Ext(name), ".json")
	}
	return string(head.Type) == `"flogo:app"` || head.Flows == nil && (head.AppModel != nil || head.Resources != nil)
}

// Read reads an app. An error is of type [flow.Errors] and has all that is wrong with
// it and all that is not read, in the order of the file. The flow.File is never nil,
// but can only be run if there is no error.
func Read(name string, app []byte, o Options) (*flow.File, error) {
	r, root := convert(name, app, o)
	made, marks := write(root)
	file, err := flow.ParseMade(name, app, made, func(p flow.Pos) (flow.Pos, string) { return r.place(find(marks, p)) })
	if len(r.errs) > 0 { // what is left of the app may be wrong just for that
		return file, r.errs.Sorted()
	}
	return file, err
}

// Convert makes a flow file of an app. Errors are as those of [Read].
func Convert(name string, app []byte, o Options) ([]byte, error) {
	if _, err := Read(name, app, o); err != nil {
		return nil, err
	}
	_, root := convert(name, app, o)
	root.comment = "Made from " + printed(filepath.Base(name)) + ", an app of Flogo."
	made, _ := write(root)
	return made, nil
}

// printed is a text without what could end a line.
func printed(s string) string {
	return strings.Map(func(r rune) rune {
		if shows(r) {
			return r
		}
		return '?'
	}, s)
}

// A reader makes a flow file of an app.
type reader struct {
	name    string
	src     string
	options Options
	errs    flow.Errors
	root    *node
	text    *places

	pkg        string // of the messages and methods that the app does not name
	imports    map[string]string
	properties *names
	propertyOf map[string]*property
	flows      []*resource
	byURI      map[string]*resource
	variants   []*variant
	names      *names // of flows
	messages   *made
	methods    *made
	declared   map[string]bool // messages and methods by their names
	protos     map[string][]protoreflect.ServiceDescriptor
}

// convert reads an app as far as it can be.
func convert(name string, app []byte, o Options) (r *reader, made *made) {
	src := string(app)
	r = &reader{
		name: name, src: src, options: o, text: placesOf(src), imports: map[string]string{}, properties: newNames(), propertyOf: map[string]*property{},
		byURI: map[string]*resource{}, names: newNames(), messages: obj(0), methods: obj(0), declared: map[string]bool{}, protos: map[string][]protoreflect.ServiceDescriptor{},
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case tooMany:
			made = obj(0)
		default:
			panic(p)
		}
	}()
	switch {
	case len(src) > MaxFile:
		r.bad(0, "the file has %d bytes: the limit is %d", len(src), MaxFile)
	case !utf8.ValidString(src):
		r.bad(firstInvalid(src), "the file is not UTF-8")
	default:
		root, err := parseJSON(src)
		if err == nil {
			r.root = root
			return r, r.app(root)
		}
		r.bad(err.at, "%s", err.text)
	}
	return r, obj(0)
}

// fields checks the members of an object: those that are read, and those that
// change nothing. It reports whether it is one.
func (r *reader) fields(n *node, what string, read, idle []string) bool {
	if n.kind != object {
		r.bad(n.at, "%s is an object, not %v", what, n)
		return false
	}
	for _, m := range n.members {
		if m.value.kind == null || contained(read, m.key) || contained(idle, m.key) || strings.HasPrefix(m.key, "fe_") || empty(m.value) {
			continue
		}
		r.bad(m.at, "%s of %s is not read", shown(m.key), what).Allowed = read
	}
	return true
}

// empty reports whether a value says nothing.
func empty(n *node) bool {
	switch n.kind {
	case null:
		return true
	case text:
		return n.text == ""
	case object:
		return len(n.members) == 0
	case list:
		return len(n.items) == 0
	}
	return false
}

func contained(all []string, s string) bool {
	for _, one := range all {
		if one == s {
			return true
		}
	}
	return false
}

// textOf is a member that is a text, or "".
func (r *reader) textOf(n *node, key, what string, needed bool) string {
	v := n.get(key)
	switch {
	case v == nil && needed:
		r.bad(n.at, "%s needs %q", what, key)
	case v == nil:
	case v.kind != text:
		r.bad(v.at, "%q is a text, not %v", key, v)
	case v.text == "" && needed:
		r.bad(v.at, "%q is empty", key)
	default:
		return v.text
	}
	return ""
}
