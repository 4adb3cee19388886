package capnp

// A layout gives the fields of a struct their places, in the order of their
// ordinals, as the capnp compiler does: a field of fewer than 64 bits goes to
// the smallest hole that it fits, of those that fields before it have left in
// the words in use, and else to a new word. So fields that are added at the end
// move none that are there.
type layout struct {
	words    int // of the data section
	pointers int
	// holes has for each size, 1<<i bits, where the one hole of that size is,
	// in units of that size; 0 is none, since a hole never begins a struct. A
	// hole is only split when there is none that is smaller, so there is never
	// a second one of a size.
	holes [wordBits]int
}

// wordBits is the logarithm of the bits of a word, and so the count of smaller
// sizes.
const wordBits = 6

// data returns the place of a field of 1<<size bits, in units of that size.
func (l *layout) data(size int) int {
	if at, ok := l.hole(size); ok {
		return at
	}
	at := l.words << (wordBits - size)
	l.words++
	// The rest of the word is a hole of each size up to half a word.
	for i, hole := size, at+1; i < wordBits; i++ {
		l.holes[i] = hole
		hole = (hole + 1) / 2
	}
	return at
}

// hole takes the smallest hole of at least 1<<size bits.
func (l *layout) hole(size int) (at int, ok bool) {
	if size >= wordBits {
		return 0, false
	}
	if at = l.holes[size]; at != 0 {
		l.holes[size] = 0
		return at, true
	}
	if at, ok = l.hole(size + 1); !ok {
		return 0, false
	}
	at *= 2
	l.holes[size] = at + 1
	return at, true
}

// pointer returns the place of a field in the pointer section.
func (l *layout) pointer() int {
	l.pointers++
	return l.pointers - 1
}
