package main

import (
	"context"
	"slices"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/wire"
)

// documentRequest asks a server for its own document.
type documentRequest struct {
	Version string `wire:"1"`
}

// getDocument is what such servers do not call it.
const getDocument = "everywire.Describe/Document"

// documents says how servers of a wire are asked, and for which form.
func documents() (reg *everywire.Registry, forms map[string]string) {
	reg = everywire.NewRegistry()
	everywire.Handle(reg, getDocument,
		func(context.Context, *documentRequest) (*everywire.Document, error) {
			return &everywire.Document{}, nil
		}, // never runs here
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/openapi.json", ""),
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "rpc.discover"}))
	return reg, map[string]string{"rest": "openapi", "jsonrpc": "openrpc"}
}

// printServers prints a server's own document, if it is such a server that the
// command is about.
func (c *describeCmd) printServers(a *app) (done bool, err error) {
	reg, forms := documents()
	for _, source := range append(slices.Clone(c.Sources), c.Against) {
		if !isTarget(source) {
			continue
		}
		t, err := wire.ParseTarget(source)
		if err != nil {
			return true, err
		}
		form, ok := forms[t.Wire]
		switch {
		case !ok:
			continue
		case c.Against != "":
			return true, usagef("%s: its document has no field numbers to compare: name a target of the wire grpc", source)
		case len(c.Sources) > 1 || c.Title != "" || c.Server != "":
			return true, usagef("%s: a server's own document is printed as it is, and alone", source)
		case c.As != "" && c.As != form:
			return true, usagef("%s: servers of the wire %s have --as %s only", source, t.Wire, form)
		}
		return true, c.printDocument(a, reg, source, form)
	}
	return false, nil
}

func (c *describeCmd) printDocument(a *app, reg *everywire.Registry, target, form string) error {
	conn, err := wire.Dial(target, wire.WithMethods(reg))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the call's own error is the one to tell
	ctx, cancel := context.WithTimeout(a.ctx, c.Timeout)
	defer cancel()
	doc, err := everywire.Call[everywire.Document](ctx, conn, getDocument, &documentRequest{Version: c.Version})
	if err != nil {
		return callError(err)
	}
	text, err := json.Codec{}.Append(nil, doc)
	if err != nil {
		return err
	}
	if text, err = indentJSON(text); err != nil {
		return err
	}
	files := []describe.File{{Path: form + ".json", Text: text}}
	if c.Out != "" {
		return a.saveFiles(c.Out, files)
	}
	return a.printFiles(files)
}
