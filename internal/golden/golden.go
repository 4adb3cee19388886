// Package golden is for tests that compare what is made with a file that was made
// before.
package golden

import (
	"bytes"
	"os"
	"testing"
)

// Check compares a generated file with the text that it should have; with update it
// writes it first. What is generated from the file in turn is `make generate`'s.
func Check(t testing.TB, file string, text []byte, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a file of the repository
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file) //nolint:gosec // the test names it
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, text) {
		t.Errorf("%s is not current: run make generate. It should be\n%s", file, text)
	}
}
