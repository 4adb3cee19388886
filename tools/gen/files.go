package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// find lists the .proto files under root and the generated files that exist,
// by their slash-separated paths from root.
func find(root string) (protos, generated []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch rel = filepath.ToSlash(rel); {
		case strings.HasSuffix(rel, ".proto"):
			protos = append(protos, rel)
		case strings.HasSuffix(rel, ".pb.go"):
			generated = append(generated, rel)
		}
		return nil
	})
	if err == nil && len(protos) == 0 {
		err = fmt.Errorf("no .proto files under %s", root)
	}
	return protos, generated, err
}

// reconcile makes the generated files be what is wanted, or only compares if
// check is set. It returns those that differed, sorted: missing, changed, and
// left over from a .proto file that is gone.
func reconcile(root string, want map[string]string, have []string, check bool) (stale []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		path := filepath.Join(root, filepath.FromSlash(name))
		old, err := os.ReadFile(path)
		if err == nil && string(old) == want[name] {
			continue
		}
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		stale = append(stale, name)
		if check {
			continue
		}
		if err := os.WriteFile(path, []byte(want[name]), 0o644); err != nil {
			return nil, err
		}
	}
	for _, name := range have {
		if _, ok := want[name]; ok {
			continue
		}
		stale = append(stale, name)
		if check {
			continue
		}
		if err := os.Remove(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	slices.Sort(stale)
	return stale, nil
}
