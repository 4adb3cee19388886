package kv

import (
	"bytes"
	"iter"
	"slices"
	"sort"
)

// The tree that holds the items: a B+ tree that is never changed. Who stores or
// removes an item makes new nodes from the leaf to the root and shares all
// others with the tree before, so that a root is a view of the whole store for as
// long as somebody holds it: readers take the root of the moment, by one atomic
// load, and meet neither a lock nor a half-made change.
//
// A hash map with lock-free reads finds a key in a third to a seventh of the
// time, which is a microsecond less of all that a call takes. But it has no
// order and no view: a scan would need a second structure, and for a moment the
// two would disagree. docs/rfc/0020-kv.md has the figures.

// width is how many items a leaf holds at most, and how many children an inner
// node has. Less is more levels to go down, more is more to copy for a change.
const width = 32

// A node is a leaf with items, or an inner node with children; nil is the tree
// without items. No node but an only one is empty.
type node struct {
	items []*Item  // of a leaf, in the order of their keys
	kids  []*node  // of an inner node
	seps  []string // seps[i] is at most every key in kids[i+1], and greater than every key in kids[i]
}

// get returns the item of a key, or nil.
func (n *node) get(key []byte) *Item {
	if n == nil {
		return nil
	}
	for n.kids != nil {
		n = n.kids[n.kidOf(key)]
	}
	if i, found := n.itemAt(key); found {
		return n.items[i]
	}
	return nil
}

// kidOf returns the index of the child whose keys are around key.
func (n *node) kidOf(key []byte) int {
	return sort.Search(len(n.seps), func(i int) bool { return string(key) < n.seps[i] })
}

// itemAt returns where in a leaf the key is, or would be.
func (n *node) itemAt(key []byte) (int, bool) {
	return slices.BinarySearchFunc(n.items, key, func(it *Item, key []byte) int { return bytes.Compare(it.Key, key) })
}

// put returns the tree with the item in it, in place of the one with its key.
func (n *node) put(it *Item) *node {
	if n == nil {
		return &node{items: []*Item{it}}
	}
	left, right, sep := n.insert(it)
	if right == nil {
		return left
	}
	return &node{kids: []*node{left, right}, seps: []string{sep}}
}

// insert is put for a part of the tree. What has become too wide comes back as
// two halves and the key between them.
func (n *node) insert(it *Item) (left, right *node, sep string) {
	if n.kids == nil {
		i, found := n.itemAt(it.Key)
		if found {
			return &node{items: with(n.items, i, 1, it)}, nil, ""
		}
		return (&node{items: with(n.items, i, 0, it)}).split()
	}
	i := n.kidOf(it.Key)
	left, right, sep = n.kids[i].insert(it)
	if right == nil {
		return &node{kids: with(n.kids, i, 1, left), seps: n.seps}, nil, ""
	}
	return (&node{kids: with(n.kids, i, 1, left, right), seps: with(n.seps, i, 0, sep)}).split()
}

// split halves a node that is too wide. Each half has arrays of its own: one that
// was shared would keep the items of the other half, with their values, when they
// have long been replaced there.
func (n *node) split() (left, right *node, sep string) {
	switch {
	case len(n.items) > width:
		half := len(n.items) / 2
		// A string of its own: one that shared the item's memory would keep the
		// value, too, for as long as the tree is divided here.
		return &node{items: slices.Clone(n.items[:half])}, &node{items: slices.Clone(n.items[half:])}, string(n.items[half].Key)
	case len(n.kids) > width:
		half := len(n.kids) / 2
		return &node{kids: slices.Clone(n.kids[:half]), seps: slices.Clone(n.seps[:half-1])},
			&node{kids: slices.Clone(n.kids[half:]), seps: slices.Clone(n.seps[half:])}, n.seps[half-1]
	}
	return n, nil, ""
}

// remove returns the tree without the key, which is in it.
func (n *node) remove(key []byte) *node {
	n = n.without(key)
	for n != nil && len(n.kids) == 1 {
		n = n.kids[0]
	}
	return n
}

// without is remove for a part of the tree; nil is one with nothing left.
func (n *node) without(key []byte) *node {
	if n.kids == nil {
		i, _ := n.itemAt(key)
		if len(n.items) == 1 {
			return nil
		}
		return &node{items: with(n.items, i, 1)}
	}
	i := n.kidOf(key)
	kid := n.kids[i].without(key)
	if kid == nil {
		if len(n.kids) == 1 {
			return nil
		}
		// The separator goes that stood between the child and a neighbour.
		return &node{kids: with(n.kids, i, 1), seps: with(n.seps, max(i-1, 0), 1)}
	}
	// A child that has become small joins a neighbour if the two leave room, so
	// that what was large once is not a tree of nearly empty nodes later.
	for _, l := range [2]int{i - 1, i} {
		if l < 0 || l+1 >= len(n.kids) {
			continue
		}
		a, b := n.kids[l], n.kids[l+1]
		if l == i {
			a = kid
		} else {
			b = kid
		}
		if a.width()+b.width() <= width/2 {
			return &node{kids: with(n.kids, l, 2, join(a, b, n.seps[l])), seps: with(n.seps, l, 1)}
		}
	}
	return &node{kids: with(n.kids, i, 1, kid), seps: n.seps}
}

func (n *node) width() int { return len(n.items) + len(n.kids) }

// join makes one node of two neighbours of the same level.
func join(a, b *node, sep string) *node {
	if a.kids == nil {
		return &node{items: slices.Concat(a.items, b.items)}
	}
	return &node{kids: slices.Concat(a.kids, b.kids), seps: slices.Concat(a.seps, []string{sep}, b.seps)}
}

// with returns a copy of s in which n elements from i on are replaced.
func with[T any](s []T, i, n int, by ...T) []T {
	c := make([]T, 0, len(s)-n+len(by))
	c = append(c, s[:i]...)
	c = append(c, by...)
	return append(c, s[i+n:]...)
}

// from yields the items whose keys are not less than key, in order.
func (n *node) from(key []byte) iter.Seq[*Item] {
	return func(yield func(*Item) bool) { n.ascend(key, yield) }
}

func (n *node) ascend(key []byte, yield func(*Item) bool) bool {
	if n == nil {
		return true
	}
	if n.kids == nil {
		i, _ := n.itemAt(key)
		for _, it := range n.items[i:] {
			if !yield(it) {
				return false
			}
		}
		return true
	}
	for _, kid := range n.kids[n.kidOf(key):] {
		if !kid.ascend(key, yield) {
			return false
		}
	}
	return true
}
