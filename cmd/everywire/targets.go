package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/everywire/everywire/wire"
)

type targetsCmd struct {
	JSON bool `name:"json" help:"Print the tables as JSON."`
}

// targetsWidth is what the text fits into.
const targetsWidth = 100

type wireDoc struct {
	Wire       string   `json:"wire"`
	Transports []string `json:"transports"`
}

type optionDoc struct {
	Option  string   `json:"option"`
	Targets []string `json:"targets"`
	End     string   `json:"end"`
	// Values are those allowed; null is any text, and none that the option is a
	// flag.
	Values  []string `json:"values"`
	Meaning string   `json:"meaning"`
	text    string
}

// Run lists what targets may say, from the tables that Dial and Serve read.
func (c *targetsCmd) Run(a *app) error {
	var wires []wireDoc
	for _, name := range wire.Wires() {
		wires = append(wires, wireDoc{name, wire.Transports(name)})
	}
	var options []optionDoc
	for _, o := range wire.TargetOptions() {
		doc := optionDoc{o.Name, o.Shapes, o.End(), o.Values, o.Doc, o.Text}
		if o.IsFlag() {
			doc.Values = []string{}
		}
		options = append(options, doc)
	}
	if c.JSON {
		e := json.NewEncoder(a.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(struct {
			Wires   []wireDoc   `json:"wires"`
			Options []optionDoc `json:"options"`
		}{wires, options})
	}
	return printTargets(a.stdout, wires, options)
}

func printTargets(w io.Writer, wires []wireDoc, options []optionDoc) error {
	fmt.Fprint(w, `A target is WIRE[+TRANSPORT][+tls]://HOST:PORT[/PATH][?OPTION=VALUE&…]:

  rest://localhost:8080
  rest+tls://localhost:8443?ca=ca.pem
  jsonrpc+http://localhost:8081/rpc
  jsonrpc+tcp://localhost:7070
  jsonrpc+unix:///run/x.sock
  jsonrpc+ws://localhost:8082/path
  msgpackrpc+tcp://localhost:7071?meta=on
  grpc://localhost:9090?codec=json
  any://localhost:8080                       a server of every wire

Wires, and their transports with the default first:

`)
	for _, d := range wires {
		fmt.Fprintf(w, "  %-12s%s\n", d.Wire, strings.Join(d.Transports, ", "))
	}
	fmt.Fprint(w, "\nOptions, with the ends and the targets that have them:\n")
	for _, o := range options {
		value := "=" + o.text
		if o.Values != nil {
			value = ""
			if len(o.Values) > 0 {
				value = "=" + strings.Join(o.Values, "|")
			}
		}
		fmt.Fprintf(w, "\n  %s%s\n", o.Option, value)
		wrap(w, "      ", o.End+"; "+strings.Join(o.Targets, ", "))
		wrap(w, "      ", o.Meaning)
	}
	return nil
}

// wrap prints words in lines that fit.
func wrap(w io.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if line != indent && utf8.RuneCountInString(line)+utf8.RuneCountInString(word) > targetsWidth {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
