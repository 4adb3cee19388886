// Package form has what a method declares by everywire.WithJSONRPC, checked: its
// short name, how its params map to its request, and whether its result is one
// field's bare value. The JSON-RPC wire and the JSON-RPC maps of the
// MessagePack-RPC wire share it; what is done with the bytes is theirs.
package form
