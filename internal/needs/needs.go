// Package needs is for tests that need what a machine may lack: a compiler, a
// browser, a second core. Such a test is skipped, and says what is missing; in CI,
// where the variable CI is set, it fails, so that nothing goes untested in silence.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Program returns the path of a program. install says how it is come by.
func Program(t testing.TB, name, install string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, name+" is not installed: "+install)
	}
	return path
}

// Missing ends a test that lacks something.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what + ", and CI must have it")
	}
	t.Skip("SKIPPED: " + what)
}
