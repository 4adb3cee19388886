package echo

import (
	"testing"

	"github.com/everywire/everywire"
)

func TestEcho(t *testing.T) {
	reg := everywire.NewRegistry()
	Register(reg)
	m, ok := reg.Lookup("/" + Echo)
	if !ok || m.Idempotency != everywire.NoSideEffects || !m.Input.Document || len(m.Routes) != 1 {
		t.Fatalf("the method is %+v", m)
	}
	out, err := m.Unary(t.Context(), func(v any) error {
		v.(*everywire.Document).Value = []any{int64(1), "two"}
		return nil
	})
	if err != nil || len(out.(*everywire.Document).Value.([]any)) != 2 {
		t.Errorf("got %v, %v", out, err)
	}
}
