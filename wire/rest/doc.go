// Package rest is the wire "rest": unary calls as JSON over HTTP/1.1.
//
// Every method answers at POST /SERVICE/METHOD with its request as the JSON
// body, and at the routes that it declares, by google.api.http or
// everywire.WithRoute. The rules, normative, are in docs/spec/rest.md. They
// build on RFC 9110 and RFC 9112 (HTTP/1.1, by net/http), RFC 9457 (problem
// documents for errors) and the path templates of google.api.http, of which
// this package takes literals, {field} and {field=*}.
//
// A server compiles all routes once into a tree of path segments (router.go)
// and the way each field is filled (route.go, field.go). A call's request is
// put together as JSON text from path, query and body (request.go) and decoded
// once, so that every mistake gets the codec's error, which names the field.
// The client does the reverse (clientroute.go).
package rest
