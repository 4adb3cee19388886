package draw

// The measures of a picture, in pixels at its own size.
const (
	fontSize   = 13
	charWidth  = 8.1 // of a font of one width it is 0.6 of the size; this is a little more
	lineHeight = 18
	padding    = 12
	gap        = 34 // between a box and the next, with the arrow
	margin     = 24
	maxChars   = 52 // of a line in a box
	maxLines   = 12 // of a box
)

// A part has a size, is entered at the middle of its top, and left at that of its
// bottom.
type part interface {
	size() (w, h float64)
	draw(c *canvas, x, y float64)
}

// A column has parts one below the other, in the middle.
type column struct {
	items  []part
	gap    float64
	arrows bool // from each to the next
}

func (p *column) size() (w, h float64) {
	for i, item := range p.items {
		iw, ih := item.size()
		w = max(w, iw)
		h += ih
		if i > 0 {
			h += p.gap
		}
	}
	return w, h
}

func (p *column) draw(c *canvas, x, y float64) {
	w, _ := p.size()
	for i, item := range p.items {
		iw, ih := item.size()
		item.draw(c, x+(w-iw)/2, y)
		y += ih
		if p.arrows && i+1 < len(p.items) {
			p.arrow(c, item, x+w/2, y)
		}
		y += p.gap
	}
}

// arrow leads from a part to the next one; from each of several that are side by side.
func (p *column) arrow(c *canvas, from part, x, y float64) {
	if side, ok := from.(*row); ok && len(side.items) > 1 {
		w, h := side.size()
		left := x - w/2
		for _, item := range side.items {
			iw, ih := item.size()
			c.path("line", "M%s %s V%s H%s", left+iw/2, y-h+ih, y+p.gap/2, x)
			left += iw + side.gap
		}
		c.arrow(x, y+p.gap/2, y+p.gap)
		return
	}
	c.arrow(x, y, y+p.gap)
}

// A row has parts side by side, at the same height.
type row struct {
	items []part
	gap   float64
}

func (p *row) size() (w, h float64) {
	for i, item := range p.items {
		iw, ih := item.size()
		h = max(h, ih)
		w += iw
		if i > 0 {
			w += p.gap
		}
	}
	return w, h
}

func (p *row) draw(c *canvas, x, y float64) {
	for _, item := range p.items {
		w, _ := item.size()
		item.draw(c, x, y)
		x += w + p.gap
	}
}

// A frame is around steps that run beside each other.
type frame struct {
	label string
	inner *row
}

func (p *frame) size() (w, h float64) {
	w, h = p.inner.size()
	w = max(w, width(p.label))
	return w + 2*padding, h + 2*padding + lineHeight
}

func (p *frame) draw(c *canvas, x, y float64) {
	w, h := p.size()
	c.rect("frame", x, y, w, h, 8)
	c.text("kind", x+padding, y+padding+fontSize-2, cut(p.label, maxChars))
	iw, _ := p.inner.size()
	p.inner.draw(c, x+(w-iw)/2, y+padding+lineHeight)
}

// A condition stands before a step that it may leave out: a line leads round it.
type condition struct {
	text  *box
	inner part
	ends  bool // the step is a return, behind which nothing comes
}

const bypass = 18 // of the line, left of both

func (p *condition) size() (w, h float64) {
	tw, th := p.text.size()
	iw, ih := p.inner.size()
	return max(tw, iw) + 2*bypass, th + gap + ih + gap/2
}

func (p *condition) draw(c *canvas, x, y float64) {
	w, h := p.size()
	tw, th := p.text.size()
	iw, _ := p.inner.size()
	middle := x + w/2
	p.text.draw(c, middle-tw/2, y)
	c.arrow(middle, y+th, y+th+gap)
	c.text("note", middle+6, y+th+gap/2+4, "true")
	p.inner.draw(c, middle-iw/2, y+th+gap)
	if !p.ends {
		c.path("line", "M%s %s V%s", middle, y+h-gap/2, y+h)
	}
	c.path("line else", "M%s %s H%s V%s H%s", middle-tw/2, y+th/2, x, y+h, middle)
}
