package rest

import (
	stdjson "encoding/json"
	"strconv"
	"strings"

	"github.com/everywire/everywire/codec/json"
)

// What a message is looked through for all that is wrong in it costs: each of
// its parts may be decoded once.
const (
	maxProbed = 64 << 10 // bytes of a message
	maxProbes = 2000
)

// A probe finds all faults of a message that a codec has refused. The codec
// names the first only, so the probe gives it one part at a time, within as
// much of the message as leads there.
type probe struct {
	refuses func(message []byte) *json.Error
	fault   func(*json.Error)

	before, after []byte // what leads to the part, and closes it; after is reversed
	indexes       []int  // of the elements that lead to it
	depth         int    // steps that lead to it
	left          int    // probes
}

// faults calls fault for each fault that can be told by itself.
func faults(message []byte, refuses func([]byte) *json.Error, fault func(*json.Error)) {
	if len(message) > maxProbed || !stdjson.Valid(message) {
		return
	}
	p := &probe{refuses: refuses, fault: fault, left: maxProbes}
	p.parts(message)
}

// parts looks through the parts of a value that is refused, and reports whether
// one of them is.
func (p *probe) parts(value []byte) (found bool) {
	i := -1
	each := func(open, end string, indexed bool, part []byte) bool {
		if p.left--; p.left < 0 {
			return false
		}
		before, after, indexes := len(p.before), len(p.after), len(p.indexes)
		p.before, p.after = append(p.before, open...), append(p.after, end...)
		if indexed {
			p.indexes = append(p.indexes, i)
		}
		p.depth++
		if p.part(part) {
			found = true
		}
		p.depth--
		p.before, p.after, p.indexes = p.before[:before], p.after[:after], p.indexes[:indexes]
		return true
	}
	// An error says that the value is of the other kind, or none.
	_ = members(value, func(name, v []byte) bool { return each(`{"`+string(name)+`":`, "}", false, v) })
	_ = elements(value, func(v []byte) bool { i++; return each("[", "]", true, v) })
	return found
}

// part reports whether a part is refused, and calls fault for the smallest
// parts of it that are. A fault that lies outside the part, such as a sibling
// that must be there, is none.
func (p *probe) part(value []byte) bool {
	text := append(append([]byte(nil), p.before...), value...)
	for i := len(p.after) - 1; i >= 0; i-- {
		text = append(text, p.after[i])
	}
	err := p.refuses(text)
	if err == nil || steps(err.Path) < p.depth {
		return false
	}
	if !p.parts(value) {
		p.fault(&json.Error{Path: p.indexed(err.Path), Reason: err.Reason})
	}
	return true
}

// indexed puts the elements' real indexes into a path, in which each is the
// first of its list.
func (p *probe) indexed(path string) string {
	var b strings.Builder
	for _, i := range p.indexes {
		at := strings.Index(path, "[0]")
		if at < 0 {
			break
		}
		b.WriteString(path[:at])
		b.WriteString("[" + strconv.Itoa(i) + "]")
		path = path[at+len("[0]"):]
	}
	return b.String() + path
}

// steps is how many names, keys and indexes a path has.
func steps(path string) int {
	n := 0
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '"':
			i = skipString([]byte(path), i) - 1
		case c == '[' || c == '.':
			n++
		case i == 0:
			n++
		}
	}
	return n
}
