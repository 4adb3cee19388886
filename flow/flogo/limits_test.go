package flogo_test

import (
	"fmt"
	"strings"
	"testing"
)

// A small app that would become a large one is refused, and soon.
func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 4000)
	server := string(app(t, "hello-server-rest"))
	// Each handler answers in another way, and so has a flow of its own.
	const handler = `{
          "settings": {"method": "GET", "path": "/hello/:name"},`
	if !strings.Contains(server, handler) {
		t.Fatal("the app has no such handler")
	}
	var others strings.Builder
	for i := range 100 {
		fmt.Fprintf(&others, `{"settings": {"method": "GET", "path": "/%d"}, "action": {"ref": "#flow", "settings": {"flowURI": "res://flow:greet"}, "output": {"data": %d}}},`, i, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"flows": {
			strings.NewReplacer(handler, others.String()+handler, "asked by ", long).Replace(server),
			`the flows become more than the 262144 bytes that a flow file may have`,
		},
		"a property": {strings.Replace(string(app(t, "hello-client-rest")), `"World"`, `"`+long+long+long+`"`, 1), "the value of the property has 12000 bytes: the limit is 8192"},
		"texts":      {strings.Replace(string(app(t, "hello-client-rest")), `=$activity[ask].data.text`, `=''`+strings.Repeat(`+''`, 300), 1), "this joins more than 256 texts"},
		"an expression": {
			strings.Replace(string(app(t, "hello-client-rest")), `=$activity[ask].data.text`, `=$activity[ask].data.`+long+long+long, 1),
			"the expression has 12020 bytes: the limit is 8192",
		},
		"nesting": {
			strings.Replace(string(app(t, "hello-client-rest")), `=$activity[ask].data.text`, `=`+strings.Repeat("(", 60), 1),
			"the expression nests more than 48 deep",
		},
	} {
		t.Run(name, func(t *testing.T) {
			errs := errorsOf(t, c.text)
			if len(errs) != 1 || !strings.Contains(errs[0].Text, c.want) {
				t.Errorf("got %.2000s\nwant %s", errs, c.want)
			}
		})
	}
}
