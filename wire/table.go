package wire

import (
	"github.com/everywire/everywire/wire/connectwire"
	"github.com/everywire/everywire/wire/grpcwire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/jsonrpc"
	"github.com/everywire/everywire/wire/msgpackrpc"
	"github.com/everywire/everywire/wire/rest"
)

// maker makes the two ends of one shape of target.
type maker struct {
	// server or packets makes the server.
	server  func(*rpc.ServerConfig) (rpc.Server, error)
	packets func(*rpc.ServerConfig) (rpc.PacketServer, error)
	// conn is nil if there is no such client.
	conn func(*rpc.ClientConfig) (rpc.Conn, error)
	// bothWays is set if a server can call its client.
	bothWays bool
}

// makers is the only place that knows every wire.
var makers = map[shape]maker{
	{"rest", "http"}:       {rest.NewServer, nil, rest.NewConn, false},
	{"rest", "h3"}:         {nil, rest.NewHTTP3Server, rest.NewHTTP3Conn, false},
	{"rest", "unix"}:       {rest.NewServer, nil, rest.NewConn, false},
	{"jsonrpc", "http"}:    {jsonrpc.NewHTTPServer, nil, jsonrpc.NewHTTPConn, false},
	{"jsonrpc", "tcp"}:     {jsonrpc.NewServer, nil, jsonrpc.NewConn, true},
	{"jsonrpc", "unix"}:    {jsonrpc.NewServer, nil, jsonrpc.NewConn, true},
	{"jsonrpc", "ws"}:      {jsonrpc.NewWebSocketServer, nil, jsonrpc.NewWebSocketConn, true},
	{"msgpackrpc", "tcp"}:  {msgpackrpc.NewServer, nil, msgpackrpc.NewConn, true},
	{"msgpackrpc", "unix"}: {msgpackrpc.NewServer, nil, msgpackrpc.NewConn, true},
	{"grpc", "tcp"}:        {grpcwire.NewServer, nil, grpcwire.NewConn, false},
	{"grpc", "unix"}:       {grpcwire.NewServer, nil, grpcwire.NewConn, false},
	{"any", "tcp"}:         {newAnyServer, nil, nil, false},
	{"any", "unix"}:        {newAnyServer, nil, nil, false},
	{"connect", "http"}:    {connectwire.NewServer, nil, connectwire.NewConn, false},
	{"connect", "unix"}:    {connectwire.NewServer, nil, connectwire.NewConn, false},
}
