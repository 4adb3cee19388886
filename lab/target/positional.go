package target

import (
	"context"
	"fmt"
	"strings"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

// params is the request of a method that has positional parameters: any number of
// values of any kind.
type params struct {
	Params []any `wire:"1" json:"params"`
}

// positionalService is what registered methods belong to; it is not sent.
const positionalService = "positional"

// Positional is a method of JSON-RPC, or of MessagePack-RPC, that takes an array of
// params. Wires write a request as a message, which is one value; that an array is
// all the params is declared, as for a method of ours with a short name.
func Positional(reg *everywire.Registry, name string) *Method {
	// The registered name only tells the methods of the registry apart.
	local := fmt.Sprintf("%s/%d.%s", positionalService, len(reg.Methods()), strings.ReplaceAll(name, "/", "."))
	everywire.Handle(reg, local,
		func(context.Context, *params) (*everywire.Document, error) { return new(everywire.Document), nil }, // never runs here
		everywire.WithJSONRPC(everywire.JSONRPCForm{Name: name, Params: everywire.ParamsList, Field: "params"}))
	return &Method{
		Name: name, Path: "/" + local,
		NewIn: func() any { return new(params) }, NewOut: newDocument,
		read: func(text []byte, in any) error {
			var doc everywire.Document
			if err := (json.Codec{}).Decode(text, &doc); err != nil {
				return err
			}
			list, ok := doc.Value.([]any)
			if !ok {
				return fmt.Errorf("the params of %s are an array here", name)
			}
			in.(*params).Params = list
			return nil
		},
	}
}

// IsPositional reports whether a request is an array.
func IsPositional(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[")
}
