package flogo

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everywire/everywire/flow"
)

// A made value is a part of the flow file. It knows the byte of the app that it
// stands for.
type made struct {
	at   int
	kind kind
	// word is a scalar that is written as it is, and text one that may need quotes.
	word, text string
	members    []madeMember
	items      []*made
	// comment stands in the lines above the first member.
	comment string
}

type madeMember struct {
	key   string
	at    int
	value *made
}

func word(at int, s string) *made { return &made{at: at, kind: number, word: s} }
func say(at int, s string) *made  { return &made{at: at, kind: text, text: s} }
func obj(at int) *made            { return &made{at: at, kind: object} }

// put adds a member, and returns the object.
func (m *made) put(key string, at int, v *made) *made {
	if v != nil {
		m.members = append(m.members, madeMember{key, at, v})
	}
	return m
}

// size is how many bytes there are at least in what is written.
func (m *made) size() int {
	n := len(m.word) + len(m.text)
	for _, member := range m.members {
		n += len(member.key) + member.value.size()
	}
	for _, item := range m.items {
		n += item.size()
	}
	return n
}

// A mark says which byte of the app a place in the flow file stands for.
type mark struct{ line, column, at int }

// A writer writes a flow file.
type writer struct {
	b     strings.Builder
	line  int
	begin int // where the line begins
	marks []mark
}

// write writes the members of an object with a blank line between those of the top.
func write(root *made) (made []byte, marks []mark) {
	w := &writer{line: 1}
	w.mark(root.at)
	if root.comment != "" {
		for line := range strings.SplitSeq(root.comment, "\n") {
			w.print("# " + line)
			w.newLine()
		}
	}
	for i, m := range root.members {
		if i > 0 && (m.value.kind == object || m.value.kind == list || m.key == "flows") {
			w.newLine()
		}
		w.member(m, 0)
	}
	return []byte(w.b.String()), w.marks
}

func (w *writer) print(s string) { w.b.WriteString(s) }

func (w *writer) newLine() {
	w.b.WriteByte('\n')
	w.line++
	w.begin = w.b.Len()
}

// mark notes what stands from here on.
func (w *writer) mark(at int) {
	column := utf8.RuneCountInString(w.b.String()[w.begin:]) + 1
	w.marks = append(w.marks, mark{w.line, column, at})
}

func (w *writer) indent(n int) { w.print(strings.Repeat("  ", n)) }

// member writes one with its line end.
func (w *writer) member(m madeMember, depth int) {
	w.indent(depth)
	w.mark(m.at)
	w.print(scalarText(m.key) + ":")
	w.value(m.value, depth)
}

// value writes what follows a colon or a dash, with its line end.
func (w *writer) value(v *made, depth int) {
	switch {
	case v.kind == object && len(v.members) > 0:
		w.newLine()
		for _, m := range v.members {
			w.member(m, depth+1)
		}
	case v.kind == list && len(v.items) > 0:
		w.newLine()
		for _, item := range v.items {
			w.item(item, depth+1)
		}
	default:
		w.print(" ")
		w.mark(v.at)
		w.print(one(v))
		w.newLine()
	}
}

// item writes an element of a list: the first member of an object is in its line.
func (w *writer) item(v *made, depth int) {
	w.indent(depth)
	w.mark(v.at)
	w.print("-")
	if v.kind != object || len(v.members) == 0 {
		w.value(v, depth)
		return
	}
	for i, m := range v.members {
		if i == 0 {
			w.print(" ")
			w.mark(m.at)
			w.print(scalarText(m.key) + ":")
			w.value(m.value, depth+1)
			continue
		}
		w.member(m, depth+1)
	}
}

// one is a value that is written within a line.
func one(v *made) string {
	switch v.kind {
	case object:
		return "{}"
	case list:
		return "[]"
	case text:
		return scalarText(v.text)
	}
	return v.word
}

var (
	// plainText are texts that YAML reads as they are, wherever they stand.
	plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_/.-]*( [A-Za-z0-9_/.=-]+)*$`)
	// plainLine are those that it reads as they are behind a colon.
	plainLine = regexp.MustCompile(`^([A-Za-z_/]|\$\{\{ )[^\x00-\x1f\x7f"\\#]*[^\x00-\x20\x7f"\\#:]$`)
	// reserved are words that YAML, old or new, takes for something else.
	reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
)

// scalarText is a text as it is written in YAML.
func scalarText(s string) string {
	if !slices.Contains(reserved, strings.ToLower(s)) {
		if plainText.MatchString(s) || plainLine.MatchString(s) && !strings.Contains(s, ": ") && printable(s) {
			return s
		}
	}
	return quoted(s)
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !shows(r) })
}

// shows reports whether a character can stand in a YAML text as it is.
func shows(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }

// quoted is a text in double quotes.
func quoted(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case shows(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString(`\U`)
			for shift := 28; shift >= 0; shift -= 4 {
				b.WriteByte(digits[r>>shift&15])
			}
		default:
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[r>>shift&15])
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// find is the byte of the app that a place in the flow file stands for: that of the
// last mark before it.
func find(marks []mark, p flow.Pos) int {
	i, exact := slices.BinarySearchFunc(marks, p, func(m mark, p flow.Pos) int {
		if m.line != p.Line {
			return m.line - p.Line
		}
		return m.column - p.Column
	})
	switch {
	case exact:
		for i+1 < len(marks) && marks[i+1].line == marks[i].line && marks[i+1].column == marks[i].column {
			i++ // the innermost
		}
	case i == 0:
		return 0
	default:
		i--
	}
	return marks[i].at
}
