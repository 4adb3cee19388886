// Package sniff lets every wire share one port. A [Server] accepts connections,
// looks at what each begins with, does TLS where that comes first, and hands the
// connection to whoever speaks its protocol, with all that was read still to be
// read. docs/spec/any.md has the table of first bytes.
//
// The bytes of HTTP/2 do not say whether a connection is gRPC's. So its first
// request is looked at (RFC 9113, sections 3.4 and 6), and the server's end of
// the connection is played until that has come: some clients send no request
// before they have seen the server's SETTINGS.
//
// The package knows what protocols begin with, and nothing of what comes then.
package sniff
