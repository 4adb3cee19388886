// Package peer holds everywire and the Go libraries that it is measured
// beside, all behind one interface: serve an echo, dial it, call it.
//
// Each is set up as its own documentation shows, with its limits on, and sends
// the message that is natural for it (a plain struct, or a generated protobuf
// message) with the same two fields: a number and a text. A new peer is one
// file with a [Peer] and a line in [All].
package peer

import (
	"context"
	_ "embed" // for PushEvent
	"io"
	"net"
	"runtime/debug"
	"slices"
)

// A Kind says what a peer is compared as.
type Kind string

const (
	// Limit is no peer: a bare socket that carries the same bytes.
	Limit Kind = "limit"
	// Ours is a wire of everywire.
	Ours Kind = "ours"
	// Framework is an RPC framework: one names a method and passes a value.
	Framework Kind = "framework"
	// API is a framework for HTTP APIs: one declares methods and passes values,
	// which travel as JSON over HTTP/1.1.
	API Kind = "api"
	// HTTP is an HTTP library, with which one writes RPC by hand.
	HTTP Kind = "http"
)

// MaxMessage is the limit on a message for peers that have one to set.
const MaxMessage = 4 << 20

// A Peer is one implementation of the echo.
type Peer struct {
	Name string
	Kind Kind
	// Form is what travels, in a few words.
	Form string
	// Module is where the implementation comes from; "" for Go's own library.
	Module string
	// Shared says that calls of several callers are under way on one connection
	// at the same time. Where it is not set, each caller has a connection of its
	// own even if one for all was asked for.
	Shared bool
	// Documents says that its connections are [Documenter]s.
	Documents bool
	// Serve serves the echo until the listener is closed or the process ends.
	Serve func(net.Listener) error
	// Dial makes one connection to what Serve serves on addr.
	Dial func(ctx context.Context, addr string) (Conn, error)
}

// A Conn is one connection; it is safe for concurrent use.
type Conn interface {
	// Call sends a message and returns what came back.
	Call(ctx context.Context, seq int64, text string) (int64, string, error)
	io.Closer
}

// A Pipeliner is a connection that has no calls of its own when callers share
// it, and instead keeps so many messages on their way.
type Pipeliner interface {
	// Pipeline exchanges checked messages, depth at a time and at least once,
	// until stop is closed and the last is back. It returns how many came back.
	Pipeline(stop <-chan struct{}, depth int, text string) (int64, error)
}

// A Documenter is a connection that also carries a JSON document, whatever is in
// it, as the value that the peer has for such: it is decoded and encoded at both
// ends.
type Documenter interface {
	// Document reads a document's text and returns what echoes it once and
	// checks the echo.
	Document(text []byte) (func(ctx context.Context) error, error)
}

// PushEvent is the document: what a forge tells of a push, as web hooks carry
// it, 8 KB (github.com/octokit/webhooks, MIT licence).
//
//go:embed testdata/push-event.json
var PushEvent []byte

// All are the peers, the limit and ours first.
func All() []Peer {
	return slices.Clone([]Peer{
		raw,
		ours("jsonrpc+tcp", "JSON-RPC 2.0, a line each", true),
		ours("msgpackrpc+tcp", "MessagePack-RPC", true),
		ours("grpc", "protobuf, gRPC", true),
		ours("rest", "JSON over HTTP/1.1", false),
		mounted,
		grpcGo,
		connectGo,
		drpcPeer,
		arpcPeer,
		rpcxPeer,
		kitexPeer,
		jrpc2Peer,
		sourcegraphPeer,
		netRPC,
		netRPCJSON,
		connectJSON,
		gateway,
		humaAPI,
		fastHTTP,
		netHTTP,
		netHTTP2,
	})
}

// Find returns the peer with that name.
func Find(name string) (Peer, bool) {
	all := All()
	i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}

// Version is the version of the peer's module in this program: "" for what
// comes with Go or stands in this repository.
func (p Peer) Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || p.Module == "" {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == p.Module && m.Replace == nil {
			return m.Version
		}
	}
	return ""
}

// Message is what the peers with plain structs send and get back.
type Message struct {
	Seq  int64  `json:"seq" wire:"1"`
	Text string `json:"text" wire:"2"`
}
