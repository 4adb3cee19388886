// Package data makes the texts that a load sends: templates, and the tables of
// values that they take from. Its grammar is docs/spec/load.md, "Templates" and
// "Data"; it obeys all of it.
//
// A [Template] is compiled once, for the [Place] that its text goes to, and then
// only appends: nothing is parsed again for a call. What it inserts cannot leave its
// place: in JSON it stays one value or a part of one string, in a URL a part of
// one segment or one value of the query, in a header one line.
//
// Names stand for values in a [Scope], which is made before templates are compiled,
// so that a name which nobody declares is an error before the load, not in it.
// The values are in a [State], of which each caller has one.
package data
