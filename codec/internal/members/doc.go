// Package members has what codecs that write members by name share: the plans
// of plain structs, which members of a message have been seen, and the names of
// a document's members.
package members
