package rest

import (
	"strings"
	"testing"

	"github.com/everywire/everywire"
)

func TestLocation(t *testing.T) {
	for _, c := range []struct {
		pattern, reply, want string // or a part of the error, after !
	}{
		{"/items/{key}", `{"key":"a/b","size":1}`, "/items/a%2Fb"},
		{"/items/{size}/{key}", `{"key":"a","size":-1}`, "/items/-1/a"},
		{"/items/{key=x/*}:done", `{"key":"x/y"}`, "/items/x/y:done"},
		{"/subs/{sub.name}", `{"sub":{"name":"n \"q\""}}`, "/subs/n%20%22q%22"},
		{"/pages/{page_size}", `{}`, "/pages/0"},
		{"/items/{key}", `{"key":""}`, "!field key is empty"},
		{"/subs/{sub.name}", `{}`, "!field sub.name is empty"},
		{"/items/{key=x/*}", `{"key":"y"}`, "!not of the form x/*"},
	} {
		e := endpointOf(t, everywire.Route{Verb: "POST", Pattern: "/items", Body: "*", Created: c.pattern})
		got, err := e.created.of([]byte(c.reply))
		if part, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s of %s: %q, %v; want an error with %s", c.pattern, c.reply, got, err, part)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s of %s: %q, %v; want %q", c.pattern, c.reply, got, err, c.want)
		}
	}
}
