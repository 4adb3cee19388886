// Package wire serves a registry on targets and dials them.
//
// A target is a URL that names wire, transport, address and options:
//
//	wire[+transport][+tls]://host:port[,host:port…][/path][?options]
//	rest://:8080
//	jsonrpc+http://host:8081/rpc
//	jsonrpc+tcp://host:7070
//	jsonrpc+unix:///run/x.sock
//	jsonrpc+ws://host:8082/path
//	msgpackrpc+tcp+tls://host:7071?ca=ca.pem
//	grpc://host:9090?codec=json
//	any://:8080, a server of every wire
//
// docs/spec/targets.md lists wires, transports and options.
package wire
