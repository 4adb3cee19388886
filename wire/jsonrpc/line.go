package jsonrpc

import "fmt"

// A lineFramer finds where JSON-RPC messages end in a stream of bytes. A frame
// is one object or array, so messages may stand on lines of their own, on
// several lines, or side by side; white space between them is dropped.
//
// It follows the structure of the JSON (brackets, commas, colons, strings) and
// looks at each byte once, wherever the stream is cut. When the structure
// breaks, the frame ends with the line: with the last complete line if the
// frame has one, else with the line that the fault is on. What the frame holds
// is then found to be no JSON by the parser, and the next line is a new start.
// So a peer that sends one message a line is not misread beyond the line with
// the mistake, unless that line stops where a value must follow.
type lineFramer struct {
	start    int // of the value in the buffer
	pos      int // bytes seen of the buffer
	state    frameState
	depth    int
	lastLine int // where the last complete line within the value ends, 0 if none
	// isObject says of each open level whether it is an object.
	isObject [(maxDepth + 64) / 64]uint64
	// quick, if it is set, is tried on an object of which a part has arrived,
	// once and before all else: it returns the length of the object if all of
	// it is there and it is valid, else 0. What it takes must be what the
	// state machine would take.
	quick func(buf []byte) int
}

type frameState uint8

const (
	beforeValue   frameState = iota // at the top level
	wantValue                       // an element, or a member's value
	wantFirst                       // an element, or ']'
	wantFirstName                   // a member name, or '}'
	wantName                        // a member name
	wantColon
	wantComma // or the end of the level
	inScalar  // a number or a literal
	inName    // a string that is a member name
	inNameEscape
	inString
	inStringEscape
	broken // skip to the end of the line
)

// A frameError says that the stream carries no JSON-RPC.
type frameError struct {
	c    byte
	want string
}

func (e *frameError) Error() string { return fmt.Sprintf("%s, not %q", e.want, e.c) }

// Next is [stream.Framer]'s. The error is a *frameError.
func (f *lineFramer) Next(buf []byte) (from, to int, err error) {
	for f.pos < len(buf) {
		c := buf[f.pos]
		f.pos++
		switch f.state {
		case beforeValue:
			switch {
			case isSpace(c):
				f.start = f.pos
			case c == '{' && f.quick != nil:
				if n := f.quick(buf[f.start:]); n > 0 {
					return f.end(f.start + n)
				}
				f.open(c)
			case c == '{' || c == '[':
				f.open(c)
			default:
				return 0, 0, &frameError{c, "a message must begin with '{' or '['"}
			}
			continue
		case inString, inName:
			for f.pos < len(buf) && c != '"' && c != '\\' && c != '\n' {
				if f.pos = beyondEnd(buf, plainEnd(buf, f.pos)); f.pos == len(buf) {
					break
				}
				c = buf[f.pos]
				f.pos++
			}
			switch c {
			case '"':
				if f.state == inName {
					f.state = wantColon
				} else {
					f.state = wantComma
				}
			case '\\':
				f.state++
			case '\n':
				return f.end(f.pos)
			}
			continue
		case inStringEscape, inNameEscape:
			if f.state--; c == '\n' {
				return f.end(f.pos)
			}
			continue
		case broken:
			if c == '\n' {
				return f.end(f.pos)
			}
			continue
		case inScalar:
			if isScalar(c) {
				continue
			}
			f.state = wantComma
		}
		if isSpace(c) {
			if c == '\n' {
				f.lastLine = f.pos
			}
			continue
		}
		switch ok := f.step(c); {
		case !ok && f.lastLine > 0:
			return f.end(f.lastLine)
		case !ok:
			f.state = broken
		case f.depth == 0:
			return f.end(f.pos)
		}
	}
	from = f.start
	f.start, f.pos = 0, f.pos-from
	if f.lastLine > 0 {
		f.lastLine -= from
	}
	return from, 0, nil
}

// end makes the framer ready for the next frame.
func (f *lineFramer) end(to int) (int, int, error) {
	from := f.start
	*f = lineFramer{quick: f.quick}
	return from, to, nil
}

// step takes a byte of structure, or the first of a string or scalar, and
// reports whether it may stand here.
func (f *lineFramer) step(c byte) bool {
	switch c {
	case '{', '[':
		return f.wantsValue() && f.open(c)
	case '}':
		return f.inObject() && (f.state == wantComma || f.state == wantFirstName) && f.close()
	case ']':
		return !f.inObject() && (f.state == wantComma || f.state == wantFirst) && f.close()
	case ',':
		if f.state != wantComma {
			return false
		}
		f.state = wantValue
		if f.inObject() {
			f.state = wantName
		}
	case ':':
		if f.state != wantColon {
			return false
		}
		f.state = wantValue
	case '"':
		switch {
		case f.state == wantName || f.state == wantFirstName:
			f.state = inName
		case f.wantsValue():
			f.state = inString
		default:
			return false
		}
	default:
		if !f.wantsValue() || !isScalar(c) {
			return false
		}
		f.state = inScalar
	}
	return true
}

func (f *lineFramer) wantsValue() bool { return f.state == wantValue || f.state == wantFirst }

func (f *lineFramer) inObject() bool { return f.isObject[f.depth/64]>>(f.depth%64)&1 == 1 }

func (f *lineFramer) open(c byte) bool {
	if f.depth++; f.depth > maxDepth {
		return false
	}
	bit := uint64(1) << (f.depth % 64)
	if c == '{' {
		f.isObject[f.depth/64] |= bit
		f.state = wantFirstName
	} else {
		f.isObject[f.depth/64] &^= bit
		f.state = wantFirst
	}
	return true
}

func (f *lineFramer) close() bool {
	f.depth--
	f.state = wantComma
	return true
}

// isScalar reports whether c may be part of a number or of true, false, null;
// which of these it is, is the parser's to judge.
func isScalar(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}
