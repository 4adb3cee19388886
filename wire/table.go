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
	server func(*rpc.ServerConfig) (rpc.Server, error)
	// conn is nil if there is no such client.
	conn func(*rpc.ClientConfig) (rpc.Conn, error)
	// bothWays is set if a server can call its client.
	bothWays bool
}

// makers is the only place that knows every wire.
var makers = map[shape]maker{
	{"rest", "http"}:       {rest.NewServer, rest.NewConn, false},
	{"rest", "unix"}:       {rest.NewServer, rest.NewConn, false},
	{"jsonrpc", "http"}:    {jsonrpc.NewHTTPServer, jsonrpc.NewHTTPConn, false},
	{"jsonrpc", "tcp"}:     {jsonrpc.NewServer, jsonrpc.NewConn, true},
	{"jsonrpc", "unix"}:    {jsonrpc.NewServer, jsonrpc.NewConn, true},
	{"jsonrpc", "ws"}:      {jsonrpc.NewWebSocketServer, jsonrpc.NewWebSocketConn, true},
	{"msgpackrpc", "tcp"}:  {msgpackrpc.NewServer, msgpackrpc.NewConn, true},
	{"msgpackrpc", "unix"}: {msgpackrpc.NewServer, msgpackrpc.NewConn, true},
	{"grpc", "tcp"}:        {grpcwire.NewServer, grpcwire.NewConn, false},
	{"grpc", "unix"}:       {grpcwire.NewServer, grpcwire.NewConn, false},
	{"any", "tcp"}:         {newAnyServer, nil, false},
	{"any", "unix"}:        {newAnyServer, nil, false},
	{"connect", "http"}:    {connectwire.NewServer, connectwire.NewConn, false},
	{"connect", "unix"}:    {connectwire.NewServer, connectwire.NewConn, false},
}
