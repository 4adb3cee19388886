package jsonrpc

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// A vector is a message and what it is. testdata/vectors.jsonl has the facts of
// go.lsp.dev/jsonrpc2's conformance vectors, in the order that they have there.
type vector struct {
	Wire, Kind, Method, Params, Result string
	Code                               int
}

// departures are vectors that this wire judges otherwise, and what it says.
var departures = map[string]string{
	// Section 4 speaks of a request whose id is null and calls it unusual, not
	// a notification, "which has no id member".
	`{"jsonrpc":"2.0","method":"notify","id":null}`: "call",
	// Servers of version 1.0 answer so, and our client can call them.
	`{"result":1,"id":1}`: "result",
}

// kindOf says what our parsers take a message for.
func kindOf(t *testing.T, v *vector) string {
	t.Helper()
	var tx text
	var res response
	err := tx.parse([]byte(v.Wire), grammar{maxBatch: 10})
	resErr := res.parse([]byte(v.Wire))
	switch {
	case err == nil && tx.requests[0].invalid == "" && resErr == nil:
		t.Errorf("%s is both a request and a response", v.Wire)
	case err == nil && tx.requests[0].invalid == "":
		r := tx.requests[0]
		if string(r.method) != v.Method || string(r.params) != v.Params {
			t.Errorf("%s: method %q, params %q", v.Wire, r.method, r.params)
		}
		if r.notification() {
			return "notification"
		}
		return "call"
	case resErr == nil && res.err != nil:
		var e struct{ Code int }
		if err := json.Unmarshal(res.err, &e); err != nil || e.Code != v.Code {
			t.Errorf("%s: code %d, %v", v.Wire, e.Code, err)
		}
		return "error"
	case resErr == nil:
		if v.Result != "" && string(res.result) != v.Result {
			t.Errorf("%s: result %s", v.Wire, res.result)
		}
		return "result"
	}
	return "invalid"
}

func TestConformanceVectors(t *testing.T) {
	file, err := os.Open("testdata/vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := 0
	for lines := bufio.NewScanner(file); lines.Scan(); count++ {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		want := v.Kind
		if other := departures[v.Wire]; other != "" {
			want = other
		}
		if got := kindOf(t, &v); got != want {
			t.Errorf("%s: taken for %s, want %s", v.Wire, got, want)
		}
	}
	if count != 28 {
		t.Errorf("%d vectors, want 28", count)
	}
}
