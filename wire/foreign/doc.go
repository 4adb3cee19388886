// Package foreign is tests only: clients and servers that others wrote, in the
// versions that docs/INTEROP.md lists and unchanged, against the wires of this
// module.
//
// The peers from npm are in testdata/node, with their exact versions:
//
//	npm ci --prefix wire/foreign/testdata/node
//
// Beside them the tests need Node and Neovim. A test whose peer is not
// installed is skipped, and fails if CI is set.
package foreign
