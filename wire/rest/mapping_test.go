package rest

import (
	"strings"
	"testing"

	jsoncodec "github.com/everywire/everywire/codec/json"
)

// filled is an item's JSON with every field; other JSON as it is.
func filled(t *testing.T, text string) string {
	var in item
	if (jsoncodec.Codec{}).Decode([]byte(text), &in) != nil {
		return text
	}
	b, err := (jsoncodec.Codec{}).Append(nil, &in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a request means: path, query and body become one message.
func TestMapping(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	for _, c := range []struct {
		name, line, body, want string
	}{
		{"default route", "POST /test.Items/Plain", `{"key":"a","size":3}`, `{"key":"a","size":3}`},
		{"default route, empty", "POST /test.Items/Plain", "", `{}`},
		{"default route, escaped name", "POST /test.Items/%50lain", "", `{}`},
		{"document", "POST /test.Items/Echo", ` [1,"x",null] `, `[1,"x",null]`},
		{"path", "GET /items/a", "", `{"key":"a"}`},
		{"path, escaped slash is data", "GET /items/a%2Fb", "", `{"key":"a/b"}`},
		{"path, escaped percent", "GET /items/a%252Fb", "", `{"key":"a%2Fb"}`},
		{"path, plus is a plus", "GET /items/a+b%20c", "", `{"key":"a+b c"}`},
		{"path, UTF-8", "GET /items/%C3%A9", "", `{"key":"é"}`},
		{"path, quotes", `GET /items/a%22%5C%0A`, "", `{"key":"a\"\\\n"}`},
		{"path, dots are data", "GET /items/..", "", `{"key":".."}`},
		{"path, numbers and bools", "DELETE /items/k/sizes/-12/true", "", `{"key":"k","size":-12,"on":true}`},
		{"path, number in a string field", "GET /items/007", "", `{"key":"007"}`},
		{"path, injection", "GET /items/a%22,%22size%22:%225", "", `{"key":"a\",\"size\":\"5"}`},
		{"query", "GET /items?key=a&size=5&on=true&ratio=0.5&pageSize=2&limit=0", "", `{"key":"a","size":5,"on":true,"ratio":0.5,"pageSize":2,"limit":0}`},
		{"query, protobuf name", "GET /items?page_size=2", "", `{"pageSize":2}`},
		{"query, spaces", "GET /items?key=a+b%20c%2Bd", "", `{"key":"a b c+d"}`},
		{"query, repeated", "GET /items?tags=b&size=1&tags=a&tags=", "", `{"size":1,"tags":["b","a",""]}`},
		{"query, one of a list", "GET /items?numbers=9007199254740993", "", `{"numbers":[9007199254740993]}`},
		{"query, bytes", "GET /items?data=AP%2B%2F", "", `{"data":"AP+/"}`},
		{"query, bytes in base64url", "GET /items?data=AP-_", "", `{"data":"AP+/"}`},
		{"query, time and duration", "GET /items?at=2026-01-02T03:04:05Z&wait=1.5s", "", `{"at":"2026-01-02T03:04:05Z","wait":"1.5s"}`},
		{"query, not a finite number", "GET /items?ratio=NaN", "", `{"ratio":"NaN"}`},
		{"query, empty parts", "GET /items?&key=a&", "", `{"key":"a"}`},
		{"query, semicolon and equals are data", "GET /items?key=a;b=c", "", `{"key":"a;b=c"}`},
		{"query, escaped name", "GET /items?%6Bey=a", "", `{"key":"a"}`},
		{"path and query", "GET /items/a?tags=x", "", `{"key":"a","tags":["x"]}`},
		{"path and body", "PUT /items/a", ` { "size" : 1 } `, `{"key":"a","size":1}`},
		{"path and empty object", "PUT /items/a", "{ }", `{"key":"a"}`},
		{"path and no body", "PUT /items/a", "", `{"key":"a"}`},
		{"body is one field", "PUT /items/a/sub", ` {"name":"n"} `, `{"name":"n"}`},
		{"body is one field, absent", "PUT /items/a/sub", "", `null`},
		{"response is one field", "GET /items/a/tags?tags=x&tags=y", "", `["x","y"]`},
		{"response is one field, empty", "GET /items/a/tags", "", `[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := do(t, addr, c.line, c.body)
			if r.status != 200 || !sameJSON(t, filled(t, c.want), filled(t, r.body)) {
				t.Fatalf("%s %s\n got %d %s\nwant 200 %s", c.line, c.body, r.status, r.body, c.want)
			}
			if r.header.Get("Content-Type") != "application/json" || r.header.Get("Content-Length") != itoa(len(r.body)) {
				t.Errorf("headers %v", r.header)
			}
		})
	}
}

// What the client did wrong is 400 and names it.
func TestBadRequests(t *testing.T) {
	addr := serve(t, serverConfig(itemRegistry()))
	for _, c := range []struct {
		name, line, body, names string
	}{
		{"syntax", "POST /test.Items/Plain", `{"key":`, "key"},
		{"trailing text", "POST /test.Items/Plain", `{} {}`, "after"},
		{"white space only", "POST /test.Items/Plain", ` `, ""},
		{"wrong type", "POST /test.Items/Plain", `{"size":"x"}`, "size"},
		{"not an object", "POST /test.Items/Plain", `[]`, "object"},
		{"document without a body", "POST /test.Items/Echo", "", ""},
		{"unknown parameter", "GET /items?colour=1", "", `"colour"`},
		{"empty name", "GET /items?=a", "", `""`},
		{"twice", "GET /items?key=a&key=b", "", `"key"`},
		{"twice, two names", "GET /items?pageSize=1&page_size=2", "", `page`},
		{"message", "GET /items?sub=a", "", `"sub"`},
		{"map", "GET /items?labels=a", "", `"labels"`},
		{"number", "GET /items?size=abc", "", `size`},
		{"number, empty", "GET /items?size=", "", `size`},
		{"number, JSON smuggled", "GET /items?size=1,%22key%22:%22x%22", "", `size`},
		{"number, out of range", "GET /items?pageSize=4294967296", "", `pageSize`},
		{"number in a list", "GET /items?numbers=1&numbers=x", "", `numbers`},
		{"bool", "GET /items?on=yes", "", `on`},
		{"bytes", "GET /items?data=!", "", `data`},
		{"time", "GET /items?at=yesterday", "", `at`},
		{"malformed escape", "GET /items?key=%zz", "", `"key"`},
		{"not UTF-8 in a query", "GET /items?key=%ff", "", `"key"`},
		{"not UTF-8 in a path", "GET /items/%ff", "", `key`},
		{"number in a path", "DELETE /items/k/sizes/big/true", "", `size`},
		{"field of the path in the query", "GET /items/a?key=b", "", `"key"`},
		{"field of the path in the body", "PUT /items/a", `{"key":"b"}`, "key"},
		{"query beside the body", "PUT /items/a?size=1", `{}`, `"size"`},
		{"query on the default route", "POST /test.Items/Plain?size=1", `{}`, `"size"`},
		{"field of the body in the query", "PUT /items/a/sub?sub=1", `{}`, `"sub"`},
		{"unexpected body", "GET /items/a", `{}`, "body"},
		{"body is no object", "PUT /items/a", `[1]`, "object"},
		{"body is cut", "PUT /items/a", `{"labels":{"a":"b"}`, ""},
		{"body ends in a comma", "PUT /items/a", `{"size":1,}`, ""},
		{"body is a comma", "PUT /items/a", `{,}`, ""},
		{"body ends within a string", "PUT /items/a", `{"labels":{"a":"}`, ""},
		{"members smuggled past one field", "PUT /items/a/sub", `{"name":"n"},"size":5`, "sub"},
		{"object closed within the body", "PUT /items/a", `{"size":1}, {"size":2}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := do(t, addr, c.line, c.body)
			p := checkProblem(t, r)
			if r.status != 400 || p.Code != "INVALID_ARGUMENT" || !strings.Contains(p.Detail, c.names) {
				t.Errorf("%s %s\ngot %d %s %q\nwant 400 with %s", c.line, c.body, r.status, p.Code, p.Detail, c.names)
			}
		})
	}
}
