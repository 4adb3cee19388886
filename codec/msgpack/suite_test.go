package msgpack

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire/schema"
)

// A suiteCase is one value of https://github.com/kawanet/msgpack-test-suite
// (MIT licence) with all encodings of it, the shortest first.
type suiteCase struct {
	Msgpack   []string
	Nil       *json.RawMessage
	Bool      *bool
	Binary    *string
	Number    *float64
	Bignum    *string
	String    *string
	Array     []any
	Map       map[string]any
	Timestamp []int64
	Ext       []any
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// want returns the value as a document holds it.
func (c *suiteCase) want(t *testing.T) any {
	switch {
	case c.Bool != nil:
		return *c.Bool
	case c.Binary != nil:
		return unhex(t, *c.Binary)
	case c.Bignum != nil:
		n, _ := new(big.Int).SetString(*c.Bignum, 10)
		if n.IsInt64() {
			return n.Int64()
		}
		return n.Uint64()
	case c.Number != nil:
		return plainNumbers(*c.Number)
	case c.String != nil:
		return *c.String
	case c.Array != nil:
		return plainNumbers(c.Array)
	case c.Map != nil:
		return plainNumbers(c.Map)
	case c.Ext != nil:
		return Extension{Type: int8(c.Ext[0].(float64)), Data: unhex(t, c.Ext[1].(string))}
	case c.Timestamp != nil:
		return time.Unix(c.Timestamp[0], c.Timestamp[1]).UTC()
	default:
		return nil
	}
}

// plainNumbers turns integral floats, which is what encoding/json makes of
// integers, into integers.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

func TestSuite(t *testing.T) {
	data, err := os.ReadFile("testdata/msgpack-test-suite.json")
	if err != nil {
		t.Fatal(err)
	}
	var suite map[string][]suiteCase
	if err := json.Unmarshal(data, &suite); err != nil {
		t.Fatal(err)
	}
	decoded := 0
	for file, cases := range suite {
		for _, c := range cases {
			want := c.want(t)
			for _, enc := range c.Msgpack {
				var doc schema.Document
				err := Codec{}.Decode(unhex(t, enc), &doc)
				if err != nil {
					t.Errorf("%s: %s: %v", file, enc, err)
					continue
				}
				got := doc.Value
				if first := unhex(t, enc)[0]; first == formatFloat32 || first == formatFloat64 {
					if _, ok := got.(float64); !ok {
						t.Errorf("%s: %s is %T, want float64", file, enc, got)
					}
					got = plainNumbers(got)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s:\n%s", file, enc, diff)
				}
				decoded++
			}
			ours, err := Codec{}.Append(nil, &schema.Document{Value: want})
			if err != nil {
				t.Errorf("%s: %v: %v", file, want, err)
				continue
			}
			known := slices.ContainsFunc(c.Msgpack, func(enc string) bool { return slices.Equal(unhex(t, enc), ours) })
			if !known {
				t.Errorf("%s: %v is written as %x, want one of %v", file, want, ours, c.Msgpack)
			}
			for _, enc := range c.Msgpack { // a float32 is another type
				if b := unhex(t, enc); b[0] != formatFloat32 && len(b) < len(ours) {
					t.Errorf("%s: %v is written as %x, and %s is shorter", file, want, ours, enc)
				}
			}
		}
	}
	if decoded != 233 {
		t.Errorf("%d encodings were decoded, the suite has 233", decoded)
	}
}
