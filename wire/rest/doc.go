// Package rest is the wire "rest": calls as JSON, MessagePack or CBOR over HTTP.
//
// Every method answers at POST /SERVICE/METHOD with its request as the JSON
// body, and at the routes that it declares, by google.api.http or
// everywire.WithRoute. The rules, normative, are in docs/spec/rest.md. They
// build on RFC 9110 and RFC 9112 (HTTP/1.1, by net/http), RFC 9457 (problem
// documents for errors), RFC 6265 (cookies) and google/api/http.proto, the
// mapping of routes, all of it.
//
// A server compiles all routes once into a tree of path segments (router.go)
// and the way each field is filled (route.go, field.go). A call's request is
// put together as JSON text from path, query, headers, cookies and body
// (request.go, query.go) and decoded once, so that every mistake gets the codec's
// error, which names the field; where that is not enough, violation.go asks for
// each field apart. The client does the reverse (clientroute.go, split.go).
//
// What HTTP has around a call is in content.go (formats and codings),
// precondition.go (entity tags, RFC 9110, section 13), idempotency.go and
// ledger.go (draft-ietf-httpapi-idempotency-key-header-07). problem.go writes
// errors, and probe.go finds all faults of a body.
//
// Streams are in docs/spec/rest-streams.md: as the body of one response (stream.go),
// in lines of JSON (ndjson.go) or server-sent events (sse.go, by the HTML standard,
// section 9.2), and on WebSockets (websocket.go and the files beside it, by RFC
// 6455). What waits at either end is in an outbox and an inbox, both bounded.
package rest
