package msgpack

import (
	"fmt"

	"github.com/everywire/everywire/schema"
)

// scanDepth is how deeply a scanned value may nest: a message in an envelope
// of arrays, such as MessagePack-RPC's.
const scanDepth = schema.MaxDepth + 4

// A ScanState is how far [Scan] has come in a value that is still arriving.
// The zero value is at the beginning of a value.
type ScanState struct {
	pos   int      // where the next head is; beyond the buffer while a value is arriving
	owed  uint64   // values that are still to come, each of one byte or more
	left  uint64   // those of them that the innermost open container needs
	open  []uint64 // what the containers around it will still need then
	begun bool
}

// A TooLargeError is what [Scan] returns for a value that is longer than
// allowed, as soon as that is certain: for a claimed length, when the claim has
// arrived.
type TooLargeError struct {
	// Max is the limit, in bytes.
	Max int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("msgpack: a value is longer than the limit of %d bytes", e.Max)
}

// Scan finds the end of the value at the beginning of buf, which may not have
// arrived completely. It returns the value's length, or 0 if the end is not in
// buf: then Scan is called again with the same state and the same bytes and
// more after them. No byte is looked at twice, however small the pieces are.
// When Scan has returned a length, the state is ready for the next value.
//
// Scan looks at structure only: lengths, counts and nesting. It fails for a
// value longer than limit bytes ([*TooLargeError]), for the one format byte that
// is not used, and for nesting deeper than [schema.MaxDepth] and four levels of
// an envelope ([*Error]). What follows after an error is not a value.
func Scan(buf []byte, from *ScanState, limit int) (n int, err error) {
	if !from.begun {
		from.begun, from.owed, from.left = true, 1, 1
	}
	for from.owed > 0 {
		if from.pos > limit || from.owed > uint64(limit-from.pos) {
			return 0, &TooLargeError{Max: limit}
		}
		if from.pos >= len(buf) {
			return 0, nil
		}
		if size := sizes[buf[from.pos]]; size > 0 { // a number or a short string, as most are
			from.pos += int(size)
			from.took()
			continue
		}
		h := parseHead(buf[from.pos:])
		if h.typ == Invalid {
			if h.size == 0 {
				return 0, &Error{Offset: from.pos, Reason: fmt.Sprintf("the byte 0x%x begins no value", formatUnused)}
			}
			if h.size > limit-from.pos {
				return 0, &TooLargeError{Max: limit}
			}
			return 0, nil // heads are short: reading one again costs nothing
		}
		from.pos += h.size
		switch h.typ {
		case Array:
			err = from.enter(h.length)
		case Map:
			err = from.enter(2 * h.length)
		default: // Str, Bin, Ext
			// The claim is below 4 GiB and checked against limit before use.
			if from.pos > limit || h.length > uint64(limit-from.pos) {
				return 0, &TooLargeError{Max: limit}
			}
			from.pos += int(h.length)
			from.took()
		}
		if err != nil {
			return 0, err
		}
	}
	if from.pos > limit {
		return 0, &TooLargeError{Max: limit}
	}
	if from.pos > len(buf) {
		return 0, nil
	}
	n = from.pos
	*from = ScanState{open: from.open[:0]}
	return n, nil
}

// took counts one value as begun, and leaves the containers that it completes.
func (s *ScanState) took() {
	s.owed--
	s.left--
	for s.left == 0 && len(s.open) > 0 {
		last := len(s.open) - 1
		s.left, s.open = s.open[last], s.open[:last]
	}
}

// enter counts a container of so many values, whose head ends at pos, as begun.
func (s *ScanState) enter(values uint64) error {
	if len(s.open) >= scanDepth {
		return &Error{Offset: s.pos, Reason: fmt.Sprintf("nested deeper than %d levels", scanDepth)}
	}
	if values == 0 {
		s.took()
		return nil
	}
	s.owed += values - 1
	s.open = append(s.open, s.left-1)
	s.left = values
	return nil
}
