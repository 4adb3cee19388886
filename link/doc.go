// Package link emulates a network between two ends, in user space and without
// privileges: round-trip time, rate, loss and jitter, and on it a real TCP
// (gVisor's netstack) with its handshake, slow start and recovery from loss.
// docs/spec/link.md says exactly what the network does.
//
// In one process:
//
//	spec, err := link.Parse("rtt=4.364ms,rate=1gbit,loss=0.1%")
//	l, err := link.New(spec)
//	defer l.Close()
//	lis, err := l.B.Listen(ctx, "tcp", ":7070")
//	conn, err := l.A.DialContext(ctx, "tcp", lis.Addr().String())
//
// Listen and DialContext have the form that wire.WithListener and
// wire.WithDialer take. Between two processes, [Host] makes one end and [Join]
// the other.
//
// A link measures what it does: [End.Ping] gives the round-trip time that was
// achieved, [End.Stats] how late packets were, how many were dropped, and what
// crossed the link.
package link
