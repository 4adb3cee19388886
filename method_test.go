package everywire_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/everywire/everywire"
)

func TestRouteOptions(t *testing.T) {
	type message struct {
		ID int64 `wire:"1"`
	}
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.T/Create", func(_ context.Context, in *message) (*message, error) { return in, nil },
		everywire.WithRoute("POST", "/things", "*", everywire.Created("/things/{id}"), everywire.ResponseBody("id")),
		everywire.WithRoute("PUT", "/things/{id}", "*"))
	m, ok := reg.Lookup("/test.T/Create")
	want := []everywire.Route{
		{Verb: "POST", Pattern: "/things", Body: "*", ResponseBody: "id", Created: "/things/{id}"},
		{Verb: "PUT", Pattern: "/things/{id}", Body: "*"},
	}
	if !ok || !reflect.DeepEqual(m.Routes, want) {
		t.Errorf("routes %+v\nwant   %+v", m.Routes, want)
	}
}
