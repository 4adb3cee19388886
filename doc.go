// Package everywire lets one Go service be served and called on every wire:
// REST, JSON-RPC, MessagePack-RPC, gRPC and Connect.
//
// The programming model is gRPC's own. A [Registry] is a
// [google.golang.org/grpc.ServiceRegistrar], so generated services plug in as
// they are; [Handle] registers a plain function on plain structs, and
// [HandleServerStream], [HandleClientStream] and [HandleBidi] register streams. A connection
// made by wire.Dial is a [google.golang.org/grpc.ClientConnInterface], so
// generated clients work on any wire; [Call], [CallServerStream],
// [CallClientStream] and [CallBidi] call without generated code.
// Errors are status.Status, metadata is metadata.MD, middleware is gRPC's
// interceptors.
//
//	reg := everywire.NewRegistry()
//	everywire.Handle(reg, "arith.Arith/Sum", sum)
//	srv, err := wire.Serve(ctx, reg, []string{"rest://:8080", "grpc://:9090"})
//
//	conn, err := wire.Dial("grpc://localhost:9090")
//	out, err := everywire.Call[SumReply](ctx, conn, "arith.Arith/Sum", &SumRequest{Numbers: []int64{20, 21}})
//
// This package knows no wire and no codec. It imports gRPC's types and the
// message descriptions of package schema, nothing else.
package everywire
