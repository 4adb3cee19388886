package msgpackrpc_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	v2   = "\xa7jsonrpc\xa32.0"
	idIs = "\xa2id"
)

// request is a map of JSON-RPC with the members in the order of the
// specification's examples. params is "" if absent.
func request(method, params, id string) string {
	head, rest := "\x83", ""
	if params != "" {
		head, rest = "\x84", "\xa6params"+params
	}
	return head + v2 + "\xa6method" + str(method) + rest + idIs + id
}

func notification(method, params string) string {
	return "\x83" + v2 + "\xa6method" + str(method) + "\xa6params" + params
}

func str(s string) string { return string(msgpack.AppendString(nil, s)) }

// result is a whole response, byte for byte.
func result(value, id string) string { return "\x83" + v2 + "\xa6result" + value + idIs + id }

func failure(number int, message string, id any) any {
	return map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": int64(number), "message": message}, "id": id}
}

func (p *foreign) wantRaw(want string) {
	p.t.Helper()
	if got := p.receiveRaw(); string(got) != want {
		p.t.Errorf("got  % x\nwant % x", got, want)
	}
}

// The id comes back byte for byte, whatever it is and however it is written.
func TestObjectIDs(t *testing.T) {
	p := newFixture(t).foreign(t)
	for _, id := range []string{
		"\x00", "\x01", "\xff", "\xe0", "\xcc\x01", "\xcd\x00\x01", "\xce\x00\x00\x00\x01", "\xce\xff\xff\xff\xff",
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "\xd0\x01", "\xd1\xff\x7f", "\xd2\x80\x00\x00\x00", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00",
		"\xca\x3f\xc0\x00\x00", "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01", "\xc0",
		"\xa0", "\xa1a", "\xd9\x01a", "\xda\x00\x01a", "\xdb\x00\x00\x00\x01a", "\xc4\x01a", "\xa3\xe2\x82\xac",
	} {
		p.send(request("add", "\x92\x14\x15", id))
		p.wantRaw(result("\x29", id))
	}
}

func TestObjectForms(t *testing.T) {
	f := newFixture(t)
	reply := func(v any) any { return map[string]any{"jsonrpc": "2.0", "result": v, "id": int64(1)} }
	sum := func(n int64) any { return reply(map[string]any{"sum": n}) }
	full := func(numbers []any, text string) any { return reply(map[string]any{"numbers": numbers, "text": text}) }
	none := []any{}
	for _, tt := range []struct {
		name, sent string
		want       any
	}{
		// As the playground's client sends it.
		{"playground", "\x84" + v2 + "\xa6method\xa3add\xa6params\x92\x14\x15" + idIs + "\x01", reply(int64(41))},
		{"members in another order", "\x84" + idIs + "\x01\xa6params\x92\x14\x15\xa6method\xa3add" + v2, reply(int64(41))},
		{"wide map", "\xde\x00\x04" + v2 + "\xa6method\xa3add\xa6params\x92\x14\x15" + idIs + "\x01", reply(int64(41))},
		{"widest map", "\xdf\x00\x00\x00\x04" + v2 + "\xa6method\xa3add\xa6params\x92\x14\x15" + idIs + "\x01", reply(int64(41))},
		{"strings as bin", "\x84\xc4\x07jsonrpc\xc4\x032.0\xc4\x06method\xc4\x03add\xc4\x06params\x92\x14\x15\xc4\x02id\x01", reply(int64(41))},
		{"unknown members", "\x86" + v2 + "\xa6method\xa3add\xa6params\x92\x14\x15" + idIs + "\x01\x05\x06\xa5other\x91\xc0", reply(int64(41))},

		{"full name, named params", request("arith.Arith/Add", "\x81\xa7numbers\x92\x14\x15", "\x01"), sum(41)},
		{"full name, list", request("arith.Arith/Add", "\x92\x14\x15", "\x01"), sum(41)},
		{"path", request("/arith.Arith/Add", "\x92\x14\x15", "\x01"), sum(41)},
		{"short name, named params", request("add", "\x81\xa7numbers\x92\x14\x15", "\x01"), reply(int64(41))},
		{"no params", request("add", "", "\x01"), reply(int64(0))},
		{"nil params", request("add", "\xc0", "\x01"), reply(int64(0))},
		{"empty array", request("add", "\x90", "\x01"), reply(int64(0))},
		{"empty map", request("add", "\x80", "\x01"), reply(int64(0))},
		{"negative numbers", request("add", "\x93\xd1\xff\x7f\xe0\xd0\x80", "\x01"), reply(int64(-289))},
		{"in order", request("order", "\x92\x92\x01\x02\xa1x", "\x01"), full([]any{int64(1), int64(2)}, "x")},
		{"in order, fewer", request("order", "\x91\x92\x01\x02", "\x01"), full([]any{int64(1), int64(2)}, "")},
		{"in order, more", request("order", "\x93\x90\xa1x\x01", "\x01"), failure(-32602, "more params than the 2 that the method takes", int64(1))},
		{"scalar", request("say", "\x91\xa2hi", "\x01"), reply("hi")},
		{"scalar, two", request("say", "\x92\xa2hi\xa2ho", "\x01"), failure(-32602, "params must be an array of one element, not 2", int64(1))},
		{"object", request("same", "\x91\x81\xa4text\xa1x", "\x01"), full(none, "x")},
		{"object that is none", request("same", "\x91\x01", "\x01"), failure(-32602, "the element of params must be a map, not an integer", int64(1))},
		{"list where names are needed", request("sum", "\x91\x01", "\x01"), failure(-32602, "named params are needed, that is a map; the method declares no order for an array", int64(1))},
		{"a value", request("arith.Arith/Echo", "\x91\x05", "\x01"), reply(int64(5))},
		{"a value that is a map", request("arith.Arith/Echo", "\x81\xa1a\x05", "\x01"), reply(map[string]any{"a": int64(5)})},
		{"a value that is missing", request("arith.Arith/Echo", "", "\x01"), failure(-32602, "params are missing; the value goes into an array of one", int64(1))},

		{"unknown method", request("__proto__", "\x90", "\x01"), failure(-32601, `unknown method "__proto__"`, int64(1))},
		{"unknown service", request("a/b", "\x90", "\x01"), failure(-32601, "unknown service a", int64(1))},
		{"reserved method", request("rpc.x", "\x90", "\x01"), failure(-32601, `unknown method "rpc.x"; names that begin with rpc. or $/ are reserved`, int64(1))},
		{"wrong message", request("sum", "\x81\xa7numbers\xa1x", "\x01"), failure(-32602, "request of arith.Arith/Sum: msgpack: byte 9: numbers: a string where an array is needed", int64(1))},
		{"handler did not return", request("arith.Arith/Exit", "\x80", "\x01"), failure(-32603, "", int64(1))},
		{"empty map as a request", "\x80", failure(-32600, `member "jsonrpc" is missing; it must be "2.0"`, nil)},
		{"version 1.0", "\x83\xa7jsonrpc\xa31.0\xa6method\xa3add" + idIs + "\x01", failure(-32600, `member "jsonrpc" is not "2.0"`, int64(1))},
		{"no method", "\x82" + v2 + idIs + "\x01", failure(-32600, `member "method" is missing`, int64(1))},
		{"method is a number", "\x83" + v2 + "\xa6method\x05" + idIs + "\x01", failure(-32600, `member "method" must be a string: msgpack: byte 0: an integer where a string is needed`, int64(1))},
		{"method is not UTF-8", request("\xff", "", "\x01"), failure(-32600, `member "method" must be a string: msgpack: byte 0: a string is not valid UTF-8`, int64(1))},
		{"params is a string", request("add", "\xa1x", "\x01"), failure(-32600, `member "params" must be a map or an array, not a string`, int64(1))},
		{"id is an array", request("add", "\x90", "\x91\x01"), failure(-32600, `member "id" must be a string, a number or nil, not an array`, nil)},
		{"id is a bool", request("add", "\x90", "\xc3"), failure(-32600, `member "id" must be a string, a number or nil, not a bool`, nil)},
		{"member twice", "\x85" + v2 + "\xa6method\xa3add\xa6params\x90\xa6params\x90" + idIs + "\x01", failure(-32600, `member "params" appears twice`, int64(1))},
		{"meta is no map", "\x84" + v2 + "\xa6method\xa3add" + idIs + "\x01\xa4meta\x01", failure(-32600, `member "meta": msgpack: byte 0: an integer where a map is needed`, int64(1))},
		{"timeout is no integer", "\x84" + v2 + "\xa6method\xa3add" + idIs + "\x01\xaatimeout_ms\xa1x", failure(-32600, `member "timeout_ms": msgpack: byte 0: a string where an integer is needed`, int64(1))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := f.foreign(t)
			p.send(tt.sent)
			got := p.receive()
			if e, ok := tt.want.(map[string]any)["error"].(map[string]any); ok && e["message"] == "" { // any text will do
				e["message"] = got.(map[string]any)["error"].(map[string]any)["message"]
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			p.send(request("add", "\x91\x05", "\x02")) // the connection is still good
			p.wantRaw(result("\x05", "\x02"))
		})
	}
}

// Each message is answered in its own envelope, whatever came before.
func TestEnvelopesMixed(t *testing.T) {
	p := newFixture(t).foreign(t)
	for range 2 {
		p.send(request("add", "\x91\x05", "\x07"))
		p.wantRaw(result("\x05", "\x07"))
		p.send("\x94\x00\x07" + sumName + oneTwo)
		p.want(ok(7, 3))
		p.send("\x91", request("add", "\x91\x05", "\x07"))
		p.wantRaw("\x91" + result("\x05", "\x07"))
	}
}

// A short name has its declared form in the specification's arrays too; the full
// name takes the message.
func TestFormsInArrays(t *testing.T) {
	p := newFixture(t).foreign(t)
	for sent, want := range map[string]any{
		"\x94\x00\x01\xa3add\x92\x14\x15":             []any{int64(1), int64(1), nil, int64(41)},
		"\x94\x00\x01\xa3add\x90":                     []any{int64(1), int64(1), nil, int64(0)},
		"\x94\x00\x01\xa3say\x91\xa2hi":               []any{int64(1), int64(1), nil, "hi"},
		"\x94\x00\x01\xafarith.Arith/Add" + oneTwo:    ok(1, 3),
		"\x94\x00\x01\xa3add\x80":                     failed(1, 3, "params of add is an array, not a map"),
		"\x94\x00\x01\xa3say\x92\xa2hi\xa2ho":         failed(1, 3, "params must be an array of one element, not 2"),
		"\x94\x00\x01\xafarith.Arith/Add\x92\x14\x15": failed(1, 3, "params of arith.Arith/Add has one element, the message, not 2"),
	} {
		p.send(sent)
		p.want(want)
	}
}

func TestObjectNotifications(t *testing.T) {
	f := newFixture(t)
	p := f.foreign(t)
	p.send(notification("arith.Arith/Tell", "\x81\xa7numbers\x92\x01\x02"))
	if got := <-f.told; got != 3 {
		t.Errorf("told %d", got)
	}
	p.send(
		notification("arith.Arith/Fail", "\x80"), notification("nope", "\x80"), notification("add", "\x91\xa1x"),
		notification("rpc.nope", "\x80"), notification("$/nope", "\x80"), notification("$/cancelRequest", "\x80"),
		"\x83"+v2+"\xa6result\x01"+idIs+"\x09", // a response, which nobody waits for
		request("add", "\x90", "\x06"))
	p.wantRaw(result("\x00", "\x06")) // and nothing before it
}

// An error says what only gRPC's statuses have in its data.
func TestObjectErrorData(t *testing.T) {
	p := newFixture(t).foreign(t)
	p.send(request("arith.Arith/Fail", "\x80", "\x01"))
	got := p.receive().(map[string]any)["error"].(map[string]any)
	if got["code"] != int64(-32005) || got["message"] != "no such number" {
		t.Errorf("%v", got)
	}
	detail := got["data"].(map[string]any)["details"].([]any)[0].(map[string]any)
	if _, isBin := detail["value"].([]byte); detail["type"] != "google.rpc.ErrorInfo" || !isBin {
		t.Errorf("%v", detail)
	}
}

func TestObjectSameIDTwice(t *testing.T) {
	f := newFixture(t)
	p := f.foreign(t)
	p.send(request("arith.Arith/Wait", "\x80", "\xa1a"))
	<-f.waiting
	p.send(request("add", "\x90", "\xa1a"))
	p.want(failure(-32600, "a request with the id a is in flight already", nil))
	p.send(request("add", "\x90", "\xa1b")) // answers come in any order
	p.wantRaw(result("\x00", "\xa1b"))
	p.send(request("arith.Arith/Wait", "\x80", "\xc0"), request("arith.Arith/Wait", "\x80", "\xc0")) // nil ids are not compared
	<-f.waiting
	<-f.waiting
	p.send(notification("$/cancelRequest", "\x81\xa2id\xa1c"), notification("$/cancelRequest", "\x81\xa2id\xa1a"))
	p.want(failure(-32001, "context canceled", "a"))
	p.send(request("add", "\x90", "\xa1a")) // the id is free again
	p.wantRaw(result("\x00", "\xa1a"))
}

func TestObjectMeta(t *testing.T) {
	p := newFixture(t).foreign(t)
	meta := "\xa4meta\x82\xa3KEY\x91\xa1v\xa7raw-bin\x91\xc4\x01\xff"
	p.send("\x84" + v2 + "\xa6method\xb0arith.Arith/Meta" + idIs + "\x05" + meta)
	p.want(map[string]any{"jsonrpc": "2.0", "result": map[string]any{"sum": int64(1)}, "id": int64(5), "meta": map[string]any{
		"header":  map[string]any{"got": []any{"v"}, "raw-bin": []any{[]byte{0xff}}},
		"trailer": map[string]any{"after": []any{"yes"}},
	}})
	p.send("\x85" + v2 + "\xa6method\xb0arith.Arith/Meta\xa6params\x81\xa4text\xa1x" + idIs + "\x05" + meta)
	got := p.receive().(map[string]any)
	if got["error"].(map[string]any)["code"] != int64(-32010) || got["meta"] == nil {
		t.Errorf("%v", got)
	}
	p.send("\x84" + v2 + "\xa6method\xa3add" + idIs + "\x05\xa4meta\x80")
	p.wantRaw(result("\x00", "\x05")) // there is nothing to tell
	for _, ms := range []string{"\x00", "\xff", "\x05"} {
		p.send("\x84" + v2 + "\xa6method\xb0arith.Arith/Wait" + idIs + "\x05\xaatimeout_ms" + ms)
		p.want(failure(-32004, "context deadline exceeded", int64(5)))
	}
}

func TestObjectTooLong(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage, c.Limits.MaxMetadata = 100, 100 })
	for sent, id := range map[string]any{
		"\x84" + v2 + idIs + "\x05\xa6method\xa3add\xa6params\x91\xdb\xff\xff\xff\xff": int64(5),
		"\x84" + v2 + "\xa6method\xa3add\xa6params\xdd\xff\xff\xff\xff":                nil,
		"\xdf\xff\xff\xff\xff":         nil,
		"\x91\x81\xdb\xff\xff\xff\xff": nil,
	} {
		p := f.foreign(t)
		p.send(sent)
		want := failure(-32008, "the request is longer than the limit of 4396 bytes", id)
		if id != nil { // else the client ends the connection anyway
			want.(map[string]any)["error"].(map[string]any)["data"] = map[string]any{
				"details": []any{errorInfo("CALL_NOT_RUN"), errorInfo("CONNECTION_CLOSING")},
			}
		}
		p.want(want)
		p.wantEnd()
	}
	p := f.foreign(t)
	p.send(request("sum", "\x81\xa4text"+str(strings.Repeat("x", 200)), "\x01"))
	p.want(failure(-32008, "received message larger than max (208 vs. 100)", int64(1)))
}

func TestBatches(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxBatch, c.Limits.MaxInFlight = 20, 2 })
	p := f.foreign(t)
	batch := func(elements ...string) string {
		return string(msgpack.AppendArrayHeader(nil, len(elements))) + strings.Join(elements, "")
	}
	p.send(batch(request("add", "\x91\x01", "\x01"), "\x05", request("nope", "\x90", "\x02"),
		notification("arith.Arith/Tell", "\x81\xa7numbers\x91\x07"), request("arith.Arith/Exit", "\x80", "\x03"),
		request("add", "\x91\x04", "\xa1x"), request("add", "\x91\x05", "\xa1x")))
	if got := <-f.told; got != 7 {
		t.Errorf("told %d", got)
	}
	got := p.receive().([]any)
	if len(got) != 6 {
		t.Fatalf("%d replies: %v", len(got), got)
	}
	id := func(i int) any { return got[i].(map[string]any)["id"] }
	number := func(i int) any {
		e, _ := got[i].(map[string]any)["error"].(map[string]any)
		return e["code"]
	}
	for i, want := range []struct{ id, code any }{
		{int64(1), nil}, {nil, int64(-32600)}, {int64(2), int64(-32601)}, {int64(3), int64(-32603)}, {"x", nil}, {nil, int64(-32600)},
	} {
		if id(i) != want.id || number(i) != want.code {
			t.Errorf("reply %d: %v, want %v", i, got[i], want)
		}
	}
	many := make([]string, 20)
	for i := range many {
		many[i] = request("add", "\x91\x01", string([]byte{byte(i)}))
	}
	p.send(batch(many...)) // more than may run at a time
	if got := p.receive().([]any); len(got) != 20 {
		t.Errorf("%d replies", len(got))
	}
	p.send(batch(append(many, many...)...))
	p.want(failure(-32600, "batch of 40 items is larger than the limit of 20", nil))
	p.send(batch(notification("add", "\x90"), notification("add", "\x90")), request("add", "\x90", "\x09"))
	p.wantRaw(result("\x00", "\x09")) // a batch of notifications has no reply
}

// The replies of a batch together are bounded like one message.
func TestBatchBudget(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage, c.Limits.MaxMetadata = 150_000, 1000 })
	p := f.foreign(t)
	p.send("\x93", request("arith.Arith/Long", "\x80", "\x01"), request("arith.Arith/Long", "\x80", "\x02"), request("add", "\x90", "\x03"))
	failures := 0
	for _, reply := range p.receive().([]any) {
		if e, bad := reply.(map[string]any)["error"].(map[string]any); bad {
			failures++
			if e["code"] != int64(-32008) || !strings.Contains(e["message"].(string), "replies of the batch are larger") {
				t.Errorf("%v", e)
			}
		}
	}
	if failures != 1 {
		t.Errorf("%d failed, want one of the long replies", failures)
	}
}

func mapOn(more ...string) rpc.Options {
	o := rpc.Options{"envelope": "map"}
	for i := 0; i < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	return o
}

// The client's messages are what our server takes, in every form that methods
// declare, which the client knows if it has the registry.
func TestFormsBothWays(t *testing.T) {
	f := newFixture(t)
	described := func(c *rpc.ClientConfig) { c.Methods = f.registry }
	for name, conn := range map[string]grpc.ClientConnInterface{
		"maps without descriptions":   f.dial(t, mapOn()),
		"maps with descriptions":      f.dial(t, mapOn(), described),
		"maps without meta":           f.dial(t, mapOn("meta", "off"), described),
		"arrays without descriptions": f.dial(t, nil),
		"arrays with descriptions":    f.dial(t, nil, described),
	} {
		t.Run(name, func(t *testing.T) {
			in := &Numbers{Numbers: []int64{20, 21}, Text: "x"}
			for _, method := range []string{"arith.Arith/Add", "arith.Arith/Sum"} {
				if out, err := everywire.Call[Sum](t.Context(), conn, method, in); err != nil || out.Sum != 41 {
					t.Errorf("%s: %v, %v", method, out, err)
				}
			}
			for _, method := range []string{"arith.Arith/Order", "arith.Arith/Same", "arith.Arith/Say"} {
				out, err := everywire.Call[Numbers](t.Context(), conn, method, in)
				if err != nil || out.Text != "x" {
					t.Errorf("%s: %v, %v", method, out, err)
				}
			}
			doc := &everywire.Document{Value: []any{int64(1), map[string]any{"a": nil}}}
			if out, err := everywire.Call[everywire.Document](t.Context(), conn, "arith.Arith/Echo", doc); err != nil || !cmp.Equal(out, doc) {
				t.Errorf("%v, %v", out, err)
			}
			if _, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", new(emptypb.Empty)); err != nil {
				t.Error(err)
			}
			_, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Fail", in)
			wantStatus(t, err, codes.NotFound, "no such number")
			if n := len(status.Convert(err).Details()); n != 1 {
				t.Errorf("%d details", n)
			}
			_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Nope", in)
			wantStatus(t, err, codes.Unimplemented, "unknown method")
			if err := everywire.Notify(t.Context(), conn, "arith.Arith/Tell", in); err != nil || <-f.told != 41 {
				t.Error(err)
			}
		})
	}
}

func TestMapsCarryMetadata(t *testing.T) {
	f := newFixture(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "key", "v", "raw-bin", "\xff")
	var header, trailer metadata.MD
	if _, err := everywire.Call[Sum](ctx, f.dial(t, mapOn()), "arith.Arith/Meta", &Numbers{}, grpc.Header(&header), grpc.Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	if header.Get("got")[0] != "v" || header.Get("raw-bin")[0] != "\xff" || trailer.Get("after")[0] != "yes" {
		t.Errorf("%v, %v", header, trailer)
	}
	_, err := everywire.Call[Sum](ctx, f.dial(t, mapOn("meta", "off")), "arith.Arith/Meta", &Numbers{})
	wantStatus(t, err, codes.Unimplemented, "carries no metadata")
}

// What foreign servers answer to a map.
func TestForeignObjectReplies(t *testing.T) {
	reply := func(members string) string { return "\x83" + v2 + idIs + "\x01" + members }
	for _, tt := range []struct {
		name, reply string
		code        codes.Code
		text        string
	}{
		{"result last", reply("\xa6result\x81\xa3sum\x09"), codes.OK, ""},
		{"playground", result("\x81\xa3sum\x09", "\x01"), codes.OK, ""},
		{"wide id", result("\x81\xa3sum\x09", "\xcf\x00\x00\x00\x00\x00\x00\x00\x01"), codes.OK, ""},
		{"error nil beside the result", "\x84" + v2 + idIs + "\x01\xa5error\xc0\xa6result\x81\xa3sum\x09", codes.OK, ""},
		{"unknown method", reply("\xa5error\x82\xa4code\xd1\x80\xa7\xa7message\xa2no"), codes.Unimplemented, "no"},
		{"own code", reply("\xa5error\x83\xa4code\x07\xa7message\xa2no\xa4data\xa3why"), codes.Unknown, "no (code 7, data why)"},
		{"our unknown code", reply("\xa5error\x83\xa4code\xd1\x83\x00\xa7message\xa2no\xa4data\x81\xa4code\x2a"), codes.Code(42), "no"},
		{"text as error", reply("\xa5error\xa2no"), codes.Unknown, "no"},
		{"neither", "\x82" + v2 + idIs + "\x01", codes.Unavailable, ""},
		{"both", "\x84" + v2 + idIs + "\x01\xa5error\x01\xa6result\x01", codes.Internal, "both a result and an error"},
		{"twice", "\x84" + v2 + idIs + "\x01\xa6result\x80\xa6result\x80", codes.Internal, `member "result" appears twice`},
		{"wrong result", reply("\xa6result\x05"), codes.Internal, "an integer where a map is needed"},
		{"bad meta", "\x84" + v2 + idIs + "\x01\xa6result\x80\xa4meta\x05", codes.Internal, "an integer where a map is needed"},
		{"id nil", "\x83" + v2 + idIs + "\xc0\xa5error\x82\xa4code\xd1\x80\xa8\xa7message\xa2no", codes.Internal, "no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer lis.Close()
			done := make(chan error, 1)
			go func() { done <- answerOne(lis, tt.reply) }()
			out, err := everywire.Call[Sum](t.Context(), dial(t, lis.Addr().String(), mapOn()), "arith.Arith/Sum", &Numbers{})
			wantStatus(t, err, tt.code, tt.text)
			if err == nil && out.Sum != 9 {
				t.Errorf("sum is %d", out.Sum)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// What the client sends, byte for byte: a server that knows only the
// specification reads it.
func TestFormsOnTheWire(t *testing.T) {
	f := newFixture(t)
	none := everywire.JSONRPCForm{Name: "none", Params: everywire.ParamsInOrder}
	everywire.Handle(f.registry, "arith.Arith/None", func(context.Context, *emptypb.Empty) (*Sum, error) { return new(Sum), nil }, everywire.WithJSONRPC(none))
	in := &Numbers{Numbers: []int64{20, 21}, Text: "x"}
	message := "\x82\xa7numbers\x92\x14\x15\xa4text\xa1x"
	array := func(method, params string) string { return "\x94\x00\x01" + str(method) + params }
	for _, tt := range []struct {
		options     rpc.Options
		method      string
		in          any
		reply, sent string
		wantNumber  int64
	}{
		{mapOn(), "arith.Arith/Add", in, result("\x29", "\x01"), request("add", "\x92\x14\x15", "\x01"), 41},
		{nil, "arith.Arith/Add", in, "\x94\x01\x01\xc0\x29", array("add", "\x92\x14\x15"), 41},
		{nil, "arith.Arith/Order", in, "\x94\x01\x01\xc0\x80", array("order", "\x92\x92\x14\x15\xa1x"), 0},
		{nil, "arith.Arith/Same", in, "\x94\x01\x01\xc0\xc0", array("same", "\x91"+message), 0},
		{nil, "arith.Arith/Sum", in, "\x94\x01\x01\xc0\x81\xa3sum\x09", array("sum", "\x91"+message), 9},
		{nil, "arith.Arith/None", new(emptypb.Empty), "\x94\x01\x01\xc0\x80", array("none", "\x90"), 0},
		{nil, "arith.Arith/Fail", in, "\x94\x01\x01\xc0\x80", array("arith.Arith/Fail", "\x91"+message), 0},
	} {
		t.Run(tt.method, func(t *testing.T) {
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer lis.Close()
			got := make(chan string, 1)
			go func() {
				conn, err := lis.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				buf := make([]byte, 1000)
				n, _ := conn.Read(buf)
				got <- string(buf[:n])
				_, _ = io.WriteString(conn, tt.reply)
				_, _ = conn.Read(buf)
			}()
			conn := dial(t, lis.Addr().String(), tt.options, func(c *rpc.ClientConfig) { c.Methods = f.registry })
			var out Sum
			if err := conn.Invoke(t.Context(), "/"+tt.method, tt.in, &out); err != nil || out.Sum != tt.wantNumber {
				t.Errorf("%v, %v", &out, err)
			}
			if sent := <-got; sent != tt.sent {
				t.Errorf("sent % x\nwant % x", sent, tt.sent)
			}
		})
	}
}
