package wire

import (
	"maps"

	"github.com/everywire/everywire/wire/connectwire"
	"github.com/everywire/everywire/wire/grpcwire"
	"github.com/everywire/everywire/wire/internal/balance"
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
	// spreads is set if conn has the option lb itself.
	spreads bool
}

// balanced makes a connection that obeys the option lb. The wire grpc does it itself,
// but with a connection for each call it has none to choose among. Without the option
// connections are made to the first address that answers.
func (m maker) balanced(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	_, perCall := cfg.Options["reconnect"]
	if cfg.Options["lb"] != "round_robin" || m.spreads && !perCall {
		return m.conn(cfg)
	}
	return balance.New(cfg, m.toOne)
}

// toOne makes a connection to one address, which has been looked up.
func (m maker) toOne(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	one := *cfg
	one.Lookup = nil
	one.Options = maps.Clone(cfg.Options)
	delete(one.Options, "lb")
	return m.conn(&one)
}

// makers is the only place that knows every wire.
var makers = map[shape]maker{
	{"rest", "http"}:       {rest.NewServer, nil, rest.NewConn, false, false},
	{"rest", "h3"}:         {nil, rest.NewHTTP3Server, rest.NewHTTP3Conn, false, false},
	{"rest", "unix"}:       {rest.NewServer, nil, rest.NewConn, false, false},
	{"jsonrpc", "http"}:    {jsonrpc.NewHTTPServer, nil, jsonrpc.NewHTTPConn, false, false},
	{"jsonrpc", "tcp"}:     {jsonrpc.NewServer, nil, jsonrpc.NewConn, true, false},
	{"jsonrpc", "unix"}:    {jsonrpc.NewServer, nil, jsonrpc.NewConn, true, false},
	{"jsonrpc", "ws"}:      {jsonrpc.NewWebSocketServer, nil, jsonrpc.NewWebSocketConn, true, false},
	{"msgpackrpc", "tcp"}:  {msgpackrpc.NewServer, nil, msgpackrpc.NewConn, true, false},
	{"msgpackrpc", "unix"}: {msgpackrpc.NewServer, nil, msgpackrpc.NewConn, true, false},
	{"grpc", "tcp"}:        {grpcwire.NewServer, nil, grpcwire.NewConn, false, true},
	{"grpc", "unix"}:       {grpcwire.NewServer, nil, grpcwire.NewConn, false, true},
	{"any", "tcp"}:         {newAnyServer, nil, nil, false, false},
	{"any", "unix"}:        {newAnyServer, nil, nil, false, false},
	{"connect", "http"}:    {connectwire.NewServer, nil, connectwire.NewConn, false, false},
	{"connect", "unix"}:    {connectwire.NewServer, nil, connectwire.NewConn, false, false},
}
