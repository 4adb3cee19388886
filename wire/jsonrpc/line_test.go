package jsonrpc

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// frames cuts a stream that arrives in the given pieces, as a server does: with
// the quick way for what is there whole.
func frames(pieces ...[]byte) (all []string, rest string, err error) {
	return cutUp(&lineFramer{quick: validObject}, pieces...)
}

func TestFramer(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
		rest string
	}{
		"lines":                 {"{}\n[]\r\n", []string{"{}", "[]"}, ""},
		"side by side":          {`{}[]{"a":1}`, []string{"{}", "[]", `{"a":1}`}, ""},
		"white space":           {" \t\r\n ", nil, ""},
		"brackets in strings":   {`{"}":"]{\"}"}[`, []string{`{"}":"]{\"}"}`}, "["},
		"incomplete":            {`{"a":[1,2`, nil, `{"a":[1,2`},
		"incomplete string":     {`{"a`, nil, `{"a`},
		"scalar before the end": {"[1\n,true]", []string{"[1\n,true]"}, ""},
		"wrong bracket":         {"{\"a\":1]\n{}\n", []string{"{\"a\":1]\n", "{}"}, ""},
		"wrong comma":           {"[,1]\n{}\n", []string{"[,1]\n", "{}"}, ""},
		"trailing comma":        {"[1,]\n{}\n", []string{"[1,]\n", "{}"}, ""},
		"trailing comma, name":  {"{\"a\":1,}\n{}\n", []string{"{\"a\":1,}\n", "{}"}, ""},
		"no comma":              {"[1 2]\n{}\n", []string{"[1 2]\n", "{}"}, ""},
		"no colon":              {"{\"a\" 1}\n{}\n", []string{"{\"a\" 1}\n", "{}"}, ""},
		"wrong colon":           {"[1:2]\n{}\n", []string{"[1:2]\n", "{}"}, ""},
		"no name":               {"{1:2}\n{}\n", []string{"{1:2}\n", "{}"}, ""},
		"no quote":              {"{\"a\":'1'}\n{}\n", []string{"{\"a\":'1'}\n", "{}"}, ""},
		"broken, not ended":     {"{\"a\":'1'}", nil, "{\"a\":'1'}"},
		"string over the line":  {"{\"a\n{}", []string{"{\"a\n", "{}"}, ""},
		"escape over the line":  {"{\"a\\\n{}", []string{"{\"a\\\n", "{}"}, ""},
		"line not finished":     {"{\"a\":1\n{}\n", []string{"{\"a\":1\n", "{}"}, ""},
		"deepest":               {strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), []string{strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)}, ""},
		"too deep":              {strings.Repeat("[", maxDepth+1) + "\n{}", []string{strings.Repeat("[", maxDepth+1) + "\n", "{}"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest, err := frames([]byte(tc.in))
			if err != nil || !slices.Equal(got, tc.want) || rest != tc.rest {
				t.Errorf("got %q and %q, %v", got, rest, err)
			}
		})
	}
	for _, in := range []string{"x", "1", "\"a\"", "\n\x00", "}", "]", ",", "{}x", "[]\n]"} {
		if got, _, err := frames([]byte(in)); err == nil {
			t.Errorf("%q: no error, frames %q", in, got)
		}
	}
}

// TestFramerIsLinear: each byte is looked at a bounded number of times, also
// when they come one by one.
func TestFramerIsLinear(t *testing.T) {
	in := []byte("[" + strings.Repeat(`{"a":"bc"},`+"\n", 20_000) + "1]")
	var f lineFramer
	for i := range in {
		before := f.pos
		if _, to, err := f.Next(in[:i+1]); err != nil || (to > 0) != (i == len(in)-1) {
			t.Fatalf("byte %d: %d, %v", i, to, err)
		}
		if i < len(in)-1 && f.pos != before+1 {
			t.Fatalf("byte %d: from %d to %d", i, before, f.pos)
		}
	}
}

// FuzzFramer: wherever a stream is cut, the frames are the same; and a frame
// that is JSON is one whole value.
func FuzzFramer(f *testing.F) {
	f.Add([]byte(sumRequestLine+"\n[]\r\n{\"a\":\"\\\\\\\"ä😀\"}"), 7, 30)
	f.Add([]byte("{\"a\":1\n{}\n{\"b\"\n\n}\n"), 6, 7)
	f.Add([]byte("[[[[\n]]\"\n"), 1, 2)
	f.Add([]byte(" {"), 1, 1)
	f.Add([]byte("\n\n[1\n2]\n{}"), 4, 6)
	f.Fuzz(func(t *testing.T, in []byte, a, b int) {
		whole, rest, err := frames(in)
		n := len(in) + 1
		i, j := (a%n+n)%n, (b%n+n)%n
		if i > j {
			i, j = j, i
		}
		cutFrames, cutRest, cutErr := frames(in[:i], in[i:j], in[j:])
		if !slices.Equal(whole, cutFrames) || rest != cutRest || (err == nil) != (cutErr == nil) {
			t.Errorf("whole: %q %q %v\ncut at %d and %d: %q %q %v", whole, rest, err, i, j, cutFrames, cutRest, cutErr)
		}
		for _, frame := range whole {
			// What the decoder takes from the frame, and what is left of it.
			d := json.NewDecoder(strings.NewReader(frame))
			var v json.RawMessage
			if d.Decode(&v) == nil && d.InputOffset() != int64(len(frame)) {
				left := frame[d.InputOffset():]
				if strings.TrimSpace(left) != "" {
					t.Errorf("frame %q has %q behind its value", frame, left)
				}
			}
		}
	})
}

// TestFramerFindsEveryMessage: valid JSON in any layout comes out as it went in.
func TestFramerFindsEveryMessage(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(4) })
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		want := make([]string, 0, 5)
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			b, err := json.Marshal([]any{value.Draw(t, "value")})
			if err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "indented") {
				var indented bytes.Buffer
				if err := json.Indent(&indented, b, "\r", " "); err != nil {
					t.Fatal(err)
				}
				b = indented.Bytes()
			}
			stream.Write(b)
			stream.WriteString(rapid.SampledFrom([]string{"", "\n", "\r\n", " \n\n"}).Draw(t, "separator"))
			want = append(want, string(b))
		}
		at := rapid.IntRange(0, stream.Len()).Draw(t, "cut")
		got, rest, err := frames(stream.Bytes()[:at], stream.Bytes()[at:])
		if err != nil || rest != "" || !slices.Equal(got, want) {
			t.Fatalf("got %q %q %v\nwant %q", got, rest, err, want)
		}
	})
}

// jsonValue draws what encoding/json can write.
func jsonValue(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.String().AsAny(),
	}
	if depth > 0 {
		inner := rapid.Deferred(func() *rapid.Generator[any] { return jsonValue(depth - 1) })
		scalars = append(scalars, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 4).AsAny())
	}
	return rapid.OneOf(scalars...)
}
