package sniff

import "strings"

// A Kind is what a connection begins with.
type Kind uint8

// The kinds. More says that the bytes may be the beginning of several, and
// Unknown that they are that of none.
const (
	More Kind = iota
	Unknown
	TLS         // a record of the handshake (RFC 8446, section 5.1)
	MessagePack // a message of MessagePack-RPC, or of JSON-RPC in MessagePack
	JSON        // JSON-RPC on a stream, in any framing
	HTTP1       // a request line of HTTP/1 (RFC 9112, section 3)
	HTTP2       // the client's preface (RFC 9113, section 3.4)
	GRPC        // HTTP/2 with a call of gRPC as its first request: [Of] does not know it
)

var kindNames = [...]string{"more", "unknown", "TLS", "MessagePack-RPC", "JSON-RPC", "HTTP/1.1", "HTTP/2", "gRPC"}

func (k Kind) String() string { return kindNames[k] }

// maxMethod is the longest method of HTTP in bytes that is waited for. The longest
// that is registered has 17.
const maxMethod = 32

// headerField begins the header block before a message of JSON-RPC: it is
// Content-Length or Content-Type, in any letter case. As a method of HTTP it would be a
// legal token; nobody has one of that name.
const headerField = "content-"

// Of tells what a connection begins with. More bytes never change an answer
// other than More.
func Of(prefix []byte) Kind {
	if len(prefix) == 0 {
		return More
	}
	switch c := prefix[0]; {
	case c == 0x16:
		return TLS
	case c >= 0x80 && c <= 0x9f, c >= 0xdc && c <= 0xdf: // maps and arrays of every length
		return MessagePack
	case c == '{', c == '[', c == ' ', c == '\t', c == '\r', c == '\n', c >= '0' && c <= '9':
		return JSON
	case !isLetter(c):
		return Unknown
	}
	n := 1
	for n < len(prefix) && n <= maxMethod && isToken(prefix[n]) {
		n++
	}
	word := prefix[:n]
	switch {
	case n >= len(headerField) && strings.EqualFold(string(word[:len(headerField)]), headerField):
		return JSON
	case n > maxMethod:
		return Unknown
	case n == len(prefix):
		return More
	case prefix[n] != ' ':
		return Unknown
	case string(word) == "PRI": // reserved for HTTP/2 (RFC 9113, section 11.4)
		return HTTP2
	}
	return HTTP1
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isToken reports whether a token of HTTP may have the character (RFC 9110,
// section 5.6.2).
func isToken(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
