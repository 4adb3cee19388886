package data

import "strings"

// Quote writes a template's text as a string in a JSON template: what is constant
// is escaped, placeholders stay as they are.
func Quote(text string) string {
	out := []byte{'"'}
	for text != "" {
		open := strings.Index(text, "{{")
		if open < 0 {
			open = len(text)
		}
		out = appendEscaped(out, []byte(text[:open]))
		end := placeholderEnd(text, open)
		out = append(out, text[open:end]...)
		text = text[end:]
	}
	return string(append(out, '"'))
}

// placeholderEnd is where the placeholder at text[open:] ends, the text's end if it
// does not.
func placeholderEnd(text string, open int) int {
	quoted := false
	for i := open; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], "}}"):
			return i + 2
		}
	}
	return len(text)
}
