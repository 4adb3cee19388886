package threshold

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const intendedPrefix = "intended."

// maxText is the limit on a threshold's text in bytes.
const maxText = 1000

// Parse reads a threshold: figure, optionally an operation in parentheses,
// comparison, limit. An error says in which column the mistake is and what may
// stand there.
func Parse(text string) (Threshold, error) {
	if len(text) > maxText {
		return Threshold{}, fmt.Errorf("a threshold of %d bytes: the limit is %d", len(text), maxText)
	}
	p := parser{text: text, t: Threshold{text: strings.TrimSpace(text)}}
	for _, part := range []func() error{p.figure, p.operation, p.comparison, p.limit} {
		p.space()
		if err := part(); err != nil {
			return Threshold{}, err
		}
	}
	return p.t, nil
}

type parser struct {
	text string
	at   int // bytes that were read
	t    Threshold
}

// fail is a mistake at a place of the text.
func (p *parser) fail(at int, format string, args ...any) error {
	return fmt.Errorf("threshold %q, column %d: %s", p.text, utf8.RuneCountInString(p.text[:at])+1, fmt.Sprintf(format, args...))
}

func (p *parser) space() {
	p.at = len(p.text) - len(strings.TrimLeft(p.text[p.at:], " \t"))
}

// word takes the text until one of the characters.
func (p *parser) word(until string) string {
	n := strings.IndexAny(p.text[p.at:], until)
	if n < 0 {
		n = len(p.text) - p.at
	}
	word := p.text[p.at : p.at+n]
	p.at += n
	return word
}

func (p *parser) figure() error {
	at := p.at
	name, intended := strings.CutPrefix(p.word(" \t(<>=!"), intendedPrefix)
	if intended {
		p.t.intended = true
		at += len(intendedPrefix)
	}
	if digits, is := strings.CutPrefix(name, string(percentile)); is && digits != "" {
		v, ok := decimal(digits)
		if !ok || v <= 0 || v >= 100 {
			return p.fail(at, "%q is no percentile: write p50, p99.9 and the like, between 0 and 100; the ends are min and max", name)
		}
		p.t.figure, p.t.percent = percentile, v
		return nil
	}
	for _, f := range figures {
		if string(f) != name {
			continue
		}
		if intended && (!f.time() || f == deviation) {
			return p.fail(at, "%q is not told from the intended start; percentiles, avg, min and max are", name)
		}
		p.t.figure = f
		return nil
	}
	if name == "" {
		return p.fail(at, "a figure is missing; known are %s", known())
	}
	return p.fail(at, "the figure %q is not known; known are %s", name, known())
}

// known names all figures.
func known() string {
	words := []string{"percentiles such as p50, p99 and p99.9"}
	for _, f := range figures {
		words = append(words, string(f))
	}
	return strings.Join(words, ", ") + `; "` + intendedPrefix + `" before a time takes it from the intended start`
}

// operation reads what may stand in parentheses: a name whose own parentheses are
// balanced, or a string in double quotes.
func (p *parser) operation() error {
	open := p.at
	if !strings.HasPrefix(p.text[p.at:], "(") {
		return nil
	}
	p.at++
	p.space()
	if quote, err := strconv.QuotedPrefix(p.text[p.at:]); err == nil && quote[0] == '"' {
		p.t.op, _ = strconv.Unquote(quote) // it is one
		p.at += len(quote)
		p.space()
		if !strings.HasPrefix(p.text[p.at:], ")") {
			return p.fail(p.at, "a ) is missing after the operation's name")
		}
		p.at++
	} else {
		end := closing(p.text[p.at:])
		if end < 0 {
			return p.fail(open, "this ( has no ); a name with such in it stands in double quotes")
		}
		p.t.op = strings.TrimSpace(p.text[p.at : p.at+end])
		p.at += end + 1
	}
	switch {
	case p.t.op == "":
		return p.fail(open, "the name of an operation is missing between ( and )")
	case p.t.figure.whole():
		return p.fail(open, "%s is told of all operations together only", p.t.figure)
	}
	return nil
}

// closing is where the parenthesis is closed that was opened before s, -1 if it
// is not.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

func (p *parser) comparison() error {
	rest := p.text[p.at:]
	for _, c := range []string{">=", "<=", ">", "<"} {
		if strings.HasPrefix(rest, c) {
			p.t.compare = c
			p.at += len(c)
			return nil
		}
	}
	if rest == "" {
		return p.fail(p.at, "a comparison is missing: >, >=, < or <=, and a limit")
	}
	first, _ := utf8.DecodeRuneInString(rest)
	return p.fail(p.at, "%q is no comparison; known are >, >=, < and <=", first)
}

func (p *parser) limit() error {
	at, word := p.at, strings.TrimRight(p.text[p.at:], " \t")
	f := p.t.figure
	v, plain := decimal(word)
	switch {
	case word == "":
		return p.fail(at, "a limit is missing, such as %s", f.example())
	case f.time() && plain:
		return p.fail(at, "the limit %s has no unit: write %sms, %[1]ss or the like", word, word)
	case f.time():
		d, err := time.ParseDuration(word)
		if err != nil || d < 0 {
			return p.fail(at, "%q is no time; write one such as %s, with ns, us, ms, s, m or h", word, f.example())
		}
		p.t.limit = float64(d)
		return nil
	case plain && v >= 0:
		p.t.limit = v
		return nil
	}
	if digits, is := strings.CutSuffix(word, "/s"); is && f == rate {
		if v, ok := decimal(digits); ok && v >= 0 {
			p.t.limit = v
			return nil
		}
	}
	if digits, is := strings.CutSuffix(word, "%"); is && f.countable() {
		if v, ok := decimal(digits); ok && v >= 0 && v <= 100 {
			p.t.limit, p.t.share = v/100, true
			return nil
		}
		return p.fail(at, "%q is no share: write one between 0%% and 100%%", word)
	}
	return p.fail(at, "%q is no limit of %s; write one such as %s", word, f, f.example())
}

// example is a limit of the figure.
func (f figure) example() string {
	switch {
	case f.time():
		return "20ms"
	case f == rate:
		return "1000 or 1000/s"
	case f.countable():
		return "10 or 1%"
	}
	return "1000"
}

// decimal reads digits, with a fraction or an exponent.
func decimal(s string) (float64, bool) {
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false // neither hexadecimal digits, nor NaN, nor infinity
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
