package foreign

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/everywire/everywire/internal/needs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// npmVersions are the packages that the scripts are written for.
func npmVersions(t *testing.T) map[string]string {
	t.Helper()
	var pkg struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	readJSON(t, filepath.Join("testdata", "node", "package.json"), &pkg)
	return pkg.Dependencies
}

// needNode returns the path of Node and checks that its packages are there, in
// the right versions.
func needNode(t *testing.T) string {
	t.Helper()
	node := needs.Program(t, "node", "on Debian, apt-get install nodejs npm")
	for name, want := range npmVersions(t) {
		var pkg struct {
			Version string `json:"version"`
		}
		file := filepath.Join("testdata", "node", "node_modules", name, "package.json")
		if _, err := os.Stat(file); err != nil {
			needs.Missing(t, "the npm package "+name+" is not installed: npm ci --prefix wire/foreign/testdata/node")
		}
		if readJSON(t, file, &pkg); pkg.Version != want {
			needs.Missing(t, "the npm package "+name+" is "+pkg.Version+", not "+want+": npm ci --prefix wire/foreign/testdata/node")
		}
	}
	return node
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// TestInterop: the page names every package in the version that is tried here.
func TestInterop(t *testing.T) {
	versions := npmVersions(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && strings.HasSuffix(f[0], "/jsonrpc2") || len(f) == 2 && strings.HasSuffix(f[0], "/jrpc2") {
			versions[f[0]] = f[1]
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "INTEROP.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range versions {
		if !strings.Contains(string(page), name+" "+version) {
			t.Errorf("docs/INTEROP.md does not say %q", name+" "+version)
		}
	}
}
