package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What is there is what would be made now.
func TestUpToDate(t *testing.T) {
	there, err := filepath.Glob("../../cbor/table_*.go")
	if err != nil || len(there) != len(tableFiles) {
		t.Errorf("package cbor has %d files of the table, not %d (%v)", len(there), len(tableFiles), err)
	}
	for _, name := range tableFiles {
		want, err := tableFile("../../msgpack", name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../../cbor", target(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date (%v): run go generate ./codec/cbor", target(name), err)
		}
	}
}
