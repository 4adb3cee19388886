package work_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

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
		{plan.Plan{Service: "auth"}, nil, false},
		{plan.Plan{Service: "hello"}, nil, false},
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
		for _, arm := range []plan.Arm{{Name: "rest", Kind: plan.Wire, Target: "rest"}, {Name: "jsonrpc", Kind: plan.Wire, Target: "jsonrpc+tcp"}} {
			client, err := w.Client(arm, local{t, w.NewRegistry()})
			if err != nil {
				t.Fatal(err)
			}
			caller := client.Load.Caller(1, 0)
			for range 30 {
				path, in, out := caller.Next()
				if err := client.Conn.Invoke(t.Context(), path, in, out); err != nil {
					t.Fatal(err)
				}
				if wrong := caller.Check(); wrong != "" {
					t.Errorf("%s %q by %s: %s", tt.plan.Service, tt.docs, arm.Name, wrong)
				}
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A caller of the authentication service whose login has failed has nothing to
// check, and says so.
func TestNoLogin(t *testing.T) {
	w, err := work.Of(&plan.Plan{Service: "auth"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := w.Client(plan.Arm{Kind: plan.Wire, Target: "grpc"}, local{t, w.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	caller := client.Load.Caller(1, 0)
	caller.Next() // and it is never sent
	path, in, out := caller.Next()
	if err := client.Conn.Invoke(t.Context(), path, in, out); err == nil || !strings.Contains(err.Error(), "the login has failed") {
		t.Errorf("a check without a token: %v", err)
	}
}

// local is a connection to a registry in this process. Messages go by way of JSON.
type local struct {
	t   *testing.T
	reg *everywire.Registry
}

func (l local) Invoke(ctx context.Context, path string, in, out any, _ ...grpc.CallOption) error {
	m, ok := l.reg.Lookup(path)
	if !ok {
		return status.Errorf(codes.Unimplemented, "there is no method %s", path)
	}
	request, err := json.Codec{}.Append(nil, in)
	if err != nil {
		return err
	}
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		ctx = metadata.NewIncomingContext(ctx, md)
	}
	reply, err := m.Unary(ctx, func(v any) error { return json.Codec{}.Decode(request, v) })
	if err != nil {
		return err
	}
	answer, err := json.Codec{}.Append(nil, reply)
	if err != nil {
		return err
	}
	return json.Codec{}.Decode(answer, out)
}

func (local) Close() error { return nil }

func (local) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
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
