package page

import (
	"regexp"
	"strings"
	"testing"
)

// TestPolicyHolds: nothing of the page needs what its Content-Security-Policy
// forbids, and nothing is loaded from elsewhere.
func TestPolicyHolds(t *testing.T) {
	all := append(Files(), Index("openapi.json", "docs/"))
	if len(all) < 4 {
		t.Fatalf("only %d files", len(all))
	}
	forbidden := regexp.MustCompile(`(?i:innerHTML|outerHTML =|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://|<style|\bstyle=|<script>|\son\w+="|javascript:|@import)|\burl\(`)
	for _, f := range all {
		if found := forbidden.FindString(string(f.Content)); found != "" {
			t.Errorf("%s has %q", f.Name, found)
		}
		if f.ContentType == "" || len(f.Content) == 0 {
			t.Errorf("%s: type %q, %d bytes", f.Name, f.ContentType, len(f.Content))
		}
	}
}

// TestIndexEscapes what it is given.
func TestIndexEscapes(t *testing.T) {
	text := string(Index(`a"><script>x`, `b"c/`).Content)
	if strings.Contains(text, "<script>x") || strings.Contains(text, `b"c/`) || strings.Contains(text, "{{") {
		t.Error(text)
	}
	if !strings.Contains(text, `src="b&#34;c/main.js"`) {
		t.Error("the assets are not found")
	}
}
