package thrift_test

import (
	"context"
	"flag"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/internal/golden"
	"github.com/everywire/everywire/schema/schematest"
)

var update = flag.Bool("update", false, "write testdata/wide.thrift again; see the Makefile")

// The code in internal/widethrift is what Thrift's compiler makes of
// testdata/wide.thrift, and that is what we say of the message today.
func TestSchemaIsCurrent(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "wide.Wides/Echo", func(_ context.Context, w *schematest.Wide) (*schematest.Wide, error) { return w, nil })
	text, err := describe.Thrift(reg.Methods(), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/wide.thrift", text, *update)
}
