// Package browser is for tests that look at pages as a browser shows them.
package browser

import (
	"context"
	"fmt"
	"html"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/everywire/everywire/internal/needs"
)

// frame shows a page in a frame of a given width, as a browser window of that
// width would.
const frame = `<iframe style="border:0;height:4000px;width:%dpx" srcdoc="%s"></iframe>`

// measure writes down what sticks out of the frames.
const measure = `<script>
onload = () => {
  const lines = [];
  for (const f of document.querySelectorAll("iframe")) {
    const doc = f.contentDocument, w = f.clientWidth, out = [];
    if (doc.documentElement.scrollWidth > w) out.push("the page is " + doc.documentElement.scrollWidth + " px wide");
    for (const e of doc.body.querySelectorAll("*")) {
      const r = e.getBoundingClientRect();
      if (r.width > 0 && r.height > 0 && (r.right > w + 1 || r.left < -1))
        out.push(e.tagName + " " + e.textContent.replace(/\s+/g, " ").slice(0, 40) + " from " + r.left + " to " + r.right);
    }
    lines.push("FRAME " + w + " px, " + doc.body.querySelectorAll("svg").length + " charts [[" + out.join("; ") + "]]");
  }
  const p = document.createElement("p");
  p.textContent = "SCHEME " + (matchMedia("(prefers-color-scheme: dark)").matches ? "dark " : "light ") + lines.join(" ");
  document.body.append(p);
};
</script>`

var (
	scheme = regexp.MustCompile(`SCHEME (\w+) `)
	result = regexp.MustCompile(`FRAME (\d+) px, (\d+) charts \[\[(.*?)\]\]`)
)

// Fits fails the test if anything of a page sticks out of windows of 1280 and of
// 400 pixels, in light or in dark, or if a page has no charts. Pages have names.
// Where Chromium is missing the test is skipped, but not in CI.
func Fits(t *testing.T, pages map[string]string) {
	t.Helper()
	chromium := find(t)
	names := slices.Sorted(maps.Keys(pages))
	widths := []int{1280, 400}
	doc := []byte(`<!DOCTYPE html><meta charset="utf-8"><body>`)
	for _, name := range names {
		for _, w := range widths {
			doc = fmt.Appendf(doc, frame, w, html.EscapeString(pages[name]))
		}
	}
	file := filepath.Join(t.TempDir(), "frames.html")
	if err := os.WriteFile(file, append(doc, measure...), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, setting := range map[string]string{"light": "1", "dark": "0"} {
		dom := load(t, chromium, file, "--blink-settings=preferredColorScheme="+setting)
		if m := scheme.FindSubmatch(dom); m == nil || string(m[1]) != want {
			t.Fatalf("asked for %s, got %q", want, m)
		}
		found := result.FindAllSubmatch(dom, -1)
		if len(found) != len(names)*len(widths) {
			t.Fatalf("%s: %d frames, want %d", want, len(found), len(names)*len(widths))
		}
		for i, m := range found {
			if string(m[1]) != strconv.Itoa(widths[i%len(widths)]) || string(m[2]) == "0" || len(m[3]) > 0 {
				t.Errorf("%s, %s: %s", names[i/len(widths)], want, m[0])
			}
		}
	}
}

// load returns a page's elements after its scripts have run.
func load(t *testing.T, chromium, file string, flags ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(), "--window-size=1400,4200", "--dump-dom",
	}, flags...)
	dom, err := exec.CommandContext(ctx, chromium, append(args, "file://"+file)...).Output()
	if err != nil {
		t.Fatalf("%s: %v", chromium, err)
	}
	return dom
}

func find(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	needs.Missing(t, "chromium is not installed")
	return ""
}
