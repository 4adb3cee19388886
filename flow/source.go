package flow

import (
	"fmt"
	"strings"
)

// A source is the text of a file, for errors.
type source struct {
	name  string
	lines [][]rune
	texts []string // of the lines
	errs  Errors
	// from is what the text was made from, nil if it is what its user wrote.
	from *origin
}

func newSource(name, text string) *source {
	s := &source{name: name}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		s.lines, s.texts = append(s.lines, []rune(line)), append(s.texts, line)
	}
	return s
}

// bad notes an error.
func (s *source) bad(at Pos, format string, args ...any) *Error {
	e := s.errorAt(at, fmt.Sprintf(format, args...))
	s.errs = append(s.errs, e)
	return e
}

// errorAt makes an error at a place, which is moved into the file if it is beyond.
func (s *source) errorAt(at Pos, text string) *Error {
	if s.from != nil {
		at, path := s.from.place(at)
		e := s.from.errorAt(at, text)
		e.Path = path
		return e
	}
	at.Line = max(min(at.Line, len(s.lines)), 1)
	at.Column = max(min(at.Column, len(s.lines[at.Line-1])+1), 1)
	return &Error{File: s.name, Pos: at, Text: text, Source: s.texts[at.Line-1]}
}

// A quoting is how a text is written in YAML.
type quoting uint8

const (
	plain quoting = iota
	singleQuoted
	doubleQuoted
	block
)

// place finds where the character at a byte of a text stands in the file: the text
// begins at a place and may have escapes, folded lines and an indentation there.
// It goes along both until it is there, or until they differ.
func (s *source) place(from Pos, q quoting, text string, offset int) Pos {
	w := walker{s: s, at: from}
	for _, r := range text[:min(offset, len(text))] {
		if !w.step(r, q) {
			break
		}
	}
	return w.at
}

type walker struct {
	s  *source
	at Pos
}

// rune is the character of the file at the place; a line ends with '\n'. ok is
// false at the end of the file.
func (w *walker) rune() (r rune, ok bool) {
	if w.at.Line < 1 || w.at.Line > len(w.s.lines) {
		return 0, false
	}
	line := w.s.lines[w.at.Line-1]
	if w.at.Column < 1 || w.at.Column > len(line) {
		return '\n', w.at.Line < len(w.s.lines)
	}
	return line[w.at.Column-1], true
}

// newLine goes to the first character of the next line that is no space.
func (w *walker) newLine() {
	w.at = Pos{w.at.Line + 1, 1}
	for r, ok := w.rune(); ok && r == ' '; r, ok = w.rune() {
		w.at.Column++
	}
}

// step goes behind a character of the text. It reports whether the file has it.
func (w *walker) step(want rune, q quoting) bool {
	for {
		r, ok := w.rune()
		switch {
		case !ok:
			return false
		case r == '\n' && (want == ' ' || want == '\n'): // folded, or a line of a block
			w.newLine()
			return true
		case r == '\\' && q == doubleQuoted:
			w.escape()
			return true
		case r == want:
			w.at.Column++
			if q == singleQuoted && r == '\'' { // which is written twice
				w.at.Column++
			}
			return true
		case r == ' ' || r == '\n': // at the end of a line that is folded, or a blank one
			if r == '\n' {
				w.newLine()
				continue
			}
			w.at.Column++
		default:
			return false
		}
	}
}

// escape goes behind one in double quotes.
func (w *walker) escape() {
	w.at.Column++
	r, _ := w.rune()
	switch r {
	case '\n':
		w.newLine()
	case 'x':
		w.at.Column += 3
	case 'u':
		w.at.Column += 5
	case 'U':
		w.at.Column += 9
	default:
		w.at.Column++
	}
}
