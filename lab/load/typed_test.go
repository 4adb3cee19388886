package load

import (
	"strings"
	"testing"
)

type typedItem struct {
	Name *string `wire:"1" json:"name,omitempty"`
	N    float64 `wire:"2"`
}

type typedMessage struct {
	_     struct{}         `wire:"name=test.Message"`
	ID    int64            `wire:"1" json:"id"`
	Items []typedItem      `wire:"2" json:"items"`
	Tags  map[string]int64 `wire:"3" json:"tags"`
	Rest  any              `wire:"4" json:"rest"`
	Item  *typedItem       `wire:"5" json:"item,omitempty"`
}

func TestTypedDifference(t *testing.T) {
	name, other := "a", "b"
	full := func() *typedMessage {
		return &typedMessage{ID: 1, Items: []typedItem{{&name, 1.5}}, Tags: map[string]int64{"x/y": 2}, Rest: []any{int64(1)}, Item: &typedItem{N: 2}}
	}
	for _, tt := range []struct {
		change func(*typedMessage)
		want   string
	}{
		{func(*typedMessage) {}, ""},
		{func(m *typedMessage) { m.Rest = []any{1.0} }, ""},
		{func(m *typedMessage) { m.ID = 2 }, "/id: got 2, want 1"},
		{func(m *typedMessage) { m.Items[0].Name = &other }, `/items/0/name: got "b", want "a"`},
		{func(m *typedMessage) { m.Items[0].Name = nil }, "/items/0/name: is absent: true, want absent: false"},
		{func(m *typedMessage) { m.Items[0].N = 2 }, "/items/0/N: got 2, want 1.5"},
		{func(m *typedMessage) { m.Items = nil }, "/items: has 0 elements, want 1"},
		{func(m *typedMessage) { m.Tags["x/y"] = 3 }, "/tags/x~1y: got 3, want 2"},
		{func(m *typedMessage) { m.Tags = map[string]int64{"z": 2} }, "/tags/x~1y: is missing"},
		{func(m *typedMessage) { m.Tags = nil }, "/tags: has 0 members, want 1"},
		{func(m *typedMessage) { m.Rest = []any{"x"} }, `/rest/0: got "x", want 1`},
		{func(m *typedMessage) { m.Item = nil }, "/item: is absent: true, want absent: false"},
	} {
		w := Echo(full()).Caller(1, 0)
		_, _, out := w.Next()
		got := out.(*typedMessage)
		*got = *full()
		tt.change(got)
		if text := w.Check(); text != tt.want {
			t.Errorf("%q, want %q", text, tt.want)
		}
	}
}

// A nil list and an empty one are the same to every codec.
func TestTypedEmpty(t *testing.T) {
	w := Echo(&typedMessage{Items: []typedItem{}, Tags: map[string]int64{}}).Caller(1, 0)
	w.Next()
	if text := w.Check(); text != "" {
		t.Error(text)
	}
}

// Callers begin at different messages, each with a reply that holds nothing of the
// last.
func TestTypedTurns(t *testing.T) {
	a, b := &typedMessage{ID: 1}, &typedMessage{ID: 2}
	w := Echo(a, b).Caller(1, 1)
	for _, want := range []*typedMessage{b, a, b} {
		_, in, out := w.Next()
		if in != any(want) || out.(*typedMessage).ID != 0 {
			t.Fatalf("got %v with a reply %v, want %v", in, out, want)
		}
		if text := w.Check(); !strings.HasPrefix(text, "/id: got 0") {
			t.Errorf("an empty reply: %q", text)
		}
		*out.(*typedMessage) = *want
		if text := w.Check(); text != "" {
			t.Error(text)
		}
	}
}
