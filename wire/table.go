package wire

import (
	"github.com/everywire/everywire/wire/grpcwire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/jsonrpc"
	"github.com/everywire/everywire/wire/msgpackrpc"
	"github.com/everywire/everywire/wire/rest"
)

// maker makes the two ends of one shape of target.
type maker struct {
	server func(*rpc.ServerConfig) (rpc.Server, error)
	conn   func(*rpc.ClientConfig) (rpc.Conn, error)
}

// makers is the only place that knows every wire.
var makers = map[shape]maker{
	{"rest", "http"}:       {rest.NewServer, rest.NewConn},
	{"rest", "unix"}:       {rest.NewServer, rest.NewConn},
	{"jsonrpc", "http"}:    {jsonrpc.NewHTTPServer, jsonrpc.NewHTTPConn},
	{"jsonrpc", "tcp"}:     {jsonrpc.NewServer, jsonrpc.NewConn},
	{"jsonrpc", "unix"}:    {jsonrpc.NewServer, jsonrpc.NewConn},
	{"msgpackrpc", "tcp"}:  {msgpackrpc.NewServer, msgpackrpc.NewConn},
	{"msgpackrpc", "unix"}: {msgpackrpc.NewServer, msgpackrpc.NewConn},
	{"grpc", "tcp"}:        {grpcwire.NewServer, grpcwire.NewConn},
	{"grpc", "unix"}:       {grpcwire.NewServer, grpcwire.NewConn},
}
