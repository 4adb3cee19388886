package capnp

import (
	"errors"

	"github.com/everywire/everywire/codec/internal/plain"
)

// A structure is where a struct lies: one of its own, or an element of a list.
// Its data section may be shorter than a word in a list of numbers.
type structure struct {
	segment    int
	at         int
	bits       int // of the data section
	pointersAt int
	pointers   int
}

// A list is where the elements of a list lie, and what one has.
type list struct {
	structure      // the first element
	n         int  // elements
	step      int  // bits from one element to the next
	elements  uint // their size in the pointer
}

// element is the element i as a struct.
func (l *list) element(i int) structure {
	s := l.structure
	s.at += i * l.step / 8
	s.pointersAt += i * l.step / 8
	return s
}

// A pointer is one that is not null, after far pointers have been followed.
type pointer struct {
	word    uint64
	at      int // where it stands, for errors
	segment int // of what it leads to
	target  int
}

func (p *pointer) kind() int { return int(p.word & 3) } //nolint:gosec // two bits

// load returns the word at a place that is in a segment.
func (d *decoder) load(at int) uint64 { return order.Uint64(d.data[at:]) }

// inside reports whether n words at a place are in a segment.
func (d *decoder) inside(segment, at, n int) bool {
	s := d.segments[segment]
	return at >= s.start && at <= s.end && n <= (s.end-at)/word
}

// pointer reads the pointer at a place in a segment. ok is false if it is null.
func (d *decoder) pointer(segment, at int) (p pointer, ok bool, err error) {
	p = pointer{word: d.load(at), at: at, segment: segment}
	switch {
	case p.word == 0:
		return p, false, nil
	case p.kind() == farPointer:
		return d.far(p)
	}
	// The offset, in words from the word behind the pointer, is signed.
	p.target = at + word + word*int(int32(p.word)>>2) //nolint:gosec // the lower half
	return p, true, nil
}

// far follows a far pointer to its landing pad: a pointer in another segment,
// or, if that segment had no room beside the content, another far pointer and a
// tag.
func (d *decoder) far(p pointer) (pointer, bool, error) {
	double := p.word&4 != 0
	segment, pad, err := d.landing(p.word, p.at, 1)
	if err != nil {
		return p, false, err
	}
	if !double {
		to, ok, err := d.nearPointer(segment, pad)
		to.at = p.at
		return to, ok, err
	}
	if !d.inside(segment, pad, 2) {
		return p, false, d.errorf(p.at, "the far pointer leads out of segment %d", segment)
	}
	if err := d.read(p.at, 2); err != nil {
		return p, false, err
	}
	second := d.load(pad)
	if second&7 != farPointer {
		return p, false, d.errorf(pad, "no far pointer at the double far pointer's landing pad")
	}
	if p.segment, p.target, err = d.landing(second, pad, 0); err != nil {
		return p, false, err
	}
	p.word = d.load(pad + word)
	if p.kind() == farPointer {
		return p, false, d.errorf(pad+word, "a far pointer as the tag of a landing pad")
	}
	return p, true, nil
}

// nearPointer reads a landing pad, which may not be another far pointer.
func (d *decoder) nearPointer(segment, pad int) (pointer, bool, error) {
	if err := d.read(pad, 1); err != nil {
		return pointer{}, false, err
	}
	if d.load(pad)&3 == farPointer {
		return pointer{}, false, d.errorf(pad, "a far pointer at a far pointer's landing pad")
	}
	return d.pointer(segment, pad)
}

// landing returns where a far pointer leads, which has n words at least.
func (d *decoder) landing(far uint64, at, n int) (segment, pad int, err error) {
	if far>>32 >= uint64(len(d.segments)) {
		return 0, 0, d.errorf(at, "the far pointer leads to segment %d of %d", far>>32, len(d.segments))
	}
	segment = int(far >> 32) //nolint:gosec // below the number of segments
	offset := far & 0xffffffff >> 3
	if s := d.segments[segment]; offset > uint64((s.end-s.start)/word) { //nolint:gosec // not negative
		return 0, 0, d.errorf(at, "the far pointer leads out of segment %d", segment)
	}
	pad = d.segments[segment].start + word*int(offset) //nolint:gosec // within the segment
	if !d.inside(segment, pad, n) {
		return 0, 0, d.errorf(at, "the far pointer leads out of segment %d", segment)
	}
	return segment, pad, nil
}

// structAt reads a pointer to a struct. ok is false if it is null.
func (d *decoder) structAt(segment, at int) (s structure, ok bool, err error) {
	p, ok, err := d.pointer(segment, at)
	if !ok {
		return s, false, err
	}
	if p.kind() != structPointer {
		return s, false, d.errorf(at, "%s where a struct is needed", kinds[p.kind()])
	}
	size := sizeOf(p.word)
	if !d.inside(p.segment, p.target, size.words()) {
		return s, false, d.errorf(at, "a struct of %d words is not in its segment", size.words())
	}
	if err := d.read(at, 1+size.words()); err != nil {
		return s, false, err
	}
	return size.at(p.segment, p.target), true, nil
}

var kinds = [4]string{"a struct", "a list", "a far pointer", "a capability"}

// sizeOf is the size in a struct pointer.
func sizeOf(w uint64) size { return size{int(w >> 32 & 0xffff), int(w >> 48)} } //nolint:gosec // 16 bits each

func (s size) at(segment, at int) structure {
	return structure{segment, at, 64 * s.data, at + word*s.data, s.pointers}
}

// elementBits has the bits of elements that are no structs.
var elementBits = [...]int{voidElements: 0, bitElements: 1, byteElements: 8, twoByteElements: 16, fourByteElements: 32, eightByteElements: 64, pointerElements: 64}

var errShort = errors.New("the list is not in its segment")

// listAt reads a pointer to a list. ok is false if it is null.
func (d *decoder) listAt(segment, at int) (l list, ok bool, err error) {
	p, ok, err := d.pointer(segment, at)
	if !ok {
		return l, false, err
	}
	if p.kind() != listPointer {
		return l, false, d.errorf(at, "%s where a list is needed", kinds[p.kind()])
	}
	n := int(p.word >> 35) //nolint:gosec // 29 bits
	l = list{structure: structure{segment: p.segment, at: p.target, pointersAt: p.target}, n: n, elements: uint(p.word >> 32 & 7)}
	words := n
	switch l.elements {
	case compositeElements:
		return d.composite(l, at, words)
	case pointerElements:
		l.pointers, l.step = 1, 8*word
	default:
		l.bits = elementBits[l.elements]
		l.step = l.bits
		words = int((int64(n)*int64(l.bits) + 63) / 64)
	}
	if !d.inside(l.segment, l.at, words) {
		return l, false, plain.From(at, errShort)
	}
	if l.elements == voidElements {
		words = n // they take no room, and still something is made of each
	}
	if err := d.read(at, 1+words); err != nil {
		return l, false, err
	}
	return l, true, nil
}

// composite reads the tag of a list of structs, which says how many there are
// and how large one is.
func (d *decoder) composite(l list, at, words int) (list, bool, error) {
	if !d.inside(l.segment, l.at, 1+words) {
		return l, false, plain.From(at, errShort)
	}
	tag := d.load(l.at)
	n, size := int(tag&0xffffffff>>2), sizeOf(tag) //nolint:gosec // 30 bits
	if tag&3 != structPointer || int64(n)*int64(size.words()) > int64(words) {
		return l, false, d.errorf(l.at, "the tag of a list of %d words claims %d structs of %d words", words, n, size.words())
	}
	l.structure = size.at(l.segment, l.at+word)
	l.n, l.step = n, 64*size.words()
	if err := d.read(at, 1+max(words, n)); err != nil { // structs without size count, too
		return l, false, err
	}
	return l, true, nil
}
