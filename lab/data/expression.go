package data

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An evaluator is a compiled expression. The text that it returns is valid until the
// state's next evaluation.
type evaluator interface {
	value(s *State) (Kind, []byte)
}

// parser reads one placeholder, at the text after its "{{".
type parser struct {
	text  string
	at    int
	from  Origin
	names *Scope
}

// A word of an expression.
type word struct {
	text   string
	at     int
	quoted bool
}

// expression reads up to and with the "}}".
func (p *parser) expression(open int) (evaluator, error) {
	var words []word
	for {
		p.at = len(p.text) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
		if p.at >= len(p.text) {
			return nil, p.from.At(p.text, open, "the placeholder has no end: it is {{name}}; for {{ itself write {{\"{{\"}}")
		}
		if strings.HasPrefix(p.text[p.at:], "}}") {
			p.at += 2
			break
		}
		w, err := p.word()
		if err != nil {
			return nil, err
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		return nil, p.from.At(p.text, open, "the placeholder is empty: put a name or a function between {{ and }}")
	}
	head, args := words[0], words[1:]
	if head.quoted {
		if len(args) > 0 {
			return nil, p.bad(args[0], "nothing may follow the text")
		}
		return constant{String, head.text}, nil
	}
	return p.call(head, args)
}

func (p *parser) word() (word, error) {
	start := p.at
	if p.text[start] == '"' {
		return p.quotedWord()
	}
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		if unicode.IsSpace(r) || r == '"' || strings.HasPrefix(p.text[p.at:], "}}") {
			break
		}
		if r == '{' || r == '}' || r == '|' || r == '(' || r == ')' || r == ',' {
			return word{}, p.from.At(p.text, p.at, "%q has no meaning in a placeholder: it is a name, or a function and its arguments with spaces between, such as {{int 1 99}}", r)
		}
		p.at += size
	}
	return word{text: p.text[start:p.at], at: start}, nil
}

func (p *parser) quotedWord() (word, error) {
	start := p.at
	for i := start + 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '\n':
			return word{}, p.from.At(p.text, start, "the text in quotes does not end on its line")
		case '"':
			text, err := strconv.Unquote(p.text[start : i+1])
			if err != nil || !utf8.ValidString(text) {
				return word{}, p.from.At(p.text, start, "the text in quotes is not one of Go: backslashes begin \\n, \\t, \\\", \\\\, \\u0000")
			}
			p.at = i + 1
			return word{text: text, at: start, quoted: true}, nil
		}
	}
	return word{}, p.from.At(p.text, start, "the text in quotes does not end")
}

func (p *parser) bad(w word, format string, args ...any) error {
	return p.from.At(p.text, w.at, format, args...)
}

// call makes what a name or a function stands for.
func (p *parser) call(head word, args []word) (evaluator, error) {
	maker, isFunction := functions[head.text]
	slot, isName := p.names.Slot(head.text)
	switch {
	case isFunction && isName:
		return nil, p.bad(head, "%s is a function's name and a variable's: write {{var %q}} for the variable, or give it another name for the function", head.text, head.text)
	case isFunction:
		return maker(p, head, args)
	case isName && len(args) > 0:
		return nil, p.bad(args[0], "nothing may follow the name %s", head.text)
	case isName:
		return variable(slot), nil
	case strings.HasPrefix(head.text, "."):
		return nil, p.bad(head, "names have no dot before them: {{%s}}", strings.TrimLeft(head.text, "."))
	}
	return nil, p.bad(head, "nothing is named %q: %s; the functions are %s", head.text, p.names.list(), strings.Join(functionNames(), ", "))
}

// variable is the value of a slot.
type variable int

func (v variable) value(s *State) (Kind, []byte) {
	x := s.values[v]
	s.scratch = append(s.scratch[:0], x.Text...)
	return x.Kind, s.scratch
}

// constant is always the same.
type constant struct {
	kind Kind
	text string
}

func (c constant) value(s *State) (Kind, []byte) {
	s.scratch = append(s.scratch[:0], c.text...)
	return c.kind, s.scratch
}

// functionMaker checks a function's arguments.
type functionMaker func(p *parser, head word, args []word) (evaluator, error)

// functions are all, by name.
var functions = map[string]functionMaker{
	"bytes":  makeBytes,
	"call":   makeCall,
	"caller": makeCaller,
	"env":    makeEnv,
	"exp":    makeExp,
	"float":  makeFloat,
	"int":    makeInt,
	"now":    makeNow,
	"pick":   makePick,
	"seq":    makeSeq,
	"string": makeString,
	"uuid":   makeUUID,
	"var":    makeVar,
}

func functionNames() []string {
	names := make([]string, 0, len(functions))
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func makeVar(p *parser, head word, args []word) (evaluator, error) {
	if len(args) != 1 {
		return nil, p.bad(head, "var has one argument, the variable's name: {{var \"user name\"}}")
	}
	slot, ok := p.names.Slot(args[0].text)
	if !ok {
		return nil, p.bad(args[0], "no variable is named %q: %s", args[0].text, p.names.list())
	}
	return variable(slot), nil
}

// makeEnv takes a value from the environment, once: so that a secret is in no
// list of processes.
func makeEnv(p *parser, head word, args []word) (evaluator, error) {
	if len(args) != 1 {
		return nil, p.bad(head, "env has one argument, the name of an environment variable: {{env \"TOKEN\"}}")
	}
	text, ok := os.LookupEnv(args[0].text)
	switch {
	case !ok:
		return nil, p.bad(args[0], "the environment has no variable %s", args[0].text)
	case !utf8.ValidString(text):
		return nil, p.bad(args[0], "the environment's variable %s is no UTF-8", args[0].text)
	}
	return constant{String, text}, nil
}
