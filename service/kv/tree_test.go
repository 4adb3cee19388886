package kv

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"weak"

	"pgregory.net/rapid"
)

// wellFormed checks what the tree's functions rely on, and returns how deep it is.
func (n *node) wellFormed(t interface{ Fatalf(string, ...any) }, low, high string, root bool) int {
	if n == nil {
		return 0
	}
	if n.width() > width || n.width() == 0 || root && len(n.kids) == 1 {
		t.Fatalf("a node has %d items and %d children", len(n.items), len(n.kids))
	}
	inside := func(key string) bool { return key >= low && (high == "" || key < high) }
	if n.kids == nil {
		for i, it := range n.items {
			if !inside(string(it.Key)) || i > 0 && bytes.Compare(n.items[i-1].Key, it.Key) >= 0 {
				t.Fatalf("the key %q is out of order in a leaf of [%q, %q)", it.Key, low, high)
			}
		}
		return 1
	}
	if len(n.seps) != len(n.kids)-1 {
		t.Fatalf("%d separators for %d children", len(n.seps), len(n.kids))
	}
	depth := 0
	for i, kid := range n.kids {
		l, h := low, high
		if i > 0 {
			l = n.seps[i-1]
		}
		if i < len(n.seps) {
			h = n.seps[i]
		}
		d := kid.wellFormed(t, l, h, false)
		if i > 0 && d != depth {
			t.Fatalf("leaves at levels %d and %d", d, depth)
		}
		depth = d
	}
	return depth + 1
}

// Random changes against a map. A tree that was taken before does not change.
func TestTreeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var root *node
		model := map[string]int64{}
		key := rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 3000).Draw(t, "key")) })
		type view struct {
			root  *node
			model map[string]int64
		}
		var views []view
		check := func(v view) {
			v.root.wellFormed(t, "", "", true)
			keys := slices.Sorted(maps.Keys(v.model))
			from := key.Draw(t, "from")
			at, _ := slices.BinarySearch(keys, from)
			for it := range v.root.from([]byte(from)) {
				if at == len(keys) || string(it.Key) != keys[at] || it.Version != v.model[keys[at]] {
					t.Fatalf("from %q there is %q of version %d", from, it.Key, it.Version)
				}
				at++
			}
			if at != len(keys) {
				t.Fatalf("from %q there are %d items too few", from, len(keys)-at)
			}
		}
		version := int64(0)
		put := func(k string) {
			version++
			model[k] = version
			root = root.put(&Item{Key: []byte(k), Version: version})
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			first, n := rapid.IntRange(0, 3000).Draw(t, "first"), rapid.IntRange(0, 400).Draw(t, "n")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0: // a run of keys
				for i := range n {
					put(strconv.Itoa(first + i))
				}
			case 1:
				put(key.Draw(t, "put"))
			case 2: // most of a range goes
				for i := range n * 4 {
					if k := strconv.Itoa(first + i); model[k] != 0 && i%7 != 0 {
						delete(model, k)
						root = root.remove([]byte(k))
					}
				}
			case 3:
				views = append(views, view{root, maps.Clone(model)})
			}
			if k := key.Draw(t, "get"); root.get([]byte(k)) == nil != (model[k] == 0) {
				t.Fatalf("the key %q is there or not, the model knows better", k)
			}
		}
		for _, v := range append(views, view{root, model}) {
			check(v)
		}
		for k := range model {
			root = root.remove([]byte(k))
		}
		if root != nil {
			t.Fatalf("all keys are removed, and %d items are left", len(root.items))
		}
	})
}

// What has been replaced is not kept by a part of the tree that has not changed
// since: a value may have megabytes.
func TestTreeLetsGo(t *testing.T) {
	const n = 2000 // leaves and inner nodes are split
	put := func(root *node, i int) (*node, weak.Pointer[Item]) {
		it := NewItem([]byte{byte(i >> 8), byte(i)}, nil, 1, 0)
		return root.put(it), weak.Make(it)
	}
	var root *node
	old := make([]weak.Pointer[Item], n)
	for i := range n {
		root, old[i] = put(root, i)
	}
	// Every second leaf is as it was made, beside one that is not.
	replaced := func(i int) bool { return i/(width/2)%2 == 1 }
	for i := range n {
		if replaced(i) {
			root, _ = put(root, i)
		}
	}
	runtime.GC()
	kept := 0
	for i, w := range old {
		if replaced(i) && w.Value() != nil {
			kept++
		}
	}
	if kept > 0 {
		t.Errorf("%d items that were replaced are still kept", kept)
	}
	runtime.KeepAlive(root)
}
