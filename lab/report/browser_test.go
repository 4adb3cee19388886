package report

import (
	"bytes"
	"testing"

	"github.com/everywire/everywire/internal/browser"
)

// The page fits windows, in light and in dark: nothing sticks out.
func TestPageInBrowser(t *testing.T) {
	pages := map[string]string{}
	for _, name := range []string{"classic", "errors"} {
		var page bytes.Buffer
		if err := HTML(&page, cases()[name].run()); err != nil {
			t.Fatal(err)
		}
		pages[name] = page.String()
	}
	browser.Fits(t, pages)
}
