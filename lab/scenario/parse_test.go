package scenario

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/everywire/everywire/lab/data"
)

const mix = `# a login, and checks of its token
data:
  file: users.csv
  order: unique
set:
  trace: "{{uuid}}"
headers:
  X-Trace: "{{trace}}"
operations:
  - name: Authenticate
    method: POST
    path: /api/v2/authentication
    body: {username: "{{username}}", n: 12345678901234567890, ok: [true, null, 1.50]}
    expect:
      status: [200, 201]
    extract:
      token: token
  - name: Verify
    count: 20
    method: GET
    path: '/api/v2/session?x={{seq}}'
    headers:
      Authorization: Bearer {{token}}
    expect:
      json:
        a.b[0]: 41
        ".": "{{trace}}"
        text: "41"
  - method: session.Validate
    body: |
      ["{{token}}"]
`

func TestParse(t *testing.T) {
	f, err := Parse("mix.yaml", []byte(mix))
	if err != nil {
		t.Fatal(err)
	}
	if f.Data == nil || f.Data.File.Text != "users.csv" || f.Data.Order != data.Unique || f.Weighted {
		t.Errorf("data is %+v, weighted %v", f.Data, f.Weighted)
	}
	if len(f.Set) != 1 || f.Set[0].Name != "trace" || f.Set[0].Value.Text != "{{uuid}}" || len(f.Headers) != 1 {
		t.Errorf("set is %+v, headers %+v", f.Set, f.Headers)
	}
	if len(f.Operations) != 3 {
		t.Fatalf("there are %d operations", len(f.Operations))
	}
	login, verify, rpc := f.Operations[0], f.Operations[1], f.Operations[2]
	if want := `{"username":"{{username}}","n":12345678901234567890,"ok":[true,null,1.50]}`; login.Body == nil || login.Body.Text != want {
		t.Errorf("the body is %+v, want %s", login.Body, want)
	}
	if login.Count != 1 || len(login.Expect.Status) != 2 || login.Expect.Status[1].Text != "201" || login.Extract[0].Name != "token" {
		t.Errorf("the login is %+v", login)
	}
	if verify.Count != 20 || verify.Body != nil || verify.Headers[0].Value.Text != "Bearer {{token}}" {
		t.Errorf("the check is %+v", verify)
	}
	var wants []string
	for _, c := range verify.Expect.JSON {
		wants = append(wants, c.Path.String()+"="+c.Value.Text)
	}
	if want := []string{"a.b[0]=41", ".={{trace}}", `text="41"`}; !reflect.DeepEqual(wants, want) {
		t.Errorf("the reply is to have %q, want %q", wants, want)
	}
	if rpc.Name != "session.Validate" || rpc.Body.Text != "[\"{{token}}\"]\n" {
		t.Errorf("the last is %+v", rpc)
	}
}

// Where a template stands in the file is known, so that its errors can tell.
func TestOrigins(t *testing.T) {
	f, err := Parse("mix.yaml", []byte(mix))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(mix, "\n")
	for _, c := range []struct {
		text Text
		find string
	}{
		{f.Set[0].Value, "{{uuid}}"},
		{f.Operations[0].Scalars[0], "{{username}}"},
		{f.Operations[1].Path, "{{seq}}"},
		{f.Operations[1].Headers[0].Value, "{{token}}"},
		{*f.Operations[2].Body, "{{token}}"},
	} {
		e := c.text.From.At(c.text.Text, strings.Index(c.text.Text, c.find), "x")
		if e.Line < 1 || e.Line > len(lines) || !strings.HasPrefix(lines[e.Line-1][min(e.Column-1, len(lines[e.Line-1])):], c.find) {
			t.Errorf("%s is said to be at line %d column %d", c.find, e.Line, e.Column)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "m: it is empty"},
		{"\xff", "it is not UTF-8"},
		{"operations", "m: line 1 column 1: a mix file is a mapping, this is a text"},
		{"operations: []", "a mix file has operations"},
		{"set: {}", "a mix file has operations"},
		{"opertions: []", `line 1 column 1: a mix file has no "opertions": it has data, set, headers, operations`},
		{"operations: {}", "line 1 column 13: operations is a list, this is a mapping"},
		{"operations:\n  - nme: x", `line 2 column 5: an operation has no "nme": it has name, method, path`},
		{"operations:\n  - name: x\n    name: y", "line 3 column"},
		{"operations:\n  - {}", "line 2 column 5: an operation has a method"},
		{"operations:\n  - name: [1]", "line 2 column 11: name is a text, this is a list"},
		{"operations:\n  - method: a\n    weight: 0", "line 3 column 13: weight is a whole number from 1 to 1000000"},
		{"operations:\n  - method: a\n    count: -1", "line 3 column 12: count is a whole number"},
		{"operations:\n  - method: a\n    count: x", "count is a whole number"},
		{"operations:\n  - method: a\n    count: 2\n    weight: 2", "line 3 column 5: an operation has weight or count, not both"},
		{"operations:\n  - method: a\n    weight: 2\n  - method: b", "line 4 column 5: either all operations have a weight"},
		{"operations:\n  - method: a\n  - method: a", `line 3 column 5: two operations are named "a"`},
		{"operations:\n  - method: a\n    body: {a: 1}\n    bodyFile: x", "body or bodyFile, not both"},
		{"operations:\n  - method: a\n    body: {a: 0x1f}", "line 3 column 15: 0x1f is no number of JSON"},
		{"operations:\n  - method: a\n    body: {a: .inf}", "JSON has no form for this"},
		{"operations:\n  - method: a\n    body: {a: &x 1, b: *x}", "an anchor or an alias"},
		{"operations:\n  - method: a\n    expect: {json: {a..b: 1}}", "line 3 column 23: a name is missing"},
		{"operations:\n  - method: a\n    expect: {code: 1}", `line 3 column 14: expect has no "code": it has status, json`},
		{"operations:\n  - method: a\n    extract: {t: ''}", "the path is empty"},
		{"data: {order: random}\noperations:\n  - method: a", "data has a file"},
		{"data: {file: x.csv, order: up}\noperations:\n  - method: a", `line 1 column 28: the order "up" is none: it is one of sequential, random, unique`},
		{"operations:\n  - method: a\n---\noperations: []", "line 4 column 1: this is another document"},
		{"operations: " + strings.Repeat("[", 2000), "nests more than 500 deep"},
		{"operations:\n  - method: {{a}}", "line 2 column"},
		{"operations: [", "line 1 column"},
		{"operations:\n\t- method: a", "line 2 column"},
	} {
		_, err := Parse("m", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// Files are found beside the mix file.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("order.json", `{"a":1}`)
	f, err := Read(write("mix.yaml", "data: users.csv\noperations:\n  - method: a\n    bodyFile: order.json\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Data.File.Text != filepath.Join(dir, "users.csv") || f.Operations[0].Body.Text != `{"a":1}` {
		t.Errorf("got %+v and %+v", f.Data, f.Operations[0].Body)
	}
	_, err = Read(write("bad.yaml", "operations:\n  - method: a\n    bodyFile: none.json\n"))
	if err == nil || !strings.Contains(err.Error(), "line 3 column 15: ") || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("got %v", err)
	}
	if _, err = Read(write("large.yaml", strings.Repeat("#", MaxFile+1))); err == nil || !strings.Contains(err.Error(), "256 KiB") {
		t.Errorf("got %v", err)
	}
}
