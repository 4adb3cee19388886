package loadreport

import (
	"testing"

	"github.com/everywire/everywire/internal/browser"
)

func TestPageInBrowser(t *testing.T) {
	pages := map[string]string{}
	for _, name := range []string{"mix", "closed", "worst"} {
		r, _ := made(t, name)
		pages[name] = page(t, r)
	}
	browser.Fits(t, pages)
}
