package rest

import (
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

type order struct {
	ID     int64            `wire:"1"`
	Lines  []*orderLine     `wire:"2"`
	Prices map[string]int32 `wire:"3"`
	To     *address         `wire:"4"`
	Ship   bool             `wire:"5"`
	Any    any              `wire:"6"`
}

type orderLine struct {
	Item     string  `wire:"1"`
	Count    uint32  `wire:"2"`
	Discount []int64 `wire:"3"`
}

type address struct {
	Street string `wire:"1"`
	Number int32  `wire:"2"`
}

// Whatever is wrong in a body is named, each fault with its place.
func TestAllFaultsAreNamed(t *testing.T) {
	e := newCompiler().defaultEndpoint(&everywire.Method{Service: "s.S", Name: "M"}, "POST")
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{"id":"x"}`, []string{`id`}},
		{`{"id":"x","ship":1,"lines":[],"to":{"street":"a"}}`, []string{`id`, `ship`}},
		{`{"ship":"no","id":1.5,"to":{"number":"x","street":7}}`, []string{`ship`, `id`, `to.number`, `to.street`}},
		{`{"lines":[{"item":"a"},{"item":1,"count":-1},{"discount":[1,"x",2,true]}]}`,
			[]string{`lines[1].item`, `lines[1].count`, `lines[2].discount[1]`, `lines[2].discount[3]`}},
		{`{"lines":[{},"x"],"prices":{"a":1,"b c":"y"}}`, []string{`lines[1]`, `prices["b c"]`}},
		{`{"id":"x","unknown":{"id":"y"},"any":{"id":"z"}}`, []string{`id`}},
		{`{"i\u0064":"x","ship":2}`, []string{`id`, `ship`}},
		{`{"prices":{"a":1,"a":2},"id":"x"}`, []string{`prices`, `id`}},
		{`{"to":{"street":"a","street":"b"},"id":"x"}`, []string{`to`, `id`}},
		{`{"lines":[null],"id":"x"}`, []string{`lines[0]`, `id`}},
		{"{\"to\":{\"street\":\"\xff\"},\"id\":true}", []string{`to.street`, `id`}},
		{`{"id":`, []string{`id`}}, // no JSON: what the codec says
		{`[1]`, nil},
		{`{"id":1} {}`, nil},
	} {
		var b builder
		var v order
		decode := plainJSON.Decode
		refused := decode([]byte(c.body), &v)
		if refused == nil {
			t.Fatalf("%s is decoded", c.body)
		}
		err := b.explain(e, refused, []byte(c.body), &v, decode)
		var got []string
		s, _ := status.FromError(err)
		for _, d := range s.Details() {
			for _, f := range d.(*errdetails.BadRequest).GetFieldViolations() {
				got = append(got, f.GetField())
				if !strings.HasPrefix(f.GetDescription(), f.GetField()+": ") {
					t.Errorf("%s: %s is described as %q", c.body, f.GetField(), f.GetDescription())
				}
			}
		}
		slicesEqualAnyOrder(t, c.body, got, c.want)
		if c.want != nil && (s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), refused.Error())) {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

func slicesEqualAnyOrder(t *testing.T, what string, got, want []string) {
	t.Helper()
	seen := map[string]int{}
	for _, g := range got {
		seen[g]++
	}
	for _, w := range want {
		seen[w]--
	}
	for name, n := range seen {
		if n != 0 {
			t.Errorf("%s: got %q, want %q (%s)", what, got, want, name)
			return
		}
	}
}

// The cost of looking for faults is bounded.
func TestProbesAreBounded(t *testing.T) {
	n := 0
	refuses := func([]byte) (err *json.Error) { n++; return &json.Error{Path: "numbers[0]", Reason: "bad"} }
	found := 0
	faults([]byte(`{"numbers":[`+strings.Repeat("1,", 20_000)+`1]}`), refuses, func(*json.Error) { found++ })
	if n > maxProbes || found == 0 {
		t.Errorf("%d probes, %d faults", n, found)
	}
	n = 0
	faults([]byte(`{"a":"`+strings.Repeat("x", maxProbed)+`"}`), refuses, func(*json.Error) {})
	if n != 0 {
		t.Errorf("%d probes of a long message", n)
	}
}
