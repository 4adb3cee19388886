package capnp

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/schema/schematest"
)

var update = flag.Bool("update", false, "write testdata/wide.capnp again; see the Makefile")

// The code in internal/widecapnp is what the capnp compiler makes of testdata/wide.capnp, and that
// is what we say of the message today.
func TestSchemaIsCurrent(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "wide.Wides/Echo", func(_ context.Context, w *schematest.Wide) (*schematest.Wide, error) { return w, nil })
	text, err := describe.CapnProto(reg.Methods(), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const name = "testdata/wide.capnp"
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, text) {
		t.Errorf("%s is not current: run make generate. It should be\n%s", name, text)
	}
}
