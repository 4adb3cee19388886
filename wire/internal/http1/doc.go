// Package http1 is a server of HTTP/1.1 (RFC 9112, with the semantics of RFC
// 9110) that runs an http.Handler on connections that it is given. HTTP/1.0 is
// answered too. docs/rfc/0006-http1.md says why it is not that of net/http.
//
// # One goroutine a connection
//
// HTTP/1.1 is serial: a connection has one request at a time. One goroutine
// reads a request's head, runs the handler, writes the response and reads on.
// Usually the head and the body come with one read, and the head and the body of
// the response go out with one write. What a request needs (http.Request, URL,
// context, ResponseWriter, body, header values) is one block of memory, made
// anew for each, since a handler may keep any of it. The texts in it are slices
// of one string, the head.
//
// # What is rare is found late
//
// A handler must learn that its client has gone (its context ends), but nobody
// reads while it runs. A goroutine that reads beside each handler, as in
// net/http, costs more than the rest of this package. Here one timer for a
// server, the watch, looks at the connections that are at work every few
// milliseconds, and starts such a goroutine, the standby, only beside a handler
// that has been running since the last look. It sleeps when nothing runs. What
// the standby reads is the beginning of the next request, and is kept.
//
// Deadlines of sockets are not set for every request either: that of an idle
// connection and that of writes are moved on when an eighth of them has passed.
//
// # Strict
//
// A request that two readers could take for different ones, or that could be
// taken for two, is refused and the connection closed: see head.go, framing.go
// and chunk.go for what that is. All that is accepted means the same to
// net/http, which a fuzz test checks.
package http1
