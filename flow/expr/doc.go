// Package expr is the small language of expressions in flow files: paths into
// values, operators, and a few functions. An expression is read and checked once,
// against the names and types that it may use, and then computed any number of
// times, without reflection.
//
// The grammar, the types and the functions are in docs/spec/flow.md.
package expr
