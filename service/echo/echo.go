// Package echo sends back the document that it gets: any JSON-like value. The
// lab sends real payloads through it.
package echo

import (
	"context"

	"github.com/everywire/everywire"
)

// Echo is the method's full name.
const Echo = "echo.Echo/Echo"

// Register adds the service to reg.
func Register(reg *everywire.Registry) {
	everywire.Handle(reg, Echo, echo,
		everywire.WithDoc("Sends back what it gets: any JSON-like value."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("POST", "/echo", "*"),
	)
}

func echo(_ context.Context, in *everywire.Document) (*everywire.Document, error) {
	return in, nil
}
