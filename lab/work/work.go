// Package work is what a plan has called: the service, for its server; the requests
// and the replies that are right, for its callers. Both ends make theirs from the
// same plan and payload.
package work

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	ourjson "github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/infer"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/relay"
	"github.com/everywire/everywire/service/sample"
)

// Work is the work of one plan.
type Work struct {
	Plan *plan.Plan
	// Load is what callers do, see [Work.Client].
	Load load.Workload
	// Register adds the service.
	Register func(*everywire.Registry)
	// Type is the type of echo's messages if they are typed, else nil.
	Type reflect.Type
	// Messages are those that callers send, if they are always the same: pointers.
	Messages []any
	// Backend is what the service calls, nil if it calls nothing. Upstream is the
	// connection to it, which is set before the service is registered.
	Backend  *Work
	Upstream grpc.ClientConnInterface

	seen *seen // nil if calls are not watched
	// registry has the service if it cannot be registered elsewhere.
	registry *everywire.Registry
	// client makes what Client returns, if that is more than Load by the connection.
	client func(plan.Arm, Conn) (*Client, error)
}

// A Conn is a connection that can be closed.
type Conn interface {
	grpc.ClientConnInterface
	io.Closer
}

// A Client is what the callers of an arm do, and by which connection.
type Client struct {
	Conn grpc.ClientConnInterface
	Load load.Workload
	// Close closes the connection.
	Close func() error
}

// Client makes the client of an arm, from a connection to the arm's server. It may be
// called for each of many connections.
func (w *Work) Client(arm plan.Arm, conn Conn) (*Client, error) {
	switch {
	case arm.Kind == plan.Ping:
		return &Client{conn, load.Ping(), conn.Close}, nil
	case w.client != nil:
		return w.client(arm, conn)
	}
	return &Client{conn, w.Load, conn.Close}, nil
}

// Services are the services that plans may have.
func Services() []string { return []string{"arith", "auth", "echo", "hello", "kv", "relay"} }

// Of makes the work of a plan. The payload is the JSON text of a list of documents, or
// nil for services that need none.
func Of(p *plan.Plan, payload []byte) (*Work, error) {
	w := &Work{Plan: p}
	switch p.Service {
	case "arith":
		w.Load, w.Register = load.Sum(), arith.Register
	case "auth":
		return w, w.auth()
	case "hello":
		return w, w.hello()
	case "echo":
		docs, err := documents(payload)
		if err != nil {
			return nil, err
		}
		if p.Payload != nil && p.Payload.Typed {
			return w, w.typed(docs)
		}
		for _, doc := range docs {
			w.Messages = append(w.Messages, &everywire.Document{Value: doc})
		}
		w.Load, w.Register = load.Echo(w.Messages...), echo.Register
	case "kv":
		store := kv.New(kv.Options{ReadDelay: p.ReadDelay, WriteDelay: p.WriteDelay})
		w.Load, w.Register = load.KV(load.KVMix{}), store.Register
	case "relay":
		w.Backend = &Work{Plan: p, seen: new(seen)}
		w.Backend.Register = func(reg *everywire.Registry) { sample.Register(reg, sample.Options{Delay: p.Delay}) }
		w.Load = load.Relay()
		w.Register = func(reg *everywire.Registry) { relay.Register(reg, w.Upstream, relay.Options{}) }
	default:
		return nil, fmt.Errorf("no workload for service %q", p.Service)
	}
	return w, nil
}

// documents are the elements of the payload.
func documents(payload []byte) ([]any, error) {
	all := new(schema.Document)
	if err := (ourjson.Codec{}).Decode(payload, all); err != nil {
		return nil, fmt.Errorf("the payload: %w", err)
	}
	docs, ok := all.Value.([]any)
	if !ok || len(docs) == 0 {
		return nil, fmt.Errorf("the payload is no list of documents")
	}
	return docs, nil
}

// typed makes the work of echo on messages of the documents' own type.
func (w *Work) typed(docs []any) error {
	inferred, err := infer.From(docs...)
	if err != nil {
		return err
	}
	for _, doc := range docs {
		if inferred.Wrapped {
			doc = map[string]any{"value": doc}
		}
		text, err := ourjson.Codec{}.Append(nil, &schema.Document{Value: doc})
		if err != nil {
			return fmt.Errorf("the payload: %w", err)
		}
		message := reflect.New(inferred.Type).Interface()
		if err := (ourjson.Codec{}).Decode(text, message); err != nil {
			return fmt.Errorf("the payload, as %v: %w", inferred.Type, err)
		}
		w.Messages = append(w.Messages, message)
	}
	w.Type = inferred.Type
	w.Load = load.Echo(w.Messages...)
	w.Register = func(reg *everywire.Registry) { echo.RegisterType(reg, inferred.Type) }
	return nil
}

// Payload joins the texts of documents to the payload of a plan.
func Payload(texts [][]byte) ([]byte, error) {
	list := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return json.Marshal(list)
}
