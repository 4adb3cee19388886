package against

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A pair is two messages that were compared already.
type pair struct {
	old, now protoreflect.FullName
	in       string
	plain    bool
}

// whole compares a method's request or reply.
func (c *comparison) whole(place, in string, old, now protoreflect.MessageDescriptor) {
	plain := isPlain(old, nil) && isPlain(now, nil)
	w, r := elementOf(old), elementOf(now)
	if w.kind == messageKind && r.kind == messageKind {
		c.messages(in, old, now, plain)
		return
	}
	if in == InReplies {
		w, r = r, w
	}
	var breaks []string
	for _, e := range encodings {
		if (plain || !e.plain) && !e.reads(in, w, r) {
			breaks = append(breaks, e.name)
		}
	}
	c.add(place, fmt.Sprintf("%s → %s", old.FullName(), now.FullName()), in, breaks...)
}

// messages compares the fields of two messages that are in one place.
func (c *comparison) messages(in string, old, now protoreflect.MessageDescriptor, plain bool) {
	key := pair{old.FullName(), now.FullName(), in, plain}
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	m := messages{comparison: c, in: in, plain: plain, old: old, now: now}
	fields := old.Fields()
	for i := range fields.Len() {
		m.field(fields.Get(i))
	}
	m.added()
}

// messages are two that are compared: in requests the old one is written and the
// new one is read, in replies it is the other way round.
type messages struct {
	*comparison
	in       string
	plain    bool // every encoding has a form for them
	old, now protoreflect.MessageDescriptor
}

// by are the encodings that carry the messages and find fields in one way.
func (m *messages) by(named bool) []string {
	var names []string
	for _, e := range encodings {
		if e.named == named && (m.plain || !e.plain) {
			names = append(names, e.name)
		}
	}
	return names
}

// field finds what has become of an old field: by its number, and by its name.
func (m *messages) field(f protoreflect.FieldDescriptor) {
	place := string(f.FullName())
	byNumber, byName := m.now.Fields().ByNumber(f.Number()), m.named(f)
	switch {
	case byNumber == nil && byName == nil:
		m.add(place, "removed", m.in, slices.Concat(m.by(true), m.by(false))...)
	case byNumber == byName:
		m.types(place, f, byNumber, m.carrying())
	case byName == nil && m.fits(f, byNumber, m.by(false)):
		m.add(place, fmt.Sprintf("name %s → %s", f.JSONName(), byNumber.JSONName()), m.in, m.by(true)...)
		m.types(place, f, byNumber, m.by(false))
	case byName == nil:
		m.add(place, fmt.Sprintf("removed, and its number %d given to %s", f.Number(), byNumber.JSONName()), m.in, m.carrying()...)
	default:
		m.add(place, fmt.Sprintf("number %d → %d", f.Number(), byName.Number()), m.in, m.by(false)...)
		m.types(place, f, byName, m.by(true))
	}
}

// placing are the encodings in which fields move when one is put before them.
func (m *messages) placing() []string {
	var names []string
	for _, e := range encodings {
		if e.placed && m.plain {
			names = append(names, e.name)
		}
	}
	return names
}

// carrying are all encodings that carry the messages.
func (m *messages) carrying() []string { return slices.Concat(m.by(false), m.by(true)) }

// named finds a field of the new message by the name that is written. Servers
// take requests with the protobuf name, too.
func (m *messages) named(f protoreflect.FieldDescriptor) protoreflect.FieldDescriptor {
	found := m.now.Fields().ByJSONName(f.JSONName())
	if found == nil && m.in == InRequests {
		found = m.now.Fields().ByTextName(f.JSONName())
	}
	return found
}

// fits reports whether no encoding fails on a field's change of type.
func (m *messages) fits(old, now protoreflect.FieldDescriptor, names []string) bool {
	return len(m.failing(old, now, names)) == 0
}

// failing are those of some encodings in which the reader does not understand
// what is written.
func (m *messages) failing(old, now protoreflect.FieldDescriptor, names []string) []string {
	w, r := fieldOf(old), fieldOf(now)
	if m.in == InReplies {
		w, r = r, w
	}
	var failing []string
	for _, e := range encodings {
		if slices.Contains(names, e.name) && (!e.fits(m.in, w, r) || !e.keepsPresence(m.in, w, r)) {
			failing = append(failing, e.name)
		}
	}
	return failing
}

// types compares two fields that are one, in some encodings, and what is in
// them.
func (m *messages) types(place string, old, now protoreflect.FieldDescriptor, names []string) {
	m.add(place, fmt.Sprintf("%s → %s", textOf(old), textOf(now)), m.in, m.failing(old, now, names)...)
	if a, b := exclusive(old), exclusive(now); a != b && b != "" && m.in == InRequests {
		m.add(place, fmt.Sprintf("is in the oneof %s now: others exclude it", b), m.in, names...)
	}
	if old.IsMap() && now.IsMap() {
		old, now = old.MapValue(), now.MapValue()
	}
	w, r := elementOfField(old), elementOfField(now)
	switch {
	case w.kind == messageKind && r.kind == messageKind:
		m.messages(m.in, old.Message(), now.Message(), m.plain)
	case w.kind == enumKind && r.kind == enumKind:
		m.enums(old.Enum(), now.Enum())
	}
}

// exclusive is the oneof that a field is in.
func exclusive(f protoreflect.FieldDescriptor) string {
	if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
		return string(o.Name())
	}
	return ""
}

// enums compares the values of two enums, which are written by name where
// fields are, and by number elsewhere.
func (m *messages) enums(old, now protoreflect.EnumDescriptor) {
	for i := range old.Values().Len() {
		v := old.Values().Get(i)
		place := string(old.FullName()) + "." + string(v.Name())
		n := now.Values().ByName(v.Name())
		switch {
		case n == nil && m.in == InRequests:
			m.add(place, "removed", m.in, m.by(true)...)
		case n != nil && n.Number() != v.Number():
			m.add(place, fmt.Sprintf("number %d → %d", v.Number(), n.Number()), m.in, m.by(false)...)
		}
	}
	for i := range now.Values().Len() {
		v := now.Values().Get(i)
		if old.Values().ByName(v.Name()) == nil && m.in == InReplies {
			m.add(string(old.FullName())+"."+string(v.Name()), "added: old clients do not know the name", m.in, m.by(true)...)
		}
	}
}

// added looks at fields that were not there.
func (m *messages) added() {
	fields := m.now.Fields()
	last := protoreflect.FieldNumber(0)
	for i := range m.old.Fields().Len() {
		last = max(last, m.old.Fields().Get(i).Number())
	}
	for i := range fields.Len() {
		f := fields.Get(i)
		place := string(m.old.FullName()) + "." + string(f.Name())
		isNew := m.old.Fields().ByNumber(f.Number()) == nil
		if isNew && m.old.ReservedRanges().Has(f.Number()) {
			m.add(place, fmt.Sprintf("has the number %d, which was reserved", f.Number()), m.in, m.by(false)...)
		}
		if m.old.Fields().ByJSONName(f.JSONName()) == nil && m.old.ReservedNames().Has(f.Name()) {
			m.add(place, "has a name that was reserved", m.in, m.by(true)...)
		}
		if isNew && f.Number() < last {
			m.add(place, fmt.Sprintf("added with number %d: fields behind it move", f.Number()), m.in, m.placing()...)
		}
		if isNew && f.Cardinality() == protoreflect.Required && m.in == InRequests {
			m.add(place, "added, and required", m.in, m.carrying()...)
		}
	}
}
