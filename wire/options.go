package wire

import (
	"fmt"
	"slices"
	"strings"
)

// side says which end an option of a target is for.
type side uint8

const (
	dialSide side = 1 << iota
	serveSide
	anySide = dialSide | serveSide
)

// An OptionDoc describes one option of a target.
type OptionDoc struct {
	// Name is the option's name in the target's query.
	Name string
	// Shapes are the wires, or wire+transport, that have it; "tls" stands for
	// every target with TLS.
	Shapes []string
	// Values are the values allowed; none means any text. A flag has the one
	// value "".
	Values []string
	// Text says what the text is where any is allowed, such as FILE.
	Text string
	// Doc is one line.
	Doc string

	side side
}

// options is the one table of what targets may say after the question mark.
var options = []OptionDoc{
	{"codec", []string{"grpc", "connect"}, nil, "NAME", "how messages are encoded: protobuf (the default), json, msgpack, cbor, or another that the program has; a server takes all", dialSide},
	{"protocol", []string{"connect"}, []string{"connect", "grpc-web"}, "", "the protocol that calls are made by (default connect); a server answers both, and gRPC", dialSide},
	{"http", []string{"rest+http", "rest+unix"}, []string{"1.1", "2"}, "", "the version of HTTP (default 1.1); a server takes both", dialSide},
	{"http", []string{"connect"}, []string{"1.1", "2"}, "", "the version of HTTP (default 2, with TLS what the server chooses); 1.1 has no streams both ways", dialSide},
	{"codec", []string{"rest"}, nil, "NAME", "how requests and replies are encoded: json (the default), msgpack, cbor, protobuf, or another that the program has; a server takes all", dialSide},
	{"compression", []string{"rest", "jsonrpc+http", "connect"}, []string{"gzip", "br", "zstd"}, "", "how requests of 1 KiB and more are compressed, and what is accepted of replies (default not at all)", dialSide},
	{"compression", []string{"grpc"}, []string{"gzip", "zstd"}, "", "how requests are compressed, and with them replies (default not at all); messages of less than 1 KiB are stored", dialSide},
	{"compressmin", []string{"connect"}, nil, "BYTES", "the size from which requests are compressed (default 1024); for compression", dialSide},
	{"get", []string{"connect"}, []string{""}, "", "call methods without side effects by GET, which caches understand", dialSide},
	{"lb", []string{"grpc", "rest+http", "jsonrpc+tcp", "jsonrpc+http", "jsonrpc+ws", "msgpackrpc+tcp", "connect+http"}, []string{"pick_first", "round_robin"}, "", "how calls are spread over several addresses, given or found for a name (default pick_first)", dialSide},
	{"serviceconfig", []string{"grpc"}, nil, "FILE", "a JSON file with gRPC's service config: retries, timeouts and the like by method", dialSide},
	{"keepalive", []string{"grpc", "any"}, nil, "TIME", "ask whether the other end of a gRPC connection is there when it has said nothing for so long (default 2m for a server, never for a client)", anySide},
	{"keepalivetimeout", []string{"grpc", "any"}, nil, "TIME", "how long it may take to answer; then the connection is closed (default 20s)", anySide},
	{"keepalivemin", []string{"grpc", "any"}, nil, "TIME", "close the gRPC connection of a client that asks more often than that (default 10s)", serveSide},
	{"maxage", []string{"grpc", "any"}, nil, "TIME", "let clients of gRPC make a new connection after so long, a tenth more or less (default never)", serveSide},
	{"maxagegrace", []string{"grpc", "any"}, nil, "TIME", "how long the calls on a connection older than maxage may take to finish (default as long as they want)", serveSide},
	{"reconnect", []string{"rest", "jsonrpc", "msgpackrpc", "grpc", "connect"}, []string{""}, "", "a new connection for every call, closed behind it", dialSide},
	{"idle", []string{"jsonrpc+tcp", "jsonrpc+unix", "jsonrpc+ws", "msgpackrpc", "grpc", "any"}, nil, "TIME", "close a connection that has had no call for so long, such as 5m (default never; a client of grpc 30m)", anySide},
	{"framing", []string{"jsonrpc+tcp", "jsonrpc+unix"}, []string{"line", "header", "netstring", "concat"}, "", "how messages are told apart (default line; a server's default is whatever the client begins with)", anySide},
	{"version", []string{"jsonrpc", "any"}, []string{"2.0", "1.0"}, "", "the version of JSON-RPC (default 2.0); a server of 1.0 answers both", anySide},
	{"replies", []string{"jsonrpc+http"}, []string{"envelope", "bare"}, "", "reply with JSON-RPC's envelope, or at /METHOD with {\"result\":…} or {\"error\":…} alone (default envelope)", serveSide},
	{"bytes", []string{"rest", "jsonrpc", "grpc", "connect", "any"}, []string{"base64", "array"}, "", "how bytes are written in JSON (default base64); both are always read", anySide},
	{"discover", []string{"jsonrpc", "any"}, []string{"on", "off"}, "", "answer rpc.discover with an OpenRPC document (default on)", serveSide},
	{"cancel", []string{"jsonrpc+tcp", "jsonrpc+unix", "jsonrpc+ws"}, []string{"on", "off"}, "", "tell the server when a call is given up (default on)", dialSide},
	{"meta", []string{"jsonrpc+tcp", "jsonrpc+unix", "jsonrpc+ws", "msgpackrpc"}, []string{"on", "off"}, "", "send metadata and deadlines (default on; with msgpackrpc off unless envelope=map, and cancellation too)", dialSide},
	{"origins", []string{"rest", "jsonrpc+ws", "jsonrpc+http", "connect", "any"}, nil, "LIST", "origins or hosts whose web pages may call, such as https://a.example,b.example:8080, or * (default the server's own)", serveSide},
	{"credentials", []string{"rest", "jsonrpc+http", "connect", "any"}, []string{"on"}, "", "let the pages of origins send cookies; each must be named with its scheme (default off)", serveSide},
	{"envelope", []string{"msgpackrpc"}, []string{"array", "map"}, "", "send the specification's arrays or JSON-RPC 2.0 maps (default array); a server takes both", dialSide},
	{"cleartext", []string{"any"}, []string{""}, "", "with TLS: serve clients without it too", serveSide},
	{"openapi", []string{"rest", "any"}, nil, "on|off|PATH", "the OpenAPI document: on, off, or its path (default /openapi.json)", serveSide},
	{"docs", []string{"rest", "any"}, nil, "on|off|PATH", "the documentation page: on, off, or its path (default /docs)", serveSide},
	{"cert", []string{"tls"}, nil, "FILE", "a PEM file with this end's certificate", anySide},
	{"key", []string{"tls"}, nil, "FILE", "a PEM file with the certificate's private key", anySide},
	{"ca", []string{"tls"}, nil, "FILE", "a PEM file with the authorities that the other end's certificate must come from", anySide},
	{"servername", []string{"tls"}, nil, "NAME", "the name that the server's certificate must have (default the host)", dialSide},
}

// TargetOptions describes every option that a target may have.
func TargetOptions() []OptionDoc { return slices.Clone(options) }

// End says which end takes the option: client, server or both.
func (o *OptionDoc) End() string {
	if o.side == anySide {
		return "both"
	}
	return endOf(o.side)
}

// IsFlag reports whether the option has no value.
func (o *OptionDoc) IsFlag() bool { return len(o.Values) == 1 && o.Values[0] == "" }

func (o *OptionDoc) fits(t *Target) bool {
	return slices.ContainsFunc(o.Shapes, func(s string) bool {
		return s == t.Wire || s == t.Wire+"+"+t.Transport || s == "tls" && t.TLS
	})
}

// checkOptions checks names and values for one end; the error lists what is
// known.
func (t *Target) checkOptions(at side) error {
	for name, value := range t.Options {
		i := slices.IndexFunc(options, func(o OptionDoc) bool { return o.Name == name && o.fits(t) })
		if i < 0 {
			if slices.ContainsFunc(options, func(o OptionDoc) bool { return o.Name == name && o.Shapes[0] == "tls" }) && !t.TLS {
				secure := *t
				secure.TLS = true
				return fmt.Errorf("%s has no option %q: it is for TLS, %s", shapeName(t), name, shapeName(&secure))
			}
			return fmt.Errorf("%s has no option %q: %s", shapeName(t), name, t.known(at))
		}
		o := &options[i]
		if o.side&at == 0 {
			return fmt.Errorf("the option %q is for the %s, not the %s", name, endOf(o.side), endOf(at))
		}
		if o.Values != nil && !slices.Contains(o.Values, value) {
			if o.Values[0] == "" {
				return fmt.Errorf("the option %q takes no value", name)
			}
			return fmt.Errorf("the option %q cannot be %q: it is one of %s", name, value, strings.Join(o.Values, ", "))
		}
	}
	return nil
}

func (t *Target) known(at side) string {
	var names []string
	for _, o := range options {
		if o.side&at != 0 && o.fits(t) {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return "it has none"
	}
	return "it has " + strings.Join(names, ", ")
}

func shapeName(t *Target) string {
	bare := Target{Wire: t.Wire, Transport: t.Transport, TLS: t.TLS}
	return bare.String()
}

func endOf(s side) string {
	if s == dialSide {
		return "client"
	}
	return "server"
}
