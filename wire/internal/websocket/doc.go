// Package websocket is the WebSocket protocol, RFC 6455, without an extension:
// frames, the handshake at both ends, and connections whose messages are read
// and written one after the other.
//
// A wire that multiplexes takes the parts, [Framer] and [Wrap], and reads and
// writes the connection itself; one whose stream has a connection of its own
// takes a [Conn].
package websocket
