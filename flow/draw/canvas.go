package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/everywire/everywire/flow"
)

// A canvas writes elements of SVG.
type canvas struct{ b bytes.Buffer }

// style has what SVG's own attributes cannot say: another look in the dark.
const style = `
  svg { color-scheme: light dark; --ink: #1d2430; --soft: #5b6573; --line: #8a94a3; --paper: #ffffff; --fill: #f4f6f9 }
  @media (prefers-color-scheme: dark) { svg { --ink: #e8ecf2; --soft: #a4afbd; --line: #7c8797; --paper: #14181f; --fill: #1f2630 } }
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); white-space: pre }
  .kind { fill: var(--soft); font-style: italic } .name { font-weight: 700 } .note { fill: var(--soft); font-size: 11px }
  .paper { fill: var(--paper) } .box { fill: var(--fill); stroke: var(--ink); stroke-width: 1.3 }
  .frame { fill: none; stroke: var(--line); stroke-width: 1.3; stroke-dasharray: 6 4 }
  .line { fill: none; stroke: var(--line); stroke-width: 1.5 } .else { stroke-dasharray: 3 3 } .head { fill: var(--line) }
`

// document is a picture with its frame.
func (p *picture) document(all part, flows []*flow.Flow) []byte {
	w, h := all.size()
	w, h = w+2*margin, h+2*margin
	c := new(canvas)
	names := make([]string, len(flows))
	for i, f := range flows {
		names[i] = f.Name
	}
	fmt.Fprintf(&c.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-labelledby="title desc">`+"\n", number(w), number(h))
	fmt.Fprintf(&c.b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">Flows: %s.</desc>\n<style>%s</style>\n", escaped(p.file.App), escaped(strings.Join(names, ", ")), style)
	c.rect("paper", 0, 0, w, h, 0)
	all.draw(c, margin, margin)
	c.b.WriteString("</svg>\n")
	return c.b.Bytes()
}

// open begins a group with a title, which browsers show for a pointer that rests.
func (c *canvas) open(class, title string) {
	fmt.Fprintf(&c.b, "<g class=\"%s\"><title>%s</title>\n", strings.ReplaceAll(class, " ", "-"), escaped(title))
}

func (c *canvas) close() { c.b.WriteString("</g>\n") }

func (c *canvas) rect(class string, x, y, w, h, r float64) {
	fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`+"\n", class, number(x), number(y), number(w), number(h), number(r))
}

// path writes a path whose numbers are the %s of form.
func (c *canvas) path(class, form string, values ...float64) {
	texts := make([]any, len(values))
	for i, v := range values {
		texts[i] = number(v)
	}
	fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`+"\n", class, fmt.Sprintf(form, texts...))
}

func (c *canvas) text(class string, x, y float64, s string) {
	fmt.Fprintf(&c.b, `<text class="%s" x="%s" y="%s">%s</text>`+"\n", class, number(x), number(y), escaped(s))
}

// arrow leads down.
func (c *canvas) arrow(x, from, to float64) {
	c.path("line", "M%s %s V%s", x, from, to-6)
	c.path("head", "M%s %s L%s %s L%s %s Z", x, to, x-4.5, to-8, x+4.5, to-8)
}

func number(v float64) string { return strconv.FormatFloat(float64(int64(v*10+0.5))/10, 'f', -1, 64) }

// escaped is a text in XML. What XML cannot have becomes U+FFFD.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // into memory: nothing fails
	return b.String()
}
