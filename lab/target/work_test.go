package target

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/scenario"
	"github.com/everywire/everywire/service/arith"
)

// mixOf reads a mix file, with files beside it.
func mixOf(t *testing.T, mix string, files map[string]string) *scenario.File {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "mix.yaml")
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, []byte(mix), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func httpOptions(t *testing.T, url string, callers int) Options {
	t.Helper()
	to, err := ParseHTTP(url)
	if err != nil {
		t.Fatal(err)
	}
	return Options{HTTP: to, URL: url, Callers: callers}
}

// sent is a request as it would be written.
func sent(r *Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Method, r.Path)
	for _, h := range r.Header {
		fmt.Fprintf(&b, " %s=%s", h.Name, h.Value)
	}
	if r.HasBody {
		fmt.Fprintf(&b, " %s", r.Body)
	}
	return b.String()
}

// answer answers the next request of a caller: it returns what was sent, and what was
// wrong with the answer.
func answer(c load.Caller, reply string) (request, wrong string) {
	_, in, out := c.Next()
	request = sent(in.(*Request))
	out.(*Response).Body = append(out.(*Response).Body[:0], reply...)
	return request, c.Check()
}

const sessions = `
data: users.csv
set: {trace: "{{user}}-{{call}}"}
headers: {X-Trace: "{{trace}}"}
operations:
  - name: login
    method: POST
    path: /login
    body: {user: "{{user}}", pin: "{{pin}}"}
    extract: {token: a.token}
  - name: check
    path: /check/{{user}}?t={{token}}
    headers: {Authorization: "Bearer {{token}}"}
    count: 2
    expect: {json: {user: "{{user}}", n: "{{pin}}"}}
`

// A session is all operations in their order, each as often as its count says, with
// one row; what is taken of a reply is in the requests that follow.
func TestSessions(t *testing.T) {
	f := mixOf(t, sessions, map[string]string{"users.csv": "user,pin\n\"Ada \"\"L\"\"\",7\nBob/C,8\n"})
	w, err := New(f, httpOptions(t, "http://h/ignored", 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Operations(); !slices.Equal(got, []string{"login", "check"}) {
		t.Error(got)
	}
	c := w.Caller(1, 0)
	for i, step := range []struct{ op, request, reply, wrong string }{
		{"login", `POST /login X-Trace=Ada "L"-1 Content-Type=application/json {"user":"Ada \"L\"","pin":"7"}`, `{"a":{"token":"t/1"}}`, ""},
		{"check", `GET /check/Ada%20%22L%22?t=t%2F1 X-Trace=Ada "L"-1 Authorization=Bearer t/1`, `{"user":"Ada \"L\"","n":7}`, ""},
		{"check", `GET /check/Ada%20%22L%22?t=t%2F1 X-Trace=Ada "L"-1 Authorization=Bearer t/1`, `{"user":"Bob","n":7}`, `user: the whole document: got "Bob", want "Ada \"L\""`},
		{"login", `POST /login X-Trace=Bob/C-4 Content-Type=application/json {"user":"Bob/C","pin":"8"}`, `{"a":{"token":5}}`, ""},
		// A cell of a table is a number and a text.
		{"check", `GET /check/Bob%2FC?t=5 X-Trace=Bob/C-4 Authorization=Bearer 5`, `{"user":"Bob/C","n":"8"}`, ""},
		{"check", `GET /check/Bob%2FC?t=5 X-Trace=Bob/C-4 Authorization=Bearer 5`, `{"user":"Bob/C","n":9}`, "n: the whole document: got 9, want 8"},
		// Without a token the session cannot go on: the next one begins.
		{"login", `POST /login X-Trace=Ada "L"-7 Content-Type=application/json {"user":"Ada \"L\"","pin":"7"}`, `{"a":{}}`, `member "a" has no member "token"`},
		{"login", `POST /login X-Trace=Bob/C-8 Content-Type=application/json {"user":"Bob/C","pin":"8"}`, `<html>`, "the reply is no JSON"},
		{"login", `POST /login X-Trace=Ada "L"-9 Content-Type=application/json {"user":"Ada \"L\"","pin":"7"}`, `{"a":{"token":"t2"}}`, ""},
		{"check", `GET /check/Ada%20%22L%22?t=t2 X-Trace=Ada "L"-9 Authorization=Bearer t2`, `{}`, `the reply has no member "user"`},
	} {
		request, wrong := answer(c, step.reply)
		if op := c.(interface{ Op() string }).Op(); op != step.op {
			t.Errorf("step %d is %s, want %s", i, op, step.op)
		}
		if request != step.request {
			t.Errorf("step %d sends\n%s\nwant\n%s", i, request, step.request)
		}
		if step.wrong == "" && wrong != "" || !strings.Contains(wrong, step.wrong) {
			t.Errorf("step %d: %q, want %q", i, wrong, step.wrong)
		}
	}
}

// A login whose call fails is checked by nobody, and begins a new session, too.
func TestFailedCallEndsSession(t *testing.T) {
	f := mixOf(t, sessions, map[string]string{"users.csv": "user,pin\na,1\nb,2\n"})
	w, err := New(f, httpOptions(t, "http://h/", 1))
	if err != nil {
		t.Fatal(err)
	}
	c := w.Caller(1, 0)
	c.Next() // fails
	if _, in, _ := c.Next(); !strings.HasPrefix(sent(in.(*Request)), "POST /login X-Trace=b-2 ") {
		t.Error(sent(in.(*Request)))
	}
}

// With weights each call is any operation, and has a row of its own.
func TestWeights(t *testing.T) {
	f := mixOf(t, `
data: {file: rows.jsonl, order: sequential}
operations:
  - {name: often, path: "/often/{{n}}", weight: 9}
  - {name: seldom, path: "/seldom/{{n}}", weight: 1}
`, map[string]string{"rows.jsonl": `{"n":0}` + "\n" + `{"n":1}` + "\n" + `{"n":2}` + "\n"})
	w, err := New(f, httpOptions(t, "http://h/", 2))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	callers := []load.Caller{w.Caller(7, 0), w.Caller(7, 1)}
	const n = 10_000
	for i := range n {
		_, in, _ := callers[i%2].Next()
		path := string(in.(*Request).Path)
		if !strings.HasSuffix(path, fmt.Sprintf("/%d", i%3)) {
			t.Fatalf("call %d goes to %s: rows come in their order, for all callers together", i, path)
		}
		counts[strings.Split(path, "/")[1]]++
	}
	// 6 standard deviations of a binomial distribution.
	if got := counts["often"]; got < n*9/10-180 || got > n*9/10+180 {
		t.Error(counts)
	}
}

// Callers with unique rows never share one, and there must be enough.
func TestUniqueRows(t *testing.T) {
	files := map[string]string{"u.csv": "u\na\nb\nc\nd\ne\n"}
	mix := "data: {file: u.csv, order: unique}\noperations:\n  - path: /{{u}}\n"
	w, err := New(mixOf(t, mix, files), httpOptions(t, "http://h/", 2))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range 2 {
		c := w.Caller(1, i)
		for range 4 {
			_, in, _ := c.Next()
			got = append(got, string(in.(*Request).Path))
		}
	}
	if want := "/a /c /e /a /b /d /b /d"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if _, err := New(mixOf(t, mix, files), httpOptions(t, "http://h/", 6)); err == nil || !strings.Contains(err.Error(), "5 rows, too few for 6 callers") {
		t.Error(err)
	}
}

// What a body is decides how values are written into it.
func TestBodies(t *testing.T) {
	for name, tc := range map[string]struct{ operation, want string }{
		"JSON text":   {`{body: '{"v":{{v}},"s":"{{v}}"}'}`, `POST / Content-Type=application/json {"v":"a\"&b","s":"a\"&b"}`},
		"JSON number": {`{body: '[{{n}}]'}`, `POST / Content-Type=application/json [5]`},
		"text":        {`{body: 'v={{v}}'}`, `POST / Content-Type=text/plain; charset=utf-8 v=a"&b`},
		"form": {
			`{body: 'v={{v}}&w=1', headers: {content-type: application/x-www-form-urlencoded}}`,
			`POST / content-type=application/x-www-form-urlencoded v=a%22%26b&w=1`,
		},
		"suffix": {`{body: '"{{v}}"', headers: {Content-Type: application/problem+json}}`, `POST / Content-Type=application/problem+json "a\"&b"`},
		"PUT":    {`{method: put, body: x}`, `PUT / Content-Type=text/plain; charset=utf-8 x`},
		"none":   {`{path: "/?v={{v}}"}`, `GET /?v=a%22%26b`},
		"empty":  {`{method: POST, body: ""}`, `POST / Content-Type=text/plain; charset=utf-8 `},
	} {
		f := mixOf(t, "data: v.csv\noperations:\n  - {name: x, "+tc.operation[1:]+"\n", map[string]string{"v.csv": "v,n\n\"a\"\"&b\",5\n"})
		w, err := New(f, httpOptions(t, "http://h", 1))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, in, _ := w.Caller(1, 0).Next()
		if got := sent(in.(*Request)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", name, got, tc.want)
		}
	}
}

// Requests that are always the same are made without memory.
func TestRequestsDoNotAllocate(t *testing.T) {
	f := mixOf(t, "operations:\n  - {method: POST, path: '/{{seq}}', headers: {X-A: '{{int 1 9}}'}, body: '{\"a\":{{int 1 99}}}'}\n", nil)
	w, err := New(f, httpOptions(t, "http://h/", 1))
	if err != nil {
		t.Fatal(err)
	}
	c := w.Caller(1, 0)
	c.Next()
	if n := testing.AllocsPerRun(100, func() { c.Next(); c.Check() }); n > 0 {
		t.Errorf("%g allocations a request", n)
	}
}

// Mistakes are told before the load runs, with their places.
func TestBadWork(t *testing.T) {
	for _, tc := range []struct{ operation, want string }{
		{"{path: '/{{nope}}'}", `line 2 column 16: nothing is named "nope"`},
		{"{path: 'x'}", "the path begins with a slash"},
		{"{path: '/a b'}", `a path has no ' ': write it percent-encoded`},
		{"{path: '/a{{seq'}", "the placeholder has no end"},
		{"{method: 'GE T'}", `"GE T" is no method of HTTP`},
		{"{method: CONNECT}", "no method of HTTP"},
		{"{path: /, headers: {Host: h}}", "the header Host is the connection's own"},
		{"{path: /, headers: {'a b': h}}", `the header's name "a b" has characters`},
		{"{path: /, headers: {A: '{{x}}'}}", `nothing is named "x"`},
		{"{path: /, body: {a: '{{int 9 1}}'}}", "line 2 column 34: 1 is less than 9"},
		{"{path: /, set: {v: '{{x}}'}}", `nothing is named "x"`},
		{"{path: /, expect: {status: 99}}", `the status "99" is none of HTTP: it is like 200, or 2xx`},
		{"{path: /, expect: {status: 6xx}}", `the status "6xx" is none of HTTP`},
		{"{path: /, expect: {json: {a: '{{x}}'}}}", `nothing is named "x"`},
	} {
		f := mixOf(t, "operations:\n  - "+tc.operation+"\n", nil)
		if _, err := New(f, httpOptions(t, "http://h/", 1)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.operation, err, tc.want)
		}
	}
	f := mixOf(t, "data: none.csv\noperations:\n  - path: /\n", nil)
	if _, err := New(f, httpOptions(t, "http://h/", 1)); err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("no data: %v", err)
	}
	f = mixOf(t, "operations:\n  - method: GET\n", nil)
	if _, err := New(f, httpOptions(t, "http://h/a|b", 1)); err == nil || !strings.Contains(err.Error(), "the URL: line 1 column 11: a path has no '|'") {
		t.Errorf("a bad URL: %v", err)
	}
}

// sumMethods finds arith's Sum, typed, by its name; other names have documents.
func sumMethods() func(name, body string) (*Method, error) {
	reg := everywire.NewRegistry()
	arith.Register(reg)
	return func(name, body string) (*Method, error) {
		if m, ok := reg.Lookup("/" + name); ok {
			return Known(m), nil
		}
		if IsPositional(body) {
			return Positional(reg, name), nil
		}
		return Untyped(name), nil
	}
}

// Operations of a service have typed requests, metadata and status codes.
func TestMethods(t *testing.T) {
	f := mixOf(t, `
headers: {x-all: "{{caller}}"}
operations:
  - {name: fixed, method: arith.Arith/Sum, body: {numbers: [20, 21]}, expect: {json: {sum: 41}}}
  - {name: made, method: arith.Arith/Sum, body: '{"numbers":[{{call}},1]}', headers: {x-own: "{{call}}"}}
  - {name: any, method: shop.Cart/Get, body: {id: "{{caller}}"}, expect: {status: [OK, NOT_FOUND], json: {id: 1}}}
  - {name: list, method: sum, body: '[1,{{call}}]'}
`, nil)
	w, err := New(f, Options{Methods: sumMethods(), Callers: 2})
	if err != nil {
		t.Fatal(err)
	}
	c := w.Caller(1, 1)
	next := func(name string) (path string, call *Call, out any) {
		t.Helper()
		path, in, out := c.Next()
		if op := c.(interface{ Op() string }).Op(); op != name {
			t.Fatalf("the operation is %s, want %s", op, name)
		}
		return path, in.(*Call), out
	}
	path, call, out := next("fixed")
	if in := call.Message.(*arith.SumRequest); path != "/arith.Arith/Sum" || !slices.Equal(in.Numbers, []int64{20, 21}) || call.Header.Get("x-all")[0] != "1" {
		t.Errorf("%s %+v", path, call)
	}
	out.(*arith.SumReply).Sum = 41
	if wrong := c.Check(); wrong != "" {
		t.Error(wrong)
	}
	_, call, _ = next("made")
	if in := call.Message.(*arith.SumRequest); !slices.Equal(in.Numbers, []int64{2, 1}) || call.Header.Get("x-own")[0] != "2" {
		t.Errorf("%+v", in)
	}
	path, call, out = next("any")
	if text, err := (json.Codec{}).Append(nil, call.Message); err != nil || string(text) != `{"id":"1"}` || path != "/shop.Cart/Get" {
		t.Errorf("%s %s %v", path, text, err)
	}
	out.(*everywire.Document).Value = map[string]any{"id": "1"}
	if wrong := c.Check(); wrong != `id: the whole document: got "1", want 1` {
		t.Errorf("a text for a number: %q", wrong)
	}
	call.Code = codes.NotFound // has no values to look at
	if wrong := c.Check(); wrong != "" {
		t.Errorf("an expected error: %q", wrong)
	}
	call.Code = codes.AlreadyExists
	if wrong := c.Check(); wrong != "status ALREADY_EXISTS, want OK or NOT_FOUND" {
		t.Errorf("%q", wrong)
	}
	_, call, _ = next("list")
	if text := fmt.Sprint(call.Message); !strings.Contains(text, "[1 4]") {
		t.Errorf("the params are %s", text)
	}
}

// A request that a method does not take is told before the load; one that turns out so
// in the load, by its values, fails alone.
func TestBadRequests(t *testing.T) {
	for _, tc := range []struct{ operation, want string }{
		{"{method: arith.Arith/Sum, body: {numbrs: [1]}}", `the request of arith.Arith/Sum has no field "numbrs": it has numbers`},
		{"{method: arith.Arith/Sum, body: {numbers: [x]}}", "numbers[0]"},
		{"{method: arith.Arith/Sum, body: '{\"numbers\":[{{string 3}}]}'}", "numbers[0]"},
		{"{method: arith.Arith/Sum, body: '{'}", "the body of"},
		{"{path: /x}", "has no method: name the method"},
		{"{method: a.B/C, path: /x}", "paths are for targets such as http://host"},
		{"{method: a.B/C, expect: {status: 404}}", `the status "404" is none: they are OK, NOT_FOUND`},
	} {
		f := mixOf(t, "operations:\n  - "+tc.operation+"\n", nil)
		if _, err := New(f, Options{Methods: sumMethods(), Callers: 1}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.operation, err, tc.want)
		}
	}
	f := mixOf(t, "data: d.csv\noperations:\n  - {method: arith.Arith/Sum, body: '{\"numbers\":[{{n}}]}'}\n", map[string]string{"d.csv": "n\n1\nx\n"})
	w, err := New(f, Options{Methods: sumMethods(), Callers: 1})
	if err != nil {
		t.Fatal(err)
	}
	c := w.Caller(1, 0)
	if _, in, _ := c.Next(); in.(*Call).Broken != nil {
		t.Errorf("the first row: %v", in.(*Call).Broken)
	}
	if _, in, _ := c.Next(); in.(*Call).Broken == nil || !strings.Contains(in.(*Call).Broken.Error(), "the request could not be made") {
		t.Errorf("the second row: %v", in.(*Call).Broken)
	}
}
