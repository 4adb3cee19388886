package cbor

import (
	"unicode/utf8"

	"github.com/everywire/everywire/schema"
)

// definite returns data, which must be one well-formed item, with a definite
// length for every item of indefinite length in it (RFC 8949, section 3.2). It
// goes through data twice: to count what is in each, and to copy.
func definite(data []byte) ([]byte, error) {
	c := &copier{reader: reader{data: data}}
	if err := c.run(); err != nil {
		return nil, err
	}
	c.pos, c.open = 0, c.open[:0]
	c.copying, c.out = true, make([]byte, 0, len(data))
	if err := c.run(); err != nil {
		return nil, err
	}
	return c.out, nil
}

// A copier goes through an item, counting or copying.
type copier struct {
	reader
	copying bool
	out     []byte
	counts  []uint64 // of the items of indefinite length, in the order of their beginnings
	next    int      // in counts, when copying
	open    []level  // the arrays and maps around what comes next
}

// A level is an array or map.
type level struct {
	isMap bool
	count int    // index in counts, or -1 if the length is definite
	left  uint64 // items still to come, if the length is definite
}

func (c *copier) run() error {
	for {
		if err := c.step(); err != nil {
			return err
		}
		for n := len(c.open); n > 0 && c.open[n-1].count < 0 && c.open[n-1].left == 0; n-- {
			c.open = c.open[:n-1]
		}
		if len(c.open) == 0 {
			return c.End()
		}
	}
}

// step reads a string, a number or a simple value, the beginning of an array or
// map, or a break.
func (c *copier) step() error {
	it, err := c.item()
	if err != nil {
		return err
	}
	if n := len(c.open); n > 0 {
		switch top := &c.open[n-1]; {
		case top.count < 0:
			top.left--
		case it.isBreak():
			if top.isMap && c.counts[top.count]%2 != 0 {
				return c.errorf("a break between a key and its value")
			}
			c.pos++
			c.open = c.open[:n-1]
			return nil
		case !c.copying:
			c.counts[top.count]++
		}
	}
	for it.major == majorTag {
		c.pass(it.size)
		if it, err = c.item(); err != nil {
			return err
		}
	}
	if it.info == indefinite && !it.isBreak() {
		return c.begin(it.major)
	}
	if it, err = c.claimed(); err != nil { // also for a break
		return err
	}
	c.pass(it.size)
	switch it.major {
	case majorBytes, majorText:
		c.pass(int(it.arg))
	case majorArray:
		return c.enter(level{count: -1, left: it.arg})
	case majorMap:
		return c.enter(level{count: -1, left: 2 * it.arg})
	}
	return nil
}

// pass goes past n bytes, which stay as they are.
func (c *copier) pass(n int) {
	if c.copying {
		c.out = append(c.out, c.data[c.pos:c.pos+n]...)
	}
	c.pos += n
}

func (c *copier) enter(l level) error {
	if len(c.open) == schema.MaxDepth {
		return c.errorf("nested deeper than %d levels", schema.MaxDepth)
	}
	c.open = append(c.open, l)
	return nil
}

// begin reads the head of an item of indefinite length, and all of a string.
func (c *copier) begin(major byte) error {
	c.pos++
	count := len(c.counts)
	if c.copying {
		count = c.next
		c.next++
		n := c.counts[count]
		if major == majorMap {
			n /= 2
		}
		c.out = appendHead(c.out, major, n)
	} else {
		c.counts = append(c.counts, 0)
	}
	if major == majorBytes || major == majorText {
		return c.chunks(major, count)
	}
	return c.enter(level{isMap: major == majorMap, count: count})
}

// chunks reads the strings that a string of indefinite length consists of;
// section 3.2.3.
func (c *copier) chunks(major byte, count int) error {
	for {
		it, err := c.item()
		if err != nil {
			return err
		}
		if it.isBreak() {
			c.pos++
			return nil
		}
		if it.major != major || it.info == indefinite {
			return c.errorf("a string of indefinite length has a part that is not %v of definite length", typeOf(item{major: major}))
		}
		if it, err = c.claimed(); err != nil {
			return err
		}
		if part := c.data[c.pos+it.size:][:it.arg]; major == majorText && !utf8.Valid(part) {
			return c.errorf("a part of a text string is not valid UTF-8")
		}
		c.pos += it.size
		c.pass(int(it.arg))
		if !c.copying {
			c.counts[count] += it.arg
		}
	}
}
