package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/wire"
)

// every kind of field that a file can declare, with a flow that answers with what it
// was asked.
const kinds = `
name: kinds
messages:
  a.Inner: {text: string = 1, n: optional int32 = 2}
  a.All:
    flag: bool = 1
    i32: int32 = 2
    i64: int64 = 3
    u32: uint32 = 4
    u64: uint64 = 5
    f: float = 6
    d: double = 7
    s: string = 8
    b: bytes = 9
    at: timestamp = 10
    wait: duration = 11
    any: any = 12
    inner: a.Inner = 13
    maybe: optional bool = 14
    raw: optional bytes = 15
    tags: repeated string = 16
    inners: repeated a.Inner = 17
    sizes: map<string, int64> = 18
    by: map<string, a.Inner> = 19
    empty: optional int32 = 20
methods:
  a.A/Echo: {request: a.All, reply: a.All}
triggers:
  echo: {on: 'TARGET', method: a.A/Echo, flow: echo, with: {all: '${{ trigger.request }}'}}
flows:
  echo:
    inputs: {all: a.All}
    steps:
      - {return: {reply: '${{ inputs.all }}'}}
`

// Values keep what they are on their way through a flow, on every wire.
func TestKindsOnEveryWire(t *testing.T) {
	request := map[string]any{
		"flag": true, "i32": -5, "i64": int64(-9007199254740993), "u32": uint32(4294967295), "u64": uint64(18446744073709551615),
		"f": 0.5, "d": 0.1, "s": "Grüße", "b": "AP8=", "at": "2026-03-04T11:00:00.5Z", "wait": "1.500s", "any": map[string]any{"x": []any{"y"}},
		"inner": map[string]any{"text": "t", "n": 0}, "maybe": false, "raw": "", "tags": []any{"a", "", "c"}, "inners": []any{map[string]any{"text": "u"}},
		"sizes": map[string]any{"a": int64(1 << 60)}, "by": map[string]any{"k": map[string]any{"text": "v", "n": 3}},
	}
	for _, shape := range []string{"rest://", "grpc://", "connect://", "jsonrpc+tcp://", "msgpackrpc+tcp://"} {
		t.Run(shape, func(t *testing.T) {
			started := make(chan string, 1)
			a := made(t, strings.Replace(kinds, "TARGET", shape+"127.0.0.1:0", 1), flow.Options{
				Serve: func(ctx context.Context, methods *everywire.Registry, target string) (flow.Server, error) {
					s, err := wire.Serve(ctx, methods, []string{target})
					if err != nil {
						return nil, err
					}
					started <- s.Targets()[0].String()
					return server{s}, nil
				},
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- a.Run(ctx) }()
			target := <-started
			// The other end is a flow as well: its request is an object, its reply is read
			// as the message.
			logger, logged := logText()
			client := made(t, clientOf(target, request), flow.Options{Logger: logger, Dial: func(target string, methods *everywire.Registry) (flow.Conn, error) {
				return wire.Dial(target, wire.WithMethods(methods))
			}})
			if err := client.Run(t.Context()); err != nil {
				t.Error(err)
			}
			const want = `{"any":{"x":["y"]},"at":"2026-03-04T11:00:00.5Z","b":"w6k=","by":{"k":{"n":3,"text":"v"}},"d":0.1,"empty":null,"f":0.5,"flag":true,` +
				`"i32":-5,"i64":-9007199254740993,"inner":{"n":0,"text":"t"},"inners":[{"n":null,"text":"u"}],"maybe":false,"raw":"","s":"Grüße",` +
				`"sizes":{"a":1152921504606846976},"tags":["a","","c"],"u32":4294967295,"u64":18446744073709551615,"wait":"1.5s"}`
			got := strings.ReplaceAll(logged.String(), `\"`, `"`)
			if diff := cmp.Diff(`level=INFO msg="`+want+"\" flow=ask step=log\n", got); diff != "" {
				t.Errorf("- want, + got:\n%s", diff)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// clientOf is a file that asks once.
func clientOf(target string, request map[string]any) string {
	var b strings.Builder
	types, _, _ := strings.Cut(kinds, "triggers:")
	b.WriteString(types)
	fmt.Fprintf(&b, `
triggers: {tick: {timer: {every: 1s, count: 1}, flow: ask}}
flows:
  ask:
    steps:
      - name: ask
        invoke:
          target: %s
          method: a.A/Echo
          request:
`, target)
	for name, v := range request {
		switch name {
		case "b":
			fmt.Fprintf(&b, "            b: ${{ bytes('é') }}\n")
		case "raw":
			b.WriteString("            raw: ${{ bytes('') }}\n")
		default:
			fmt.Fprintf(&b, "            %s: %s\n", name, yaml(v))
		}
	}
	b.WriteString("      - log: {message: '${{ json(steps.ask) }}'}\n")
	return b.String()
}

// yaml is a value in YAML's flow style.
func yaml(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		var items []string
		for _, x := range v {
			items = append(items, yaml(x))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var members []string
		for name, x := range v {
			members = append(members, name+": "+yaml(x))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	return fmt.Sprint(v)
}

// What a value cannot be is told when a run finds it, with the member that it is of.
func TestValuesThatDoNotFit(t *testing.T) {
	types, _, _ := strings.Cut(kinds, "triggers:")
	text := types + `
  b.B/Do: {}
triggers: {do: {on: 'rest://:1', method: b.B/Do, flow: take, with: {all: '${{ trigger.request }}'}}}
flows: {take: {inputs: {all: a.All}, steps: [{return: {reply: '${{ inputs.all.s }}'}}]}}
`
	a := made(t, text, flow.Options{Serve: neverServed})
	for _, c := range []struct {
		request any
		want    string
	}{
		{"x", "the message a.All is needed, not a text"},
		{map[string]any{"nope": 1}, `a.All has no field "nope"`},
		{map[string]any{"flag": "true"}, "flag: a bool is needed, not a text"},
		{map[string]any{"i32": int64(1 << 31)}, "i32: 2147483648 is out of range: int32 is from -2147483648 to 2147483647"},
		{map[string]any{"i32": 1.5}, "i32: an integer is needed, not a number"},
		{map[string]any{"u64": int64(-1)}, "u64: -1 is out of range: uint64 is from 0 to 18446744073709551615"},
		{map[string]any{"f": 1e300}, "f: 1e+300 is out of range: a float is up to 3.4028234663852886e+38"},
		{map[string]any{"d": "1"}, "d: a number is needed, not a text"},
		{map[string]any{"b": "AP8="}, "b: bytes are needed, not a text"},
		{map[string]any{"at": "noon"}, "at: a time is needed, not a text"},
		{map[string]any{"wait": int64(5)}, "wait: a duration is needed, not an integer"},
		{map[string]any{"tags": "a"}, "tags: a list is needed, not a text"},
		{map[string]any{"tags": []any{"a", nil}}, "tags: element 1: a text is needed, not null"},
		{map[string]any{"sizes": []any{}}, "sizes: an object is needed, not a list"},
		{map[string]any{"sizes": map[string]any{"a": "b"}}, `sizes: member "a": an integer is needed, not a text`},
		{map[string]any{"inner": map[string]any{"n": true}}, "inner: n: an integer is needed, not a bool"},
		{map[string]any{"inners": []any{map[string]any{"x": 1}}}, `inners: element 0: a.Inner has no field "x"`},
		{map[string]any{strings.Repeat("x", 500): 1}, `a.All has no field "` + strings.Repeat("x", 60) + `…"`},
	} {
		_, err := asked(t.Context(), t, a, "b.B/Do", c.request)
		if want := "rpc error: code = InvalidArgument desc = the input all: " + c.want; fmt.Sprint(err) != want {
			t.Errorf("%v: %v\nwant %s", c.request, err, want)
		}
	}
	if got, err := asked(t.Context(), t, a, "b.B/Do", map[string]any{"s": "fits", "u64": uint64(1 << 63), "i32": 3.0, "at": "2026-03-04T11:00:00Z", "wait": "5s", "inner": nil}); err != nil || got != "fits" {
		t.Errorf("%s, %v", got, err)
	}
}

// Targets are looked at by who knows them, and errors stand where the targets do.
func TestCheck(t *testing.T) {
	text := `
name: x
settings: {where: nowhere}
methods: {a.B/C: {}}
triggers:
  s: {on: 'soap://:1', method: a.B/C, flow: f}
flows:
  f:
    steps:
      - parallel:
        - invoke: {target: 'grpc://${{ settings.where }}:1', method: a.B/C}
      - invoke: {target: 'rest://good:1', method: a.B/C}
`
	var asked []string
	check := func(target string, server bool) error {
		asked = append(asked, fmt.Sprint(target, server))
		if strings.Contains(target, "good") {
			return nil
		}
		return errors.New("it is " + target)
	}
	err := flow.Check(parsed(t, text, flow.Assignment{Name: "where", Value: "there"}), check)
	const want = `f.yaml:6:11: it is soap://:1
      s: {on: 'soap://:1', method: a.B/C, flow: f}
              ^
f.yaml:11:28: it is grpc://there:1
            - invoke: {target: 'grpc://${{ settings.where }}:1', method: a.B/C}
                               ^
`
	if got := asErrors(t, err).Detail(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(asked) != 3 {
		t.Errorf("asked for %v", asked)
	}
	if err := flow.Check(parsed(t, text), func(string, bool) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Settings take other values of their types, from outside.
func TestSettings(t *testing.T) {
	const text = "name: x\nsettings: {s: a, n: 1, f: 0.5, b: false}\n" +
		"triggers: {t: {timer: {every: 1s, count: '${{ settings.n }}'}, flow: f}}\nflows: {f: {steps: [{log: {message: m}}]}}\n"
	file := parsed(t, text, flow.Assignment{Name: "s", Value: "7"}, flow.Assignment{Name: "n", Value: "7"}, flow.Assignment{Name: "f", Value: "2"}, flow.Assignment{Name: "b", Value: "true"})
	var got []any
	for _, s := range file.Settings {
		got = append(got, s.Value)
	}
	if want := []any{"7", int64(7), 2.0, true}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := file.Triggers[0].Timer.Count; n != 7 {
		t.Errorf("the timer has %d ticks", n)
	}
	for set, want := range map[flow.Assignment]string{
		{Name: "n", Value: "x"}:   `f.yaml:2:18: the setting n is an integer, which "x" is not`,
		{Name: "f", Value: "NaN"}: `f.yaml:2:24: the setting f is a number, which "NaN" is not`,
		{Name: "b", Value: "yes"}: `f.yaml:2:32: the setting b is a bool, which "yes" is not`,
		{Name: "m", Value: "1"}:   `f.yaml:1:1: the file has no setting "m" (allowed: s, n, f, b)`,
		{Name: "n", Value: "0"}:   `f.yaml:3:42: "count" is a whole number from 1 to 2147483647, not 0`,
	} {
		_, err := flow.Parse("f.yaml", []byte(text), set)
		if errs := asErrors(t, err); len(errs) != 1 || errs[0].Error() != want {
			t.Errorf("%v: %v\nwant %s", set, err, want)
		}
	}
}
