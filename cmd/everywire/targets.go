package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/everywire/everywire/wire"
)

type targetsCmd struct{}

// Run lists what targets may say, from the table that Dial and Serve read.
func (*targetsCmd) Run(a *app) error {
	fmt.Fprint(a.stdout, `A target is WIRE[+TRANSPORT][+tls]://HOST:PORT[/PATH][?OPTION=VALUE&…]:

  rest://localhost:8080
  rest+tls://localhost:8443?ca=ca.pem
  jsonrpc+http://localhost:8081/rpc
  jsonrpc+tcp://localhost:7070
  jsonrpc+unix:///run/x.sock
  jsonrpc+ws://localhost:8082/path
  msgpackrpc+tcp://localhost:7071?meta=on
  grpc://localhost:9090?codec=json

Wires: `+strings.Join(wire.Wires(), ", ")+".\n\n")
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPTION\tTARGETS\tVALUES\tMEANING")
	for _, o := range wire.TargetOptions() {
		values := strings.Join(o.Values, ", ")
		switch {
		case o.Values == nil:
			values = "text"
		case values == "":
			values = "no value"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", o.Name, strings.Join(o.Shapes, ", "), values, o.Doc)
	}
	return w.Flush()
}
