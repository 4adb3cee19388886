package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/internal/yamltree"
)

// scalars are the types that values have, by their names; message is none.
var scalars = []Scalar{Bool, Int32, Int64, Uint32, Uint64, Float, Double, String, Bytes, Timestamp, Duration, Any}

// readMessages reads all messages, whose fields may be of each other's types.
func (r *reader) readMessages(e *entry) {
	all, _ := r.entries(e.value, "the messages")
	nodes := map[*Message]ast.Node{}
	for _, m := range all {
		if !protoreflect.FullName(m.key).IsValid() || slices.Contains(scalars, Scalar(m.key)) {
			r.bad(m.at, "%s cannot be the name of a message: it is a name such as hello.GreetRequest", shown(m.key))
			continue
		}
		msg := &Message{Pos: m.at, Name: m.key}
		r.file.Messages = append(r.file.Messages, msg)
		nodes[msg] = m.value
	}
	for _, msg := range r.file.Messages {
		if n := nodes[msg]; !empty(n) { // a message may have no fields
			r.readFields(msg, n)
		}
	}
	r.noCycles()
}

func (r *reader) readFields(m *Message, n ast.Node) {
	all, _ := r.entries(n, "a message")
	for _, e := range all {
		if !identifier.MatchString(e.key) || strings.HasPrefix(e.key, "_") {
			r.bad(e.at, "%s cannot be the name of a field: it begins with a letter and has letters, digits and '_', up to 64", shown(e.key))
			continue
		}
		f := &Field{Pos: e.at, Name: e.key}
		if !r.readField(f, e) {
			continue
		}
		for _, other := range m.Fields {
			switch {
			case other.Number == f.Number:
				r.bad(start(e.value), "the fields %s and %s have one number, %d", other.Name, f.Name, f.Number)
			case protobufName(other.Name) == protobufName(f.Name):
				r.bad(e.at, "the fields %s and %s have one name in protobuf", other.Name, f.Name)
			}
		}
		m.Fields = append(m.Fields, f)
	}
}

// protobufName is a name without what protobuf's two names of a field may differ in.
func protobufName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

const fieldForm = "TYPE = NUMBER, such as string = 1, repeated int64 = 2 or map<string, double> = 3"

// readField reads "repeated string = 3".
func (r *reader) readField(f *Field, e entry) bool {
	text, ok := yamltree.Scalar(e.value)
	left, right, hasNumber := strings.Cut(text, "=")
	if !ok || !hasNumber {
		at := e.at
		if ok {
			at = start(e.value)
		}
		r.bad(at, "a field is %s", fieldForm)
		return false
	}
	n, err := strconv.Atoi(strings.TrimSpace(right))
	if err != nil || n < 1 || n >= 1<<29 || n >= 19000 && n <= 19999 {
		r.bad(start(e.value), "%s is not the number of a field: it is from 1 to 536870911, and not from 19000 to 19999", shown(strings.TrimSpace(right)))
		return false
	}
	f.Number = n
	f.Label, f.Scalar, f.Of, ok = r.typeNamed(left, start(e.value))
	return ok
}

// typeNamed reads "string", "optional T", "repeated T", "map<string, T>".
func (r *reader) typeNamed(text string, at Pos) (label Label, of Scalar, m *Message, ok bool) {
	text = strings.TrimSpace(text)
	name := text
	if word, rest, ok := strings.Cut(text, " "); ok && (word == "optional" || word == "repeated") {
		label, name = Optional, strings.TrimSpace(rest)
		if word == "repeated" {
			label = Repeated
		}
	} else if inner, ok := strings.CutPrefix(text, "map<"); ok {
		key, value, ok := strings.Cut(strings.TrimSuffix(inner, ">"), ",")
		if !ok || !strings.HasSuffix(inner, ">") || strings.TrimSpace(key) != "string" {
			r.bad(at, "%s is no type of a map: it is map<string, TYPE>", shown(text))
			return 0, "", nil, false
		}
		label, name = MapOf, strings.TrimSpace(value)
	}
	if slices.Contains(scalars, Scalar(name)) {
		return label, Scalar(name), nil, true
	}
	if m := r.file.Message(name); m != nil {
		return label, MessageType, m, true
	}
	var names []string
	for _, s := range scalars {
		names = append(names, string(s))
	}
	names = append(names, namesOf(r.file.Messages)...)
	r.bad(at, "there is no type %q%s", name, meant(name, names)).Allowed = slices.Concat(names, []string{"optional …", "repeated …", "map<string, …>"})
	return 0, "", nil, false
}

// noCycles refuses messages that hold themselves: their types are made when the
// program runs, and Go can make no such type then.
func (r *reader) noCycles() {
	state := map[*Message]int{} // 1 while its fields are looked at, 2 afterwards
	var path []string
	var visit func(m *Message)
	visit = func(m *Message) {
		state[m] = 1
		path = append(path, m.Name)
		for _, f := range m.Fields {
			switch {
			case f.Of == nil || state[f.Of] == 2:
			case state[f.Of] == 1:
				i := slices.Index(path, f.Of.Name)
				r.bad(f.Pos, "the message %s holds itself: %s", f.Of.Name, strings.Join(append(slices.Clone(path[i:]), f.Of.Name), " has "))
				f.Scalar, f.Of = Any, nil
			default:
				visit(f.Of)
			}
		}
		path = path[:len(path)-1]
		state[m] = 2
	}
	for _, m := range r.file.Messages {
		if state[m] == 0 {
			visit(m)
		}
	}
}
