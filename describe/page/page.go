// Package page is a documentation page for people: it shows an OpenAPI document
// of package describe in a browser, and tries calls.
//
// All that the page needs is in this package; nothing is fetched from elsewhere.
// It has no inline script and no inline style, so a server can send it with the
// strict Content-Security-Policy of [Policy]. The scripts make every element
// themselves and put names and descriptions into them as text only.
package page

import (
	"embed"
	"fmt"
	"html"
	"path"
	"strings"
)

// Policy is the Content-Security-Policy that the page lives with: its own files,
// and calls to its own server.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed index.html style.css *.js
var files embed.FS

// A File is something that the page loads.
type File struct {
	Name, ContentType string
	Content           []byte
}

// Index returns the page itself. Both references are relative to it or to the
// server's root: openapi leads to the document, and the names of [Files] are
// appended to assets.
func Index(openapi, assets string) File {
	text := read("index.html")
	filled := strings.NewReplacer("{{openapi}}", html.EscapeString(openapi), "{{assets}}", html.EscapeString(assets)).Replace(string(text))
	return File{"index.html", "text/html; charset=utf-8", []byte(filled)}
}

// Files returns the scripts and the style, sorted by name.
func Files() []File {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("page: %v", err)) // it is part of the program
	}
	var all []File
	for _, e := range entries {
		contentType := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[path.Ext(e.Name())]
		if contentType != "" {
			all = append(all, File{e.Name(), contentType, read(e.Name())})
		}
	}
	return all
}

func read(name string) []byte {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("page: %v", err)) // it is part of the program
	}
	return text
}
