package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
)

// The streams of sourcegraph's jsonrpc2, and what they are called in our
// targets. The plain one writes lines.
var sourcegraphStreams = []struct {
	name, option string
	stream       func(net.Conn) jsonrpc2.ObjectStream
}{
	{"plain", "line", func(c net.Conn) jsonrpc2.ObjectStream { return jsonrpc2.NewPlainObjectStream(c) }},
	{"vscode", "header", func(c net.Conn) jsonrpc2.ObjectStream {
		return jsonrpc2.NewBufferedStream(c, jsonrpc2.VSCodeObjectCodec{})
	}},
}

func TestSourcegraphClient(t *testing.T) {
	nothing := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
		t.Errorf("the server called %s", r.Method)
		return nil, nil
	})
	for _, test := range sourcegraphStreams {
		t.Run(test.name, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				s := newService()
				addr := via(s.serve(t, "jsonrpc+tcp://127.0.0.1:0"))
				client := jsonrpc2.NewConn(context.Background(), test.stream(connect(t, addr)), nothing)
				defer func() {
					if err := client.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				}()
				checkClient(t, s, &goClient{
					call: func(ctx context.Context, method string, params, result any) error {
						return client.Call(ctx, method, params, result)
					},
					notify: func(ctx context.Context, method string, params any) error { return client.Notify(ctx, method, params) },
					failure: func(err error) (code int64, message, data string) {
						var e *jsonrpc2.Error
						if !errors.As(err, &e) {
							return 0, err.Error(), ""
						}
						if e.Data != nil {
							data = string(*e.Data)
						}
						return e.Code, e.Message, data
					},
				})
				var sum int
				if err := client.Call(testContext(t), "sum", []int{1, 2}, &sum, jsonrpc2.PickID(jsonrpc2.ID{Str: "ü", IsString: true})); err != nil || sum != 3 {
					t.Errorf("an id that is a text: %d, %v", sum, err)
				}
			})
		})
	}
}

func TestSourcegraphServer(t *testing.T) {
	for _, test := range sourcegraphStreams {
		t.Run(test.name, func(t *testing.T) {
			wholeAndCut(t, func(t *testing.T, via func(string) string) {
				addr := listen(t, func(conn net.Conn) {
					m := new(goMethods)
					handle := jsonrpc2.HandlerWithError(func(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) (any, error) {
						return sourcegraphMethod(m, r)
					})
					// Notifications must be noted before the call behind them.
					server := jsonrpc2.NewConn(context.Background(), test.stream(conn), meetAsync{handle})
					<-server.DisconnectNotify()
				})
				checkServer(t, newService().dial(t, "jsonrpc+tcp://%s?framing=%s", via(addr), test.option))
			})
		})
	}
}

// meetAsync runs calls of meet side by side, and others in order.
type meetAsync struct{ jsonrpc2.Handler }

func (h meetAsync) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	if r.Method == "meet" {
		go h.Handler.Handle(ctx, conn, r)
		return
	}
	h.Handler.Handle(ctx, conn, r)
}

func sourcegraphMethod(m *goMethods, r *jsonrpc2.Request) (any, error) {
	var numbers []int64
	var texts []string
	var params []any
	switch r.Method {
	case "sum", "subtract", "meet":
		if err := json.Unmarshal(*r.Params, &numbers); err != nil {
			return nil, err
		}
	case "same", "note":
		if err := json.Unmarshal(*r.Params, &texts); err != nil {
			return nil, err
		}
	case "fail":
		if err := json.Unmarshal(*r.Params, &params); err != nil {
			return nil, err
		}
	}
	switch r.Method {
	case "sum":
		var total int64
		for _, n := range numbers {
			total += n
		}
		return total, nil
	case "subtract":
		return numbers[0] - numbers[1], nil
	case "meet":
		return m.meet(numbers[0]), nil
	case "same":
		return texts[0], nil
	case "note":
		m.note(texts[0])
		return nil, nil
	case "noted":
		return m.notes(), nil
	case "fail":
		data := json.RawMessage(`{"why":"because"}`)
		return nil, &jsonrpc2.Error{Code: int64(params[0].(float64)), Message: params[1].(string), Data: &data}
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "no such method"}
}
