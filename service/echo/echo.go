// Package echo sends back what it gets: any JSON-like value, or a message of a type
// that is given. The lab sends real payloads through it.
package echo

import (
	"context"
	"reflect"

	"github.com/everywire/everywire"
)

// Echo is the method's full name.
const Echo = "echo.Echo/Echo"

// Register adds the service to reg.
func Register(reg *everywire.Registry) {
	everywire.Handle(reg, Echo, echo, options("Sends back what it gets: any JSON-like value.")...)
}

// RegisterType adds the service to reg for messages of the struct type t.
func RegisterType(reg *everywire.Registry, t reflect.Type) {
	everywire.HandleTypes(reg, Echo, t, t, func(_ context.Context, in any) (any, error) { return in, nil },
		options("Sends back what it gets.")...)
}

func options(doc string) []everywire.MethodOption {
	return []everywire.MethodOption{
		everywire.WithDoc(doc),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("POST", "/echo", "*"),
	}
}

func echo(_ context.Context, in *everywire.Document) (*everywire.Document, error) {
	return in, nil
}
