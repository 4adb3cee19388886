package draw

import (
	"strings"
	"unicode"
)

// A shape tells what a box is.
type shape uint8

const (
	process    shape = iota // a rectangle: a value is made
	terminal                // round ends: a flow begins or ends
	port                    // an arrow at its right: a call goes in or out
	document                // a bent foot: something is written
	predefined              // double sides: another flow
	hexagon                 // a condition
	clock                   // cut corners: a timer
)

// side is how much wider a shape is than its texts, on each side.
func (s shape) side() float64 {
	switch s {
	case terminal, hexagon:
		return 14
	case port, predefined:
		return 10
	}
	return 0
}

// A box has a word for its kind, a name, and lines.
type box struct {
	shape      shape
	kind, name string
	lines      []string
	full       string // all of it, for the title
	w, h       float64
}

func newBox(s shape, kind, name string, lines []string) *box {
	b := &box{shape: s, kind: kind, name: printed(name)}
	whole := make([]string, 0, len(lines)+1)
	whole = append(whole, strings.TrimSpace(kind+" "+name))
	whole = append(whole, lines...)
	b.full = strings.Join(whole, "\n")
	for i, l := range lines {
		if i == maxLines-1 && len(lines) > maxLines {
			b.lines = append(b.lines, "…")
			break
		}
		b.lines = append(b.lines, cut(printed(l), maxChars))
	}
	b.name = cut(b.name, maxChars-len(kind))
	chars := columns(kind) + columns(b.name)
	if b.name != "" {
		chars++
	}
	for _, l := range b.lines {
		chars = max(chars, columns(l))
	}
	b.w = max(float64(chars)*charWidth+2*padding, 120) + 2*s.side()
	b.h = float64(1+len(b.lines))*lineHeight + 2*padding - 4
	if s == document {
		b.h += 8
	}
	return b
}

func (b *box) size() (w, h float64) { return b.w, b.h }

func (b *box) draw(c *canvas, x, y float64) {
	c.open(b.kind, b.full)
	b.outline(c, x, y)
	left, base := x+padding+b.shape.side(), y+padding+fontSize-3
	c.text("kind", left, base, b.kind)
	if b.name != "" {
		c.text("name", left+float64(columns(b.kind)+1)*charWidth, base, b.name)
	}
	for _, l := range b.lines {
		base += lineHeight
		c.text("text", left, base, l)
	}
	c.close()
}

func (b *box) outline(c *canvas, x, y float64) {
	w, h := b.w, b.h
	switch b.shape {
	case process:
		c.rect("box", x, y, w, h, 0)
	case terminal:
		c.rect("box", x, y, w, h, min(h/2, 24))
	case port:
		c.path("box", "M%s %s H%s L%s %s L%s %s H%s Z", x, y, x+w-10, x+w, y+h/2, x+w-10, y+h, x)
	case document:
		c.path("box", "M%s %s H%s V%s Q%s %s %s %s T%s %s Z", x, y, x+w, y+h-8, x+3*w/4, y+h-18, x+w/2, y+h-8, x, y+h-8)
	case predefined:
		c.rect("box", x, y, w, h, 0)
		c.path("line", "M%s %s V%s M%s %s V%s", x+6, y, y+h, x+w-6, y, y+h)
	case hexagon:
		c.path("box", "M%s %s H%s L%s %s L%s %s H%s L%s %s Z", x+12, y, x+w-12, x+w, y+h/2, x+w-12, y+h, x+12, x, y+h/2)
	case clock:
		c.path("box", "M%s %s H%s L%s %s V%s L%s %s H%s L%s %s V%s Z", x+10, y, x+w-10, x+w, y+10, y+h-10, x+w-10, y+h, x+10, x, y+h-10, y+10)
	}
}

// width is what a text takes.
func width(s string) float64 { return float64(columns(s)) * charWidth }

// columns counts the places of a text in a font of one width: letters of East Asia and
// pictures take two.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += places(r)
	}
	return n
}

func places(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0x3000 && r <= 0x303f, r >= 0xff00 && r <= 0xff60, r >= 0x1f000:
		return 2
	}
	return 1
}

// cut shortens a text to so many places.
func cut(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += places(r); n > most-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// printed is a text in one line, without what does not show.
func printed(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, s)
}
