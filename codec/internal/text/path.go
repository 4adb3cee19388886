package text

import (
	"strconv"
	"strings"
)

// maxPath bounds a path in bytes, but for its first step. Of deep nesting the
// ends are enough, and errors travel in headers.
const maxPath = 160

// maxKey bounds a map key in a path, in bytes.
const maxKey = 40

// Path puts a step, such as "name" or "[2]", before the path of what is in it.
// Errors are put together from the inside out, on the way up.
func Path(step, path string) string {
	if path != "" && path[0] != '[' {
		step += "."
	}
	if n := len(path); n > maxPath {
		path = "…" + strings.ToValidUTF8(path[n-maxPath/2:], "")
	}
	return step + path
}

// Index is the step into a list.
func Index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// Key is the step into a map.
func Key(key string) string { return "[" + strconv.Quote(Short(key)) + "]" }

// Short cuts text that comes from the input to a length fit for a message.
func Short(s string) string {
	if len(s) <= maxKey {
		return s
	}
	return strings.ToValidUTF8(s[:maxKey], "") + "…"
}
