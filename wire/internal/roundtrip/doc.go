// Package roundtrip is a client's side of HTTP/1.1 (RFC 9110, RFC 9112) as an
// http.RoundTripper: a pool of connections, one call at a time on each.
//
// The goroutine that calls writes the request and reads the response by itself,
// where net/http hands both to goroutines of the connection and back: two
// changes of goroutine in each direction cost more than the rest of a call.
// That is why there is one such package.
//
// A [Transport] sends requests whose length is known, without expectations and
// upgrades; it does not follow redirects, decompress, or look for proxies. It
// takes responses of any framing. Of what RFC 9112 leaves to a recipient: a bare
// LF ends a line (section 2.2), folded header lines become one (section 5.2),
// and a response with both a length and chunks is read as chunks and its
// connection not used again (section 6.3).
package roundtrip
