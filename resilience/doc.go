// Package resilience makes calls again that may be made again, and no others,
// the same on every wire.
//
// A [Guard] is two client interceptors. It retries with exponential back-off,
// jitter and a budget, sends hedges, opens a circuit breaker, and keeps a margin
// of a caller's deadline. It is made from a [Policy], once for each connection:
//
//	guard, err := resilience.New(resilience.Policy{Methods: reg})
//	conn, err := wire.Dial(target,
//		wire.WithUnaryInterceptor(guard.Unary), wire.WithStreamInterceptor(guard.Stream))
//
// A call that may have run ([everywire.MayHaveRun]) is made again only if its
// method says that it may run twice ([everywire.IdempotencyOf]). A call that has
// not run is made again whatever it does. What may be tried follows gRPC's
// retry design, gRFC A6: its codes, its throttling, its pushback, its metadata.
// docs/spec/resilience.md has the rules and the defaults.
package resilience
