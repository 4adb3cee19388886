package wire

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The page on targets lists exactly the options of the table, with their
// targets, ends and values.
func TestTargetsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/spec/targets.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| (`[a-z`, ]+`) \\| ([^|]+) \\| (client|both|server) \\| ([^|]+) \\|")
	quoted := regexp.MustCompile("`([^`]+)`")
	names := func(s string) (out []string) {
		for _, m := range quoted.FindAllStringSubmatch(s, -1) {
			out = append(out, m[1])
		}
		return out
	}
	documented := make([]bool, len(options))
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		for _, name := range names(m[1]) {
			shapes := names(m[2])
			i := slices.IndexFunc(options, func(o OptionDoc) bool { return o.Name == name && slices.Equal(o.Shapes, shapes) })
			if i < 0 {
				t.Errorf("the page has the option %q for %q, the table does not", name, shapes)
				continue
			}
			documented[i] = true
			o := options[i]
			if end := map[side]string{dialSide: "client", serveSide: "server", anySide: "both"}[o.side]; end != m[3] {
				t.Errorf("%s: the page says the end is %s, the table %s", name, m[3], end)
			}
			if values := slices.DeleteFunc(slices.Clone(o.Values), func(v string) bool { return v == "" }); !slices.Equal(names(m[4]), values) {
				t.Errorf("%s: the page lists the values %q, the table %q", name, names(m[4]), values)
			}
		}
	}
	for i, o := range options {
		if !documented[i] {
			t.Errorf("the page lacks the option %q for %q", o.Name, o.Shapes)
		}
		if (o.Values == nil) != (o.Text != "") {
			t.Errorf("the option %q for %q: values %q, text %q; want one of the two", o.Name, o.Shapes, o.Values, o.Text)
		}
	}
	for _, w := range wires {
		if !strings.Contains(string(page), "| `"+w.name+"` | `"+strings.Join(w.transports, "`, `")+"` |") {
			t.Errorf("the page does not list the transports of %s as the table does", w.name)
		}
	}
}
