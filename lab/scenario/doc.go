// Package scenario is what a load does, as a user writes it: the operations of a mix
// file (YAML) and the rates of --rate. The grammar of both is docs/spec/load.md, "Mix
// files" and "Rates"; it obeys all of it. Errors give file, line and column, and what
// may stand there.
//
// Texts that are templates stay texts here, with where they are from: package
// lab/target compiles them, since it knows what each of them goes to.
package scenario
