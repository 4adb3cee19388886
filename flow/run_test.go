package flow_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/expr"
	"github.com/everywire/everywire/schema"
)

// served is a file that serves a method by flows, as its trigger do.
func served(flows string) string { return servedAs("a.A/Do", flows) }

func servedAs(method, flows string) string {
	return `
name: served
settings: {place: here}
messages:
  a.Reply: {text: string = 1, n: optional int32 = 2}
methods:
  a.A/Do: {}
  a.A/Typed: {reply: a.Reply}
  b.B/Ask: {idempotency: unknown}
  b.B/Get: {idempotency: no-side-effects}
triggers:
  do: {on: 'rest://:1', method: ` + method + `, flow: main, limit: 1, with: {in: '${{ trigger.request }}'}}
flows:
` + strings.TrimPrefix(flows, "\n")
}

// asked is what a served method answers, in this process. The reply is as JSON.
func asked(ctx context.Context, t *testing.T, a *flow.App, method string, request any) (string, error) {
	t.Helper()
	reg, ok := a.Served("rest://:1")
	if !ok {
		t.Fatal("nothing is served on rest://:1")
	}
	m, ok := reg.Lookup("/" + method)
	if !ok {
		t.Fatalf("%s is not served", method)
	}
	reply, err := m.Unary(ctx, func(in any) error {
		in.(*schema.Document).Value = request
		return nil
	})
	if err != nil {
		return "", err
	}
	text, err := expr.AppendText(nil, plain(reply))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// plain is a reply as a document.
func plain(reply any) any {
	if d, ok := reply.(*schema.Document); ok {
		return d.Value
	}
	v := reflect.ValueOf(reply).Elem() // a.Reply
	object := map[string]any{"text": v.Field(1).String()}
	if n := v.Field(2); !n.IsNil() {
		object["n"] = n.Elem().Int()
	}
	return object
}

// echo answers with the method's name and the request, as fails says otherwise.
func echo(_ context.Context, method string, in, out reflect.Value) error {
	request := in.FieldByName("Value").Interface()
	out.FieldByName("Value").Set(reflect.ValueOf(map[string]any{"method": method, "got": request}))
	fails, _ := request.(map[string]any)
	switch what := fails["fail"].(type) {
	case string:
		for c := codes.OK; c <= codes.Unauthenticated; c++ {
			if c.String() == what {
				return status.Error(c, "secret: 10.0.0.7 is not what it was")
			}
		}
		panic(what)
	}
	return nil
}

// What steps do: the reply or the error of a served method, and what is logged.
func TestSteps(t *testing.T) {
	const ask = "invoke: {target: 'grpc://h:1', method: b.B/Ask, request: '${{ inputs.in }}'}"
	object := func(members ...any) map[string]any {
		o := map[string]any{}
		for i := 0; i < len(members); i += 2 {
			o[members[i].(string)] = members[i+1]
		}
		return o
	}
	for _, c := range []struct {
		name, flows, method string
		request             any
		want, err, logged   string
	}{
		{
			name: "no return is an empty reply", flows: `
  main: {inputs: {in: optional any}, steps: [{map: {}}]}`,
			want: `{}`,
		},
		{
			name: "values of each kind", flows: `
  main:
    inputs: {in: any}
    steps:
      - name: made
        map: {text: 'at ${{ settings.place }}', list: [1, '${{ inputs.in.n }}'], none: null, nested: {yes: true, half: 0.5}, whole: '${{ inputs.in }}'}
      - return: {reply: '${{ steps.made }}'}`,
			request: object("n", int64(7)),
			want:    `{"list":[1,7],"nested":{"half":0.5,"yes":true},"none":null,"text":"at here","whole":{"n":7}}`,
		},
		{
			name: "when, and a return that ends the flow", flows: `
  main:
    inputs: {in: any}
    steps:
      - when: inputs.in.n > 5
        return: {reply: many}
      - {name: skipped, when: inputs.in.n < 0, map: {x: 1}}
      - return: {reply: 'few ${{ steps.skipped.x }}'}
    `,
			request: object("n", int64(5)), want: `few null`,
		},
		{
			name: "a return with an error is the client's", flows: `
  main:
    inputs: {in: any}
    steps:
      - return: {error: {code: NOT_FOUND, message: 'no ${{ inputs.in }}'}}`,
			request: "Ada", err: "NotFound: no Ada",
		},
		{
			name: "a flow that is called: its reply, and its error with its message", flows: `
  main:
    inputs: {in: any}
    steps:
      - {name: one, flow: {name: other, with: {n: 1}}}
      - {flow: {name: other, with: {n: '${{ steps.one + inputs.in }}'}}}
  other:
    inputs: {n: int32}
    steps:
      - {when: inputs.n > 2, return: {error: {code: OUT_OF_RANGE, message: '${{ inputs.n }} is too much'}}}
      - {return: {reply: '${{ inputs.n + 1 }}'}}`,
			request: int64(1), err: "OutOfRange: 3 is too much",
		},
		{
			name: "steps beside each other", flows: `
  main:
    inputs: {in: any}
    steps:
      - parallel:
        - {name: a, map: 1}
        - {name: b, invoke: {target: 'grpc://h:1', method: b.B/Ask, request: {x: 2}}}
        - {log: {message: beside}}
      - return: {reply: {a: '${{ steps.a }}', b: '${{ steps.b.got.x }}'}}`,
			request: object(), want: `{"a":1,"b":2}`, logged: "level=INFO msg=beside flow=main step=log\n",
		},
		{
			name: "the first that fails ends those beside it", flows: `
  main:
    inputs: {in: any}
    steps:
      - parallel:
        - {name: a, map: '${{ 1 / inputs.in.zero }}'}
        - {name: b, invoke: {target: 'grpc://h:1', method: b.B/Ask, request: {wait: true}}}`,
			request: object("zero", int64(0)),
			err:     "Internal: the flow main failed in the step parallel",
			logged:  "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"parallel: a: f.yaml:18:33: a number is divided by 0\"\n",
		},
		{
			name: "an expression that fails: the place for the log, and no more than the step for the client", flows: `
  main:
    inputs: {in: any}
    steps:
      - name: made
        map:
          x: ${{ inputs.in.n + 1 }}`,
			request: object("n", "1"),
			err:     "Internal: the flow main failed in the step made",
			logged:  "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"made: f.yaml:19:30: + is for numbers, not for a text\"\n",
		},
		{
			name: "when that is no bool", flows: `
  main: {inputs: {in: any}, steps: [{when: inputs.in.n, map: {}}]}`,
			request: object("n", int64(1)),
			err:     "Internal: the flow main failed in the step map",
			logged:  "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"map: f.yaml:14:44: \\\"when\\\" is a bool, not 1\"\n",
		},
		{
			name: "an input of another type", flows: `
  main: {inputs: {in: int32}, steps: [{map: {}}]}`,
			request: "x", err: "InvalidArgument: the input in: an integer is needed, not a text",
		},
		{
			name: "an input that is not there", flows: `
  main: {inputs: {in: int32}, steps: [{map: {}}]}`,
			err: "InvalidArgument: the input in is missing",
		},
		{
			name: "an input out of range", flows: `
  main: {inputs: {in: int32}, steps: [{map: {}}]}`,
			request: int64(1 << 31), err: "InvalidArgument: the input in: 2147483648 is out of range: int32 is from -2147483648 to 2147483647",
		},
		{
			name: "a whole number that was written as another", flows: `
  main: {inputs: {in: int32}, steps: [{return: {reply: '${{ inputs.in + 1 }}'}}]}`,
			request: 3.0, want: "4",
		},
		{
			name: "a flow's wrong input is the caller's fault, not the client's", flows: `
  main: {inputs: {in: any}, steps: [{flow: {name: other, with: {n: '${{ inputs.in }}'}}}]}
  other: {inputs: {n: int32}, steps: [{map: {}}]}`,
			request: "x", err: "Internal: the flow main failed in the step flow",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"flow: the input n: an integer is needed, not a text\"\n",
		},
		{
			name: "a typed reply", method: "a.A/Typed", flows: `
  main: {inputs: {in: any}, steps: [{return: {reply: {text: '${{ inputs.in }}', n: 7}}}]}`,
			request: "t", want: `{"n":7,"text":"t"}`,
		},
		{
			name: "a reply that does not fit", method: "a.A/Typed", flows: `
  main: {inputs: {in: any}, steps: [{return: {reply: {text: '${{ inputs.in }}'}}}]}`,
			request: int64(1), err: "Internal: the flow main failed",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"the reply does not fit a.A/Typed: text: a text is needed, not an integer\"\n",
		},
		{
			name: "a reply with another field", method: "a.A/Typed", flows: `
  main: {inputs: {in: any}, steps: [{return: {reply: '${{ inputs.in }}'}}]}`,
			request: object("texd", "t"), err: "Internal: the flow main failed",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"the reply does not fit a.A/Typed: a.Reply has no field \\\"texd\\\"\"\n",
		},
		{
			name: "log", flows: `
  main:
    inputs: {in: any}
    steps:
      - log: {message: '${{ inputs.in }}', level: debug, fields: {n: '${{ inputs.in.n }}', all: '${{ inputs.in }}', place: '${{ settings.place }}'}}
      - {name: warned, log: {message: 'n is ${{ inputs.in.n }}', level: warn}}
      - {log: {message: bad, level: error}}`,
			request: object("n", int64(7)), want: `{}`,
			logged: "level=DEBUG msg=\"{\\\"n\\\":7}\" flow=main step=log n=7 all=\"{\\\"n\\\":7}\" place=here\nlevel=WARN msg=\"n is 7\" flow=main step=warned\nlevel=ERROR msg=bad flow=main step=log_2\n",
		},
		{
			name: "a call that is answered", flows: `
  main: {inputs: {in: any}, steps: [{name: ask, ` + ask + `}, {return: {reply: '${{ steps.ask }}'}}]}`,
			request: object("x", int64(1)), want: `{"got":{"x":1},"method":"/b.B/Ask"}`,
		},
		{
			name: "what is called knows better what was asked", flows: `
  main: {inputs: {in: any}, steps: [{name: ask, ` + ask + `}]}`,
			request: object("fail", "NotFound"), err: "NotFound: the flow main failed in the step ask: NOT_FOUND",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"ask: rpc error: code = NotFound desc = secret: 10.0.0.7 is not what it was\"\n",
		},
		{
			name: "what is called is down", flows: `
  main: {inputs: {in: any}, steps: [{name: ask, ` + ask + `}]}`,
			request: object("fail", "Unavailable"), err: "Unavailable: the flow main failed in the step ask: UNAVAILABLE",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"ask: rpc error: code = Unavailable desc = secret: 10.0.0.7 is not what it was\"\n",
		},
		{
			name: "what is called does not know the flow", flows: `
  main: {inputs: {in: any}, steps: [{name: ask, ` + ask + `}]}`,
			request: object("fail", "Unauthenticated"), err: "Internal: the flow main failed in the step ask: INTERNAL",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"ask: rpc error: code = Unauthenticated desc = secret: 10.0.0.7 is not what it was\"\n",
		},
		{
			name: "flow's timeout", flows: `
  main: {timeout: 50ms, inputs: {in: any}, steps: [{` + ask + `}, {map: {}}]}`,
			request: object("sleep", true), err: "DeadlineExceeded: the flow main had not ended after 50ms",
		},
		{
			name: "a call's deadline", flows: `
  main: {inputs: {in: any}, steps: [{name: ask, invoke: {target: 'grpc://h:1', method: b.B/Ask, deadline: 20ms, request: {wait: true}}}]}`,
			request: object(), err: "DeadlineExceeded: the flow main failed in the step ask: DEADLINE_EXCEEDED",
			logged: "level=ERROR msg=\"a run failed\" flow=main trigger=do error=\"ask: rpc error: code = DeadlineExceeded desc = context deadline exceeded\"\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := &fakeConn{answer: func(ctx context.Context, method string, in, out reflect.Value) error {
					request, _ := in.FieldByName("Value").Interface().(map[string]any)
					if request["wait"] != nil {
						<-ctx.Done()
						return status.FromContextError(ctx.Err()).Err()
					}
					if request["sleep"] != nil {
						time.Sleep(100 * time.Millisecond)
					}
					return echo(ctx, method, in, out)
				}}
				logger, logged := logText()
				method := c.method
				if method == "" {
					method = "a.A/Do"
				}
				a := made(t, servedAs(method, c.flows), flow.Options{Dial: conn.dial, Serve: neverServed, Logger: logger})
				if err := a.Connect(); err != nil {
					t.Fatal(err)
				}
				defer a.Close()
				got, err := asked(t.Context(), t, a, method, c.request)
				said := ""
				if err != nil {
					said = status.Code(err).String() + ": " + status.Convert(err).Message()
				}
				if got != c.want || said != c.err {
					t.Errorf("got %s, %q\nwant %s, %q", got, said, c.want, c.err)
				}
				if logged.String() != c.logged {
					t.Errorf("logged %q\nwant   %q", logged.String(), c.logged)
				}
			})
		})
	}
}

// A run that panics is an error of the run, and of nothing else.
func TestPanic(t *testing.T) {
	for _, parallel := range []bool{false, true} {
		t.Run(fmt.Sprintf("parallel=%v", parallel), func(t *testing.T) {
			step := "{name: ask, invoke: {target: 'grpc://h:1', method: b.B/Ask}}"
			if parallel {
				step = "{parallel: [" + step + "]}"
			}
			conn := &fakeConn{answer: func(context.Context, string, reflect.Value, reflect.Value) error { panic("told to") }}
			logger, logged := logText()
			a := made(t, served("  main: {inputs: {in: optional any}, steps: ["+step+"]}"), flow.Options{Dial: conn.dial, Serve: neverServed, Logger: logger})
			if err := a.Connect(); err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			for range 2 { // the limit of one run is free again
				if _, err := asked(t.Context(), t, a, "a.A/Do", nil); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "told to") {
					t.Errorf("the client is told %v", err)
				}
			}
			if !strings.Contains(logged.String(), `panic="told to"`) || !strings.Contains(logged.String(), "run_test.go") {
				t.Errorf("the log has neither the panic nor its stack: %s", logged)
			}
		})
	}
}

// No more runs are under way than the trigger's limit, and a client that goes ends
// its run.
func TestLimitAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &fakeConn{answer: func(ctx context.Context, _ string, _, _ reflect.Value) error {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}}
		logger, logged := logText()
		a := made(t, served("  main: {inputs: {in: optional any}, steps: [{invoke: {target: 'grpc://h:1', method: b.B/Ask}}]}"),
			flow.Options{Dial: conn.dial, Serve: neverServed, Logger: logger})
		if err := a.Connect(); err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() {
			_, err := asked(ctx, t, a, "a.A/Do", nil)
			first <- err
		}()
		synctest.Wait()
		if _, err := asked(t.Context(), t, a, "a.A/Do", nil); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("beyond the limit: %v", err)
		}
		cancel()
		if err := <-first; status.Code(err) != codes.Canceled {
			t.Errorf("canceled: %v", err)
		}
		if logged.String() != "" {
			t.Errorf("logged %s", logged)
		}
	})
}

// Calls are made again by package resilience's rules, and carry metadata and a deadline.
func TestRetryAndMetadata(t *testing.T) {
	for _, c := range []struct {
		method, retry string
		code          codes.Code
		calls         int
	}{
		{"b.B/Get", "{attempts: 3, backoff: 1ms}", codes.Unavailable, 3},
		{"b.B/Ask", "{attempts: 3, backoff: 1ms}", codes.Unavailable, 1}, // it may have run, and nothing says that it may run twice
		{"b.B/Get", "{attempts: 3, backoff: 1ms}", codes.NotFound, 1},
		{"b.B/Get", "{attempts: 3, backoff: 1ms, codes: [NOT_FOUND]}", codes.NotFound, 3},
		{"b.B/Get", "{attempts: 1}", codes.Unavailable, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			conn := &fakeConn{answer: func(ctx context.Context, method string, _, _ reflect.Value) error {
				calls++
				md, _ := metadata.FromOutgoingContext(ctx)
				if method != "/"+c.method || fmt.Sprint(md.Get("x-n")) != "[7]" || fmt.Sprint(md.Get("x-place")) != "[here]" {
					t.Errorf("%s was called with %v", method, md)
				}
				if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 2*time.Second {
					t.Errorf("the deadline is %v", deadline)
				}
				return status.Error(c.code, "told to")
			}}
			a := made(t, served(fmt.Sprintf(`
  main:
    inputs: {in: optional any}
    steps:
      - invoke:
          target: grpc://h:1
          method: %s
          metadata: {x-n: '${{ inputs.in.n }}', x-place: '${{ settings.place }}'}
          deadline: 2s
          retry: %s`, c.method, c.retry)), flow.Options{Dial: conn.dial, Serve: neverServed})
			if err := a.Connect(); err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if _, err := asked(t.Context(), t, a, "a.A/Do", map[string]any{"n": int64(7)}); status.Code(err) != c.code {
				t.Errorf("%v: %v", c, err)
			}
			if calls != c.calls {
				t.Errorf("%v: %d calls were made", c, calls)
			}
		})
	}
}

// An app that cannot be made, or not be run, says why, and leaves nothing open.
func TestNotRun(t *testing.T) {
	client := timed("every: 1s, count: 1", "")
	server := served("  main: {inputs: {in: optional any}, steps: [{map: {}}]}")
	for text, want := range map[string]string{
		client: "flow: the file invokes methods, and Options.Dial is nil",
		server: "flow: the file serves methods, and Options.Serve is nil",
	} {
		if _, err := flow.New(parsed(t, text), flow.Options{}); fmt.Sprint(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	bad, _ := flow.Parse("bad.yaml", []byte("name: x"))
	if _, err := flow.New(bad, flow.Options{}); fmt.Sprint(err) != "bad.yaml has errors: it cannot be run" {
		t.Error(err)
	}
	route := parsed(t, strings.Replace(server, "{reply: a.Reply}", "{reply: a.Reply, route: 'GET /x/{nope}'}", 1))
	var errs flow.Errors
	_, err := flow.New(route, flow.Options{Serve: neverServed, Route: func(method *everywire.Registry) error {
		if all := method.Methods(); len(all) != 1 || all[0].Routes[0].Pattern != "/x/{nope}" {
			t.Errorf("asked about %v", all)
		}
		return errors.New("there is no nope")
	}})
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Error() != "f.yaml:8:38: there is no nope" {
		t.Errorf("a route with a field that the message lacks: %v", err)
	}

	conn := taking(always(0))
	a := made(t, client, flow.Options{Dial: conn.dial})
	if err := a.Fire(t.Context(), "tick"); fmt.Sprint(err) != "invoke: flow: the app is not connected: call Connect first" {
		t.Error(err)
	}
	if err := a.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if err := a.Run(t.Context()); fmt.Sprint(err) != "flow: an App runs once" {
		t.Error(err)
	}
	if err := a.Connect(); fmt.Sprint(err) != "flow: an App runs or connects once" {
		t.Error(err)
	}
	if conn.closed != 1 {
		t.Errorf("the connection was closed %d times", conn.closed)
	}
}
