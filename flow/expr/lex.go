package expr

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A token is a word of an expression.
type token struct {
	kind  tokenKind
	at    int    // its first byte
	text  string // a name, or an operator
	value any    // of a literal
}

type tokenKind uint8

const (
	endToken tokenKind = iota
	nameToken
	literalToken
	opToken
)

// String is the token as errors call it.
func (t token) String() string {
	switch t.kind {
	case endToken:
		return "the end"
	case literalToken:
		if s, ok := t.value.(string); ok {
			return strconv.Quote(s)
		}
		return t.text
	}
	return strconv.Quote(t.text)
}

// operators, the longer ones first.
var operators = []string{"==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")", "[", "]", ",", "."}

// lex splits an expression into tokens; the last is endToken.
func lex(src string) ([]token, *Error) {
	var all []token
	for i := 0; ; {
		for i < len(src) && (src[i] == ' ' || src[i] == '\t' || src[i] == '\n' || src[i] == '\r') {
			i++
		}
		if i == len(src) {
			return append(all, token{kind: endToken, at: i}), nil
		}
		t, n, err := one(src, i)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		i += n
	}
}

// one reads the token at i, and says how long it is.
func one(src string, i int) (t token, n int, err *Error) {
	rest := src[i:]
	switch c := src[i]; {
	case isLetter(c):
		n = 1
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		t = token{kind: nameToken, at: i, text: rest[:n]}
		switch t.text {
		case "true", "false":
			t.kind, t.value = literalToken, t.text == "true"
		case "null":
			t.kind = literalToken
		}
		return t, n, nil
	case isDigit(c):
		return number(rest, i)
	case c == '\'' || c == '"':
		return quoted(rest, i)
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return token{kind: opToken, at: i, text: op}, len(op), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '=':
		return t, 0, errorf(i, `"=" is no operator: write ==`)
	case '&', '|':
		return t, 0, errorf(i, "%q is no operator: write %c%c", r, r, r)
	case '$':
		return t, 0, errorf(i, `"$" does not belong in an expression: paths begin with a name, such as inputs`)
	}
	return t, 0, errorf(i, "%q does not belong in an expression", r)
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// number reads 12, 1.5, 1e3.
func number(rest string, at int) (token, int, *Error) {
	n := 0
	digits := func() {
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
	}
	digits()
	whole := true
	if n+1 < len(rest) && rest[n] == '.' && isDigit(rest[n+1]) {
		whole = false
		n++
		digits()
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		whole = false
		n++
		if n < len(rest) && (rest[n] == '+' || rest[n] == '-') {
			n++
		}
		digits()
	}
	if n < len(rest) && isLetter(rest[n]) {
		for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
			n++
		}
		return token{}, 0, errorf(at, "%q is neither a number nor a name: names begin with a letter", rest[:n])
	}
	t := token{kind: literalToken, at: at, text: rest[:n]}
	if whole {
		v, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return t, 0, errorf(at, "%s is beyond the integers of 64 bits", t.text)
		}
		t.value = v
		return t, n, nil
	}
	v, err := strconv.ParseFloat(t.text, 64)
	if err != nil || math.IsInf(v, 0) {
		return t, 0, errorf(at, "%s is no number that a double can hold", t.text)
	}
	t.value = v
	return t, n, nil
}

// quoted reads a text in quotes. Within it the quote is written twice.
func quoted(rest string, at int) (token, int, *Error) {
	quote := rest[0]
	var b strings.Builder
	for n := 1; n < len(rest); n++ {
		if rest[n] != quote {
			b.WriteByte(rest[n])
			continue
		}
		if n+1 < len(rest) && rest[n+1] == quote {
			b.WriteByte(quote)
			n++
			continue
		}
		return token{kind: literalToken, at: at, value: b.String(), text: rest[:n+1]}, n + 1, nil
	}
	return token{}, 0, errorf(at, "the text has no end: a %c is missing", quote)
}
