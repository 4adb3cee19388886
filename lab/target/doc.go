// Package target makes a load.Workload of whatever is called: a URL of any HTTP
// server, or methods of a service on any wire, whose types are known, or come from a
// server's reflection or from files, or are documents of any shape. What counts as a
// right reply, how HTTP is spoken and how operations follow each other is
// docs/spec/load.md; the package obeys all of it.
//
// It knows no wire: the connections of wires are dialled by who knows them, and are
// wrapped by [Wrap]. Connections to HTTP servers are its own, [HTTP1] and [HTTP2]:
// both are a grpc.ClientConnInterface, so that the engine, and all that is made of
// what it counts, is the same for every target.
package target
