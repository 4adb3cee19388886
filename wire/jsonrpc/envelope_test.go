package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// FuzzEnvelope: the parser takes what RFC 8259 says is JSON (encoding/json and
// jsontext agree on that), and nothing else; what it hands out is in the text.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(sumRequestLine))
	f.Add([]byte(`[{"jsonrpc":"2.0","method":"a","params":{"\u0061":[1e5,-0.5,"\ud83d\ude00"]},"id":null,"meta":{},"timeout_ms":5},1,[]]`))
	f.Add([]byte(`{"id":1,"id":2}`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"))
	f.Add([]byte(` [ ] `))
	f.Add([]byte(`{"error":{"code":1,"message":"x"},"id":1}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var tx text
		err := tx.parse(in, grammar{maxBatch: 1000})
		var batch *batchError
		if errors.As(err, &batch) {
			err = nil
		}
		valid := json.Valid(in) && utf8.Valid(in)
		if deeper := deepest(in) > maxDepth; valid && deeper {
			valid = false
		}
		if (err == nil) != valid {
			t.Errorf("%q: %v, but it is valid: %v", in, err, valid)
		}
		if err != nil {
			return
		}
		sameAhead(t, in, &tx)
		for _, r := range tx.requests {
			parts := [][]byte{r.id, r.params, r.meta, r.timeout}
			for _, p := range parts {
				if p != nil && (!bytes.Contains(in, p) || !json.Valid(p)) {
					t.Errorf("%q: part %q", in, p)
				}
			}
		}
		var r response
		if r.parse(in) == nil && r.err == nil && r.result == nil {
			t.Errorf("%q: a response of nothing", in)
		}
	})
}

// sameAhead compares what the framer reads ahead of a text with what is read of
// the text by itself.
func sameAhead(t *testing.T, in []byte, tx *text) {
	t.Helper()
	session := &serverSession{service: &service{grammar: grammar{maxBatch: 1000}}}
	f := lineFramer{quick: session.readAhead}
	from, to, err := f.Next(in)
	if err != nil || to == 0 || tx.batch {
		return
	}
	var other text
	if err := session.parse(&other, in[from:to]); err != nil || other.batch || len(other.requests) != 1 {
		t.Errorf("%q: ahead %v, %v", in, other, err)
	} else if !reflect.DeepEqual(other.requests[0], tx.requests[0]) {
		t.Errorf("%q: ahead %+v, alone %+v", in, other.requests[0], tx.requests[0])
	}
	if session.ahead.frame != nil {
		t.Errorf("%q: the frame is kept", in)
	}
}

// deepest is the nesting of a text that is JSON.
func deepest(in []byte) int {
	depth, most, inString := 0, 0, false
	for i := 0; i < len(in); i++ {
		switch c := in[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

func TestScannerAgreesWithJSONText(t *testing.T) {
	for _, in := range []string{
		`0`, `-0`, `01`, `-`, `1.`, `.1`, `1.0e+5`, `1e`, `1E-3`, `+1`, `NaN`, `tru`, `true`, `nul`, `null`, `false`, `falsey`,
		`""`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u0000"`, "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"",
		`[]`, `[`, `[1`, `[1,`, `[1,]`, `[,]`, `[1 1]`, `{}`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `{1:1}`, ` `, ``, `{}{}`, "\ufeff{}",
	} {
		s := scanner{data: []byte(in)}
		_, err := s.value()
		if err == nil {
			err = s.end()
		}
		want := jsontext.Value(in).IsValid(jsontext.AllowDuplicateNames(true))
		if (err == nil) != want {
			t.Errorf("%q: %v, jsontext says valid: %v", in, err, want)
		}
	}
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	for in, want := range map[string]string{
		``:              "unexpected end of text, want a value at byte 0",
		` {"a":x}`:      `unexpected 'x', want a value at byte 6`,
		`{"a":1 "b"}`:   `unexpected '"', want ',' or '}' at byte 7`,
		`[1 2]`:         `unexpected '2', want ',' or ']' at byte 3`,
		`{"a":tru}`:     `unexpected '}', want true at byte 8`,
		`{"a":"\q"}`:    `invalid escape in a string at byte 6`,
		`{"a":1}x`:      `unexpected 'x', want the end of the text at byte 7`,
		`{"a":-}`:       `unexpected '}', want a digit at byte 6`,
		`{"a":"\`:       `unexpected end of text, want an escape at byte 7`,
		"{\"a\":\"\xff": `invalid UTF-8 in a string at byte 6`,
	} {
		var tx text
		if err := tx.parse([]byte(in), grammar{maxBatch: 10}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// TestParsingDoesNotAllocate, for requests and responses without escapes in
// what is ours.
func TestParsingDoesNotAllocate(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 100) + strings.Repeat(`]}`, 100)
	requests := []string{
		sumRequestLine,
		`{"jsonrpc":"2.0","method":"sum","params":` + deep + `,"id":"\u0061"}`,
		`{"jsonrpc":"2.0","method":"sum","params":["ä\u00e4\"", -1.5e10, true, null],"id":null,"meta":{"k":["v"]},"timeout_ms":5,"other":[]}`,
	}
	var tx text
	session := &serverSession{service: &service{grammar: grammar{maxBatch: 10}}}
	var framer lineFramer
	framer.quick = session.readAhead
	for _, in := range requests {
		frame := []byte(in + "\n")
		if n := testing.AllocsPerRun(100, func() {
			if err := tx.parse(frame, grammar{maxBatch: 10}); err != nil || tx.requests[0].invalid != "" {
				t.Error(err, tx.requests[0].invalid)
			}
		}); n != 0 {
			t.Errorf("%.60s: %v allocations", in, n)
		}
		if n := testing.AllocsPerRun(100, func() {
			from, to, err := framer.Next(frame)
			if err != nil || to != len(in) || session.parse(&tx, frame[from:to]) != nil || tx.requests[0].invalid != "" {
				t.Error(from, to, err)
			}
		}); n != 0 {
			t.Errorf("%.60s, from the stream: %v allocations", in, n)
		}
	}
	var r response
	for _, in := range []string{
		`{"jsonrpc":"2.0","result":41,"id":1}`, `{"result":` + deep + `,"error":null,"id":1}`,
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":"no \u0022","data":[1]},"id":null,"meta":{"header":{}}}`,
	} {
		frame := []byte(in)
		if n := testing.AllocsPerRun(100, func() {
			if err := r.parse(frame); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%.60s: %v allocations", in, n)
		}
	}
}

func TestMetaRoundTrip(t *testing.T) {
	key := rapid.StringMatching(`[a-z0-9_.-]{1,12}`)
	text := rapid.StringMatching(`[ -~]{0,20}`)
	rapid.Check(t, func(t *rapid.T) {
		md := map[string][]string{}
		for range rapid.IntRange(0, 4).Draw(t, "keys") {
			md[key.Draw(t, "key")] = rapid.SliceOfN(text, 1, 3).Draw(t, "values")
			md[key.Draw(t, "key")+binSuffix] = []string{string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))}
		}
		raw := appendMeta(nil, md)
		if !json.Valid(raw) {
			t.Fatalf("not JSON: %s", raw)
		}
		got, err := parseMeta(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for k, vs := range md {
			if strings.Join(got[k], "\x00") != strings.Join(vs, "\x00") {
				t.Fatalf("%s: %q, want %q", k, got[k], vs)
			}
		}
	})
}
