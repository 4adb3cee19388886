package flogo

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire/flow"
)

// places finds lines and columns in a text.
type places struct {
	src   string
	lines []int // where they begin
	// runes are how many characters there are before each block: apps are often one
	// long line.
	runes []int
}

const placeBlock = 4 << 10

func placesOf(src string) *places {
	p := &places{src: src, lines: []int{0}}
	for i := range len(src) {
		if src[i] == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	n := 0
	for i := 0; i < len(src); i += placeBlock {
		p.runes = append(p.runes, n)
		n += begun(src[i:min(i+placeBlock, len(src))])
	}
	return p
}

// begun is how many characters begin in a part of a text.
func begun(s string) int {
	n := 0
	for i := range len(s) {
		if utf8.RuneStart(s[i]) {
			n++
		}
	}
	return n
}

// before is how many characters begin before a byte.
func (p *places) before(at int) int {
	if at == 0 {
		return 0
	}
	block := min(at/placeBlock, len(p.runes)-1)
	return p.runes[block] + begun(p.src[block*placeBlock:at])
}

// of is the place of a byte.
func (p *places) of(at int) flow.Pos {
	at = max(min(at, len(p.src)), 0)
	line := sort.SearchInts(p.lines, at+1) - 1
	return flow.Pos{Line: line + 1, Column: p.before(at) - p.before(p.lines[line]) + 1}
}

// line is the text of a line.
func (p *places) line(n int) string {
	line, _, _ := strings.Cut(p.src[p.lines[n-1]:], "\n")
	return strings.TrimSuffix(line, "\r")
}

// firstInvalid is the first byte that is not UTF-8.
func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return len(s)
}

// pointer is the JSON Pointer (RFC 6901) of the innermost value in which a byte is.
func (n *node) pointer(at int) string {
	var b strings.Builder
	for n != nil {
		i := sort.Search(len(n.members), func(i int) bool { return n.members[i].at > at }) - 1
		j := sort.Search(len(n.items), func(i int) bool { return n.items[i].at > at }) - 1
		switch {
		case i >= 0:
			b.WriteString("/" + pointerEscapes.Replace(n.members[i].key))
			n = n.members[i].value
		case j >= 0:
			b.WriteString("/" + strconv.Itoa(j))
			n = n.items[j]
		default:
			return b.String()
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// place is a byte's place, and its path.
func (r *reader) place(at int) (flow.Pos, string) { return r.text.of(at), r.root.pointer(at) }

// maxErrors bounds what is told of one app.
const maxErrors = 100

// tooMany ends the reading of an app that has more errors.
type tooMany struct{}

// bad notes an error at a byte.
func (r *reader) bad(at int, format string, args ...any) *flow.Error {
	p, path := r.place(max(at, 0))
	e := &flow.Error{File: r.name, Pos: p, Path: path, Text: fmt.Sprintf(format, args...), Source: r.text.line(p.Line)}
	if len(r.errs) == maxErrors {
		e.Text = fmt.Sprintf("there are more than %d errors: these are the first", maxErrors)
		r.errs = append(r.errs, e)
		panic(tooMany{})
	}
	r.errs = append(r.errs, e)
	return e
}
