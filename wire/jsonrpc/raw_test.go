package jsonrpc

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/everywire/everywire"
)

const sumRequestLine = `{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}`

// TestReplies sends one request and compares every byte of the reply, over
// both transports.
func TestReplies(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	f := newFixture()
	tcp := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	web := "http://" + serve(t, NewHTTPServer, serverConfig(f.reg, everywire.Limits{})) + DefaultPath
	request := func(method, params, id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":%s}`, method, params, id)
	}
	result := func(v, id string) string { return `{"jsonrpc":"2.0","result":` + v + `,"id":` + id + `}` }
	failure := func(code int, message, id string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":"%s"},"id":%s}`, code, message, id)
	}
	type testCase struct{ send, want string }
	cases := []testCase{ //nolint:prealloc // most of it stands here
		{sumRequestLine, result("41", "1")},
		// Params in every form.
		{`{"jsonrpc":"2.0","method":"sum","id":1}`, result("0", "1")},
		{request("sum", "null", "1"), result("0", "1")},
		{request("sum", "[]", "1"), result("0", "1")},
		{request("sum", "[ ]", "1"), result("0", "1")},
		{request("sum", "{}", "1"), result("0", "1")},
		{request("sum", `{"numbers":[1,2]}`, "1"), result("3", "1")},
		{request("sum", `[9223372036854775806, 1]`, "1"), result("9223372036854775807", "1")},
		{request("subtract", `[5]`, "1"), result("5", "1")},
		{request("subtract", `[]`, "1"), result("0", "1")},
		{request("upper", `["\u00e4\ud83d\ude00]["]`, "1"), result(`"Ä😀]["`, "1")},
		{request("same", `[{"text":"x"}]`, "1"), result(`{"text":"x"}`, "1")},
		// The full name has the whole reply, with and without the slash.
		{request("arith.Arith/Sum", `{"numbers":[1]}`, "1"), result(`{"sum":1}`, "1")},
		{request("/arith.Arith/Sum", `[1]`, "1"), result(`{"sum":1}`, "1")},
		{`{"jsonrpc":"2.0","method":"\u0073um","params":[1],"id":1}`, result("1", "1")},
		{`{"\u006asonrpc":"2.0","method":"sum","params":[1],"id":1}`, result("1", "1")},
		{`{"id":1,"params":[1],"method":"sum","more":{"a":[]},"jsonrpc":"2.0"}`, result("1", "1")},
		// Messages that are no objects.
		{request("t.Echo/Any", `[[1,2]]`, "1"), result(`[1,2]`, "1")},
		{request("t.Echo/Any", `["x"]`, "1"), result(`"x"`, "1")},
		{request("t.Echo/Any", `[null]`, "1"), result(`null`, "1")},
		{request("t.Echo/Any", `{"a":1}`, "1"), result(`{"a":1}`, "1")},
		{request("t.Echo/Any", `[18446744073709551615]`, "1"), result(`18446744073709551615`, "1")},
		// Wrong params.
		{request("subtract", `[1,2,3]`, "1"), failure(-32602, `request of arith.Arith/Subtract: more params than the 2 that the method takes`, "1")},
		{request("upper", `["a","b"]`, "1"), failure(-32602, `request of t.Text/Upper: params must be an array of one element`, "1")},
		{request("same", `["a"]`, "1"), failure(-32602, `request of t.Text/Same: the element of params must be an object, not \"a\"`, "1")},
		{request("t.Text/Plain", `["a"]`, "1"), failure(-32602, `request of t.Text/Plain: named params are needed, that is an object; the method declares no order for an array`, "1")},
		{request("t.Echo/Any", `[1,2]`, "1"), failure(-32602, `request of t.Echo/Any: params must be an array of one element`, "1")},
		{request("t.Echo/Any", `null`, "1"), failure(-32602, `request of t.Echo/Any: params are missing; the value goes into an array of one`, "1")},
		{request("sum", `"bar"`, "1"), failure(-32600, `member \"params\" must be an object or an array, not \"bar\"`, "1")},
		// Errors of handlers.
		{request("fail", `["no"]`, "1"), failure(-32009, "no", "1")},
		{request("fail", `["odd"]`, "1"), `{"jsonrpc":"2.0","error":{"code":-32000,"message":"an odd code","data":{"code":4242}},"id":1}`},
		{
			request("fail", `["details"]`, "1"),
			`{"jsonrpc":"2.0","error":{"code":-32005,"message":"no such thing","data":{"details":[{"type":"google.protobuf.Value","value":"GgN3aHk="}]}},"id":1}`,
		},
		// Envelopes that are none.
		{`{"method":"sum","id":1}`, failure(-32600, `member \"jsonrpc\" is missing; this server speaks JSON-RPC 2.0`, "1")},
		{`{"jsonrpc":"1.0","method":"sum","id":1}`, failure(-32600, `member \"jsonrpc\" is \"1.0\"; this server speaks JSON-RPC \"2.0\"`, "1")},
		{`{"jsonrpc":2.0,"method":"sum","id":1}`, failure(-32600, `member \"jsonrpc\" is 2.0; this server speaks JSON-RPC \"2.0\"`, "1")},
		{`{"jsonrpc":"2.0","id":1}`, failure(-32600, `member \"method\" is missing`, "1")},
		{`{"jsonrpc":"2.0","method":"sum","id":1,"id":2}`, failure(-32600, `member \"id\" appears twice`, "2")},
		{`{"jsonrpc":"2.0","method":"sum","\u006dethod":"fail","id":1}`, failure(-32600, `member \"method\" appears twice`, "1")},
		{`{"jsonrpc":"2.0","method":"sum","id":[1]}`, failure(-32600, `member \"id\" must be a string, a number or null, not [1]`, "null")},
		{`{"jsonrpc":"2.0","method":"sum","id":true}`, failure(-32600, `member \"id\" must be a string, a number or null, not true`, "null")},
		{`{}`, failure(-32600, `member \"jsonrpc\" is missing; this server speaks JSON-RPC 2.0`, "null")},
		{`{"jsonrpc":"2.0","method":"mirror","id":1,"meta":[]}`, failure(-32600, `member \"meta\": must be an object, not []`, "1")},
		{`{"jsonrpc":"2.0","method":"mirror","id":1,"meta":{"a":"b"}}`, failure(-32600, `member \"meta\": key \"a\": want an array of strings`, "1")},
		{`{"jsonrpc":"2.0","method":"mirror","id":1,"meta":{"a":[],"A":[]}}`, failure(-32600, `member \"meta\": key \"a\" appears twice`, "1")},
		{`{"jsonrpc":"2.0","method":"mirror","id":1,"timeout_ms":1.5}`, failure(-32600, `member \"timeout_ms\" must be an integer, not 1.5`, "1")},
		{`{"jsonrpc":"2.0","method":"block","id":1,"timeout_ms":0}`, failure(-32004, `context deadline exceeded`, "1")},
		{`{"jsonrpc":"2.0","method":"block","id":1,"timeout_ms":-99999999999999999999}`, failure(-32004, `context deadline exceeded`, "1")},
		{`{"jsonrpc":"2.0","method":"block","id":1,"timeout_ms":1}`, failure(-32004, `context deadline exceeded`, "1")},
		{`{"jsonrpc":"2.0","method":"sum","id":1,"timeout_ms":99999999999999999999}`, result("0", "1")},
		// Metadata in members.
		{`{"jsonrpc":"2.0","method":"mirror","id":1,"meta":{"KEY":["a","b"],"k-bin":["AP8"]}}`, `{"jsonrpc":"2.0","result":{"text":"a,b"},"id":1,"meta":{"header":{"h-bin":["AP8"]},"trailer":{"has-deadline":["no"]}}}`},
		// Texts that are no JSON.
		{`{"jsonrpc":"2.0","method":"sum","id":01}`, failure(-32700, `the text is not JSON: unexpected '1', want ',' or '}' at byte 38`, "null")},
		{`{"jsonrpc":"2.0","method":"su` + "\xff" + `m","id":1}`, failure(-32700, `the text is not JSON: invalid UTF-8 in a string at byte 29`, "null")},
		{`{"jsonrpc":"2.0","method":"sum","id":1,}`, failure(-32700, `the text is not JSON: unexpected '}', want a member name at byte 39`, "null")},
		{request("sum", deep, "1"), failure(-32700, fmt.Sprintf(`the text is not JSON: values nested deeper than %d at byte %d`, maxDepth, 41+maxDepth-1), "null")},
		// Batches.
		{`[` + request("sum", "[1]", "1") + `,` + request("sum", "[2]", "2") + `]`, `[` + result("1", "1") + `,` + result("2", "2") + `]`},
		{
			`[` + request("sum", "[1]", "7") + `,` + request("wait", `["x"]`, "7") + `]`,
			`[` + result("1", "7") + `,` + failure(-32600, "a request with the id 7 is in flight already", "null") + `]`,
		},
	}
	for _, id := range []string{
		"0", "-0", "-1", "1.5", "1e3", "9007199254740993", "9223372036854775808", "123456789012345678901234567890",
		`""`, `"a"`, `"\u0061\n"`, `"ä"`, `"\ud800"`, `"1"`, "null",
	} {
		cases = append(cases, testCase{request("sum", "[1]", id), result("1", id)})
		cases = append(cases, testCase{request("foobar", "[1]", id), failure(-32601, `unknown method \"foobar\"`, id)})
	}
	for _, name := range []string{"toString", "__proto__", "constructor", "", "été", "名前", "sum ", "Sum"} {
		cases = append(cases, testCase{request(name, "[]", "1"), failure(-32601, `unknown method \"`+name+`\"`, "1")})
	}
	for _, name := range []string{"rpc.describe", "rpc.", "$/cancelRequest", "$/x"} {
		cases = append(cases, testCase{request(name, "[]", "1"), failure(-32601, `unknown method \"`+name+`\"; names that begin with rpc. or $/ are reserved`, "1")})
	}
	cases = append(cases,
		testCase{request("no.Such/Thing", "{}", "1"), failure(-32601, "unknown service no.Such", "1")},
		testCase{request("t.Text/Nope", "{}", "1"), failure(-32601, "unknown method Nope for service t.Text", "1")},
		testCase{request("a/b/c", "{}", "1"), failure(-32601, `malformed method name: \"/a/b/c\"`, "1")})
	for _, c := range cases {
		_, body := post(t, web, "application/json", c.send)
		if body != c.want {
			t.Errorf("%.200s\n HTTP got %s\n     want %s", c.send, body, c.want)
		}
		tcp.send(c.send + "\n")
		if got := tcp.line(); got != c.want {
			t.Errorf("%.200s\n  TCP got %s\n     want %s", c.send, got, c.want)
		}
	}
}

func TestDuplicateNamesInParams(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	c.send(`{"jsonrpc":"2.0","method":"sum","params":{"numbers":[1],"numbers":[2]},"id":1}` + "\n")
	if got := c.line(); !strings.Contains(got, `"code":-32602`) || !strings.Contains(got, "numbers") {
		t.Error(got)
	}
}

func TestStreamFraming(t *testing.T) {
	f := newFixture()
	addr := serve(t, NewServer, serverConfig(f.reg, everywire.Limits{}))
	const (
		reply = `{"jsonrpc":"2.0","result":41,"id":1}`
		utf   = `{"jsonrpc":"2.0","method":"upper","params":["\u00e4ä😀\"}{"],"id":"é\\"}`
	)
	for name, tc := range map[string]struct {
		pieces []string
		want   []string // in any order
	}{
		"a client with CRLF":     {[]string{sumRequestLine + "\r\n"}, []string{reply}},
		"two in one segment":     {[]string{sumRequestLine + "\n" + strings.Replace(sumRequestLine, ":1}", ":2}", 1) + "\n"}, []string{reply, strings.Replace(reply, ":1}", ":2}", 1)}},
		"one in two":             {[]string{sumRequestLine[:20], sumRequestLine[20:] + "\n"}, []string{reply}},
		"no line end":            {[]string{sumRequestLine}, []string{reply}},
		"side by side":           {[]string{sumRequestLine + strings.Replace(sumRequestLine, ":1}", ":2}", 1)}, []string{reply, strings.Replace(reply, ":1}", ":2}", 1)}},
		"blank lines":            {[]string{"\n\r\n  \n", "\n" + sumRequestLine + "\n\n"}, []string{reply}},
		"several lines":          {[]string{"{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"sum\",\n", "  \"params\": [20, 21],\n  \"id\": 1\n}\n"}, []string{reply}},
		"byte by byte":           {strings.Split(utf+"\n", ""), []string{`{"jsonrpc":"2.0","result":"ÄÄ😀\"}{","id":"é\\"}`}},
		"within UTF-8":           {cut(utf+"\n", "😀", 2), []string{`{"jsonrpc":"2.0","result":"ÄÄ😀\"}{","id":"é\\"}`}},
		"within an escape":       {cut(utf+"\n", `\u00e4`, 3), []string{`{"jsonrpc":"2.0","result":"ÄÄ😀\"}{","id":"é\\"}`}},
		"within a short escape":  {cut(utf+"\n", `\\"}`, 1), []string{`{"jsonrpc":"2.0","result":"ÄÄ😀\"}{","id":"é\\"}`}},
		"a broken line, a good":  {[]string{`{"jsonrpc":"2.0","method"` + "\n" + sumRequestLine + "\n"}, []string{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"the text is not JSON: unexpected end of text, want ':' at byte 26"},"id":null}`, reply}},
		"a string cut by a line": {[]string{`{"jsonrpc":"2.0","method":"su` + "\n" + sumRequestLine + "\n"}, []string{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"the text is not JSON: control character '\\n' in a string at byte 29"},"id":null}`, reply}},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, addr)
			for _, p := range tc.pieces {
				c.send(p)
			}
			var got []string
			for range tc.want {
				got = append(got, c.line())
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// cut cuts s so many bytes behind the beginning of at.
func cut(s, at string, n int) []string {
	i := strings.Index(s, at) + n
	return []string{s[:i], s[i:]}
}

func TestCrossProtocolIsClosed(t *testing.T) {
	f := newFixture()
	addr := serve(t, NewServer, serverConfig(f.reg, everywire.Limits{}))
	note := `{"jsonrpc":"2.0","method":"t.Text/Note","params":{"text":"ran"}}` + "\n"
	for name, send := range map[string]string{
		"an HTTP request":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + note,
		"garbage after a value": "{} x\n" + note,
		"a string":              `"x"` + "\n" + note,
		"TLS":                   "\x16\x03\x01\n" + note,
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, addr)
			c.send(send)
			all, err := io.ReadAll(c.lines)
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Error(err)
			}
			if strings.Contains(string(all), "result") {
				t.Errorf("an answer: %s", all)
			}
		})
	}
	select {
	case text := <-f.noted:
		t.Errorf("a request ran: %q", text)
	default:
	}
}

func TestPipelinedRequestsAllAnswered(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{MaxInFlight: 3})))
	const n = 500
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","method":"sum","params":[%d],"id":%d}`+"\r\n", i, i)
	}
	go func() { _, _ = io.WriteString(c, all.String()) }() // an error shows in the replies
	seen := map[string]bool{}
	for range n {
		seen[c.line()] = true
	}
	for i := range n {
		if want := fmt.Sprintf(`{"jsonrpc":"2.0","result":%d,"id":%d}`, i, i); !seen[want] {
			t.Errorf("no %s", want)
		}
	}
}

func TestDuplicateIDInFlight(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	c.send(`{"jsonrpc":"2.0","method":"wait","params":["first"],"id":"a"}` + "\n")
	<-f.began
	c.send(`{"jsonrpc":"2.0","method":"wait","params":["second"],"id":"a"}` + "\n")
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"a request with the id \"a\" is in flight already"},"id":null}`)
	f.gate <- struct{}{}
	c.wantLine(`{"jsonrpc":"2.0","result":"first","id":"a"}`)
	c.send(`{"jsonrpc":"2.0","method":"sum","params":[1],"id":"a"}` + "\n")
	c.wantLine(`{"jsonrpc":"2.0","result":1,"id":"a"}`)
}

func TestCancelNotification(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	// Request and cancellation in one segment: the order must hold.
	c.send(`{"jsonrpc":"2.0","method":"block","id":"x"}{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}`)
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32001,"message":"context canceled"},"id":"x"}`)
	<-f.ended
	// Cancelling what is not there, and unknown notifications, are no errors.
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}` + "\n")
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest"}` + `{"jsonrpc":"2.0","method":"$/progress","params":{}}` + `{"jsonrpc":"2.0","method":"rpc.x"}` + `{"jsonrpc":"2.0","method":"nope"}`)
	// Within a batch.
	c.send(`[{"jsonrpc":"2.0","method":"block","id":1},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]`)
	c.wantLine(`[{"jsonrpc":"2.0","error":{"code":-32001,"message":"context canceled"},"id":1}]`)
	// A batch of nothing else has no reply.
	c.send(`[{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}]` + sumRequestLine)
	c.wantLine(`{"jsonrpc":"2.0","result":41,"id":1}`)
}

func TestClientGoneEndsHandlers(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	c.send(`{"jsonrpc":"2.0","method":"block","id":1}{"jsonrpc":"2.0","method":"block"}`)
	<-f.began
	<-f.began
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-f.ended
	<-f.ended
}

func TestBatchLimits(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{MaxBatch: 3, MaxInFlight: 2, MaxMessage: 1000, MaxMetadata: 1})))
	one := `{"jsonrpc":"2.0","method":"sum","params":[1],"id":%d}`
	batch := func(n int) string {
		items := make([]string, 0, n)
		for i := range n {
			items = append(items, fmt.Sprintf(one, i))
		}
		return "[" + strings.Join(items, ",") + "]\n"
	}
	c.send(batch(3))
	c.wantLine(`[{"jsonrpc":"2.0","result":1,"id":0},{"jsonrpc":"2.0","result":1,"id":1},{"jsonrpc":"2.0","result":1,"id":2}]`)
	c.send(batch(4))
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"batch of 4 items is larger than the limit of 3"},"id":null}`)
	// The replies of a batch are bounded together.
	c = dialRaw(t, serve(t, NewServer, serverConfig(newFixture().reg, everywire.Limits{})))
	items := make([]string, 0, 20)
	for i := range 20 {
		items = append(items, fmt.Sprintf(`{"jsonrpc":"2.0","method":"fail","params":["long"],"id":%d},{"jsonrpc":"2.0","method":"sum","id":"s%d"}`, i, i))
	}
	c.send("[" + strings.Join(items, ",") + "]\n")
	got := c.line()
	if fit := strings.Count(got, `"code":-32002`); fit == 0 || fit > 4 || len(got) > 5<<20 {
		t.Errorf("%d long replies, %d bytes", fit, len(got))
	}
	if n := strings.Count(got, `"code":-32008`); n < 16 {
		t.Errorf("%d replies that did not fit", n)
	}
	if n := strings.Count(got, `"result":0`); n != 20 {
		t.Errorf("%d small replies", n)
	}
}

func TestShutdownRefusesNewRequests(t *testing.T) {
	f := newFixture()
	srv, err := NewServer(serverConfig(f.reg, everywire.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	c := dialRaw(t, lis.Addr().String())
	c.send(`{"jsonrpc":"2.0","method":"wait","params":["x"],"id":"waits"}`)
	<-f.began
	down := make(chan error, 1)
	go func() { down <- srv.Shutdown(t.Context()) }()
	// The detail says that the call has not run, see docs/spec/resilience.md.
	const refused = `{"jsonrpc":"2.0","error":{"code":-32014,"message":"the server is shutting down",` +
		`"data":{"details":[{"type":"google.rpc.ErrorInfo","value":"CgxDQUxMX05PVF9SVU4SCWV2ZXJ5d2lyZQ=="}]}},"id":1}`
	for { // until the shutdown has reached the connection
		c.send(sumRequestLine)
		if got := c.line(); got == refused {
			break
		}
	}
	c.send(`[{"jsonrpc":"2.0","method":"sum"},` + sumRequestLine + `]`)
	c.wantLine("[" + refused + "]")
	f.gate <- struct{}{}
	c.wantLine(`{"jsonrpc":"2.0","result":"x","id":"waits"}`)
	if _, err := c.lines.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestHalfClose: a client that only sends and then listens, as with netcat,
// gets its answers.
func TestHalfClose(t *testing.T) {
	f := newFixture()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	c.send(sumRequestLine)
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.wantLine(`{"jsonrpc":"2.0","result":41,"id":1}`)
	if _, err := c.lines.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
}
