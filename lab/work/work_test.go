package work_test

import (
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/work"
)

// Both ends of a plan fit together: what a caller sends, the service sends back.
func TestBothEnds(t *testing.T) {
	for _, tt := range []struct {
		plan  plan.Plan
		docs  []string
		typed bool
	}{
		{plan.Plan{Service: "arith"}, nil, false},
		{plan.Plan{Service: "kv"}, nil, false},
		{plan.Plan{Service: "echo", Payload: &plan.Payload{}}, []string{`{"a":1}`, `[2]`}, false},
		{plan.Plan{Service: "echo", Payload: &plan.Payload{Typed: true}}, []string{`{"a":1,"b":[{"c":"x"}]}`, `{"a":2}`}, true},
		{plan.Plan{Service: "echo", Payload: &plan.Payload{Typed: true}}, []string{`[1.5]`}, true},
	} {
		var texts [][]byte
		for _, doc := range tt.docs {
			texts = append(texts, []byte(doc))
		}
		payload, err := work.Payload(texts)
		if err != nil {
			t.Fatal(err)
		}
		w, err := work.Of(&tt.plan, payload)
		if err != nil {
			t.Errorf("%s %q: %v", tt.plan.Service, tt.docs, err)
			continue
		}
		if typed := w.Type != nil; typed != tt.typed || len(w.Messages) != len(tt.docs) {
			t.Errorf("%s %q: typed %v, messages %v", tt.plan.Service, tt.docs, typed, w.Messages)
		}
		reg := everywire.NewRegistry()
		w.Register(reg)
		caller := w.Load.Caller(1, 0)
		for range 10 {
			path, in, out := caller.Next()
			m, ok := reg.Lookup(path)
			if !ok {
				t.Fatalf("%s: there is no method %s", tt.plan.Service, path)
			}
			request, err := json.Codec{}.Append(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := m.Unary(t.Context(), func(v any) error { return json.Codec{}.Decode(request, v) })
			if err != nil {
				t.Fatal(err)
			}
			answer, err := json.Codec{}.Append(nil, reply)
			if err != nil {
				t.Fatal(err)
			}
			if err := (json.Codec{}).Decode(answer, out); err != nil {
				t.Fatal(err)
			}
			if wrong := caller.Check(); wrong != "" {
				t.Errorf("%s %q: %s", tt.plan.Service, tt.docs, wrong)
			}
		}
	}
}

func TestNoWork(t *testing.T) {
	for _, tt := range []struct {
		plan    plan.Plan
		payload string
		want    string
	}{
		{plan.Plan{Service: "payroll"}, "", `no workload for service "payroll"`},
		{plan.Plan{Service: "echo"}, "{", "the payload: json: "},
		{plan.Plan{Service: "echo"}, "{}", "the payload is no list of documents"},
		{plan.Plan{Service: "echo"}, "[]", "the payload is no list of documents"},
		{plan.Plan{Service: "echo", Payload: &plan.Payload{Typed: true}}, "[null]", "nothing but null"},
	} {
		if _, err := work.Of(&tt.plan, []byte(tt.payload)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %v, want %s", tt.plan.Service, tt.payload, err, tt.want)
		}
	}
}
