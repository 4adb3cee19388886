package flogo

import (
	"regexp"
	"strconv"
	"strings"
)

// identifier is what expressions can name.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// names gives each thing of a kind a name that a flow file can have.
type names struct {
	given map[string]string // by the app's
	taken map[string]int    // with the number that one like it may have next
}

func newNames() *names { return &names{map[string]string{}, map[string]int{}} }

// of is the name of a thing, the same each time.
func (n *names) of(app string) string {
	if name, ok := n.given[app]; ok {
		return name
	}
	name := n.another(app)
	n.given[app] = name
	return name
}

// another is a new name that is like the app's.
func (n *names) another(app string) string {
	base := nameLike(app)
	name := base
	for n.taken[name] > 0 {
		n.taken[base]++
		name = base + "_" + strconv.Itoa(n.taken[base])
	}
	n.taken[name] = 1
	return name
}

// nameLike is a text as an identifier.
func nameLike(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() == 56 { // with room for a number
			break
		}
	}
	name := strings.TrimRight(b.String(), "_")
	switch {
	case name == "":
		return "x"
	case name[0] >= '0' && name[0] <= '9':
		return "x" + name
	}
	return name
}

// camel is a text as the name of a service or a method: NewDevice.
func camel(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(nameLike(s), "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	if b.Len() == 0 {
		return "X"
	}
	return b.String()
}
