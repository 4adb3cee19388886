package cbor

import (
	"encoding/hex"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	fx "github.com/fxamacker/cbor/v2"

	"github.com/everywire/everywire/schema"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func list(v ...any) []any { return append([]any{}, v...) }

func upTo(n int) []any {
	all := make([]any, 0, n)
	for i := range n {
		all = append(all, int64(i+1))
	}
	return all
}

type object = map[string]any

// The examples of RFC 8949, Appendix A, as a document holds them. Those that
// are read only are not in preferred serialization, have a tag that is passed
// over, or hold undefined.
var appendix = []struct {
	hex   string
	value any
	only  bool
}{
	{"00", int64(0), false}, {"01", int64(1), false}, {"0a", int64(10), false}, {"17", int64(23), false},
	{"1818", int64(24), false}, {"1819", int64(25), false}, {"1864", int64(100), false}, {"1903e8", int64(1000), false},
	{"1a000f4240", int64(1000000), false}, {"1b000000e8d4a51000", int64(1000000000000), false},
	{"1bffffffffffffffff", uint64(math.MaxUint64), false},
	{"c249010000000000000000", schema.Number("18446744073709551616"), false},
	{"3bffffffffffffffff", schema.Number("-18446744073709551616"), false},
	{"c349010000000000000000", schema.Number("-18446744073709551617"), false},
	{"20", int64(-1), false}, {"29", int64(-10), false}, {"3863", int64(-100), false}, {"3903e7", int64(-1000), false},
	{"f90000", 0.0, false}, {"f98000", math.Copysign(0, -1), false}, {"f93c00", 1.0, false}, {"fb3ff199999999999a", 1.1, false},
	{"f93e00", 1.5, false}, {"f97bff", 65504.0, false}, {"fa47c35000", 100000.0, false}, {"fa7f7fffff", 3.4028234663852886e+38, false},
	{"fb7e37e43c8800759c", 1.0e+300, false}, {"f90001", 5.960464477539063e-8, false}, {"f90400", 0.00006103515625, false},
	{"f9c400", -4.0, false}, {"fbc010666666666666", -4.1, false},
	{"f97c00", math.Inf(1), false}, {"f97e00", math.NaN(), false}, {"f9fc00", math.Inf(-1), false},
	{"fa7f800000", math.Inf(1), true}, {"fa7fc00000", math.NaN(), true}, {"faff800000", math.Inf(-1), true},
	{"fb7ff0000000000000", math.Inf(1), true}, {"fb7ff8000000000000", math.NaN(), true}, {"fbfff0000000000000", math.Inf(-1), true},
	{"f4", false, false}, {"f5", true, false}, {"f6", nil, false}, {"f7", nil, true},
	{"c074323031332d30332d32315432303a30343a30305a", time.Date(2013, 3, 21, 20, 4, 0, 0, time.UTC), false},
	{"c11a514b67b0", time.Date(2013, 3, 21, 20, 4, 0, 0, time.UTC), true},
	{"c1fb41d452d9ec200000", time.Date(2013, 3, 21, 20, 4, 0, 5e8, time.UTC), true},
	{"d74401020304", []byte{1, 2, 3, 4}, true}, {"d818456449455446", []byte("dIETF"), true},
	{"d82076687474703a2f2f7777772e6578616d706c652e636f6d", "http://www.example.com", true},
	{"40", []byte{}, false}, {"4401020304", []byte{1, 2, 3, 4}, false},
	{"60", "", false}, {"6161", "a", false}, {"6449455446", "IETF", false}, {"62225c", `"\`, false},
	{"62c3bc", "\u00fc", false}, {"63e6b0b4", "\u6c34", false}, {"64f0908591", "\U00010151", false},
	{"80", list(), false}, {"83010203", list(int64(1), int64(2), int64(3)), false},
	{"8301820203820405", list(int64(1), list(int64(2), int64(3)), list(int64(4), int64(5))), false},
	{"98190102030405060708090a0b0c0d0e0f101112131415161718181819", upTo(25), false},
	{"a0", object{}, false}, {"a26161016162820203", object{"a": int64(1), "b": list(int64(2), int64(3))}, false},
	{"826161a161626163", list("a", object{"b": "c"}), false},
	{"a56161614161626142616361436164614461656145", object{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}, false},
	{"5f42010243030405ff", []byte{1, 2, 3, 4, 5}, true}, {"7f657374726561646d696e67ff", "streaming", true},
	{"9fff", list(), true}, {"9f018202039f0405ffff", list(int64(1), list(int64(2), int64(3)), list(int64(4), int64(5))), true},
	{"9f01820203820405ff", list(int64(1), list(int64(2), int64(3)), list(int64(4), int64(5))), true},
	{"83018202039f0405ff", list(int64(1), list(int64(2), int64(3)), list(int64(4), int64(5))), true},
	{"83019f0203ff820405", list(int64(1), list(int64(2), int64(3)), list(int64(4), int64(5))), true},
	{"9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", upTo(25), true},
	{"bf61610161629f0203ffff", object{"a": int64(1), "b": list(int64(2), int64(3))}, true},
	{"826161bf61626163ff", list("a", object{"b": "c"}), true},
	{"bf6346756ef563416d7421ff", object{"Fun": true, "Amt": int64(-2)}, true},
}

// same is DeepEqual, with NaN like itself and zeros with their signs.
func same(a, b any) bool {
	if x, ok := a.(float64); ok {
		y, ok := b.(float64)
		return ok && (math.IsNaN(x) && math.IsNaN(y) || math.Float64bits(x) == math.Float64bits(y))
	}
	return reflect.DeepEqual(a, b)
}

func TestAppendixA(t *testing.T) {
	for _, tt := range appendix {
		var doc schema.Document
		if err := (Codec{}).Decode(unhex(t, tt.hex), &doc); err != nil || !same(doc.Value, tt.value) {
			t.Errorf("%s is read as %#v, %v, want %#v", tt.hex, doc.Value, err, tt.value)
		}
		got, err := Codec{}.Append(nil, &schema.Document{Value: tt.value})
		if err != nil || !tt.only && hex.EncodeToString(got) != tt.hex {
			t.Errorf("%#v is written as %x, %v, want %s", tt.value, got, err, tt.hex)
		}
	}
	// What has no meaning to a document, and keys that are no text.
	for data, want := range map[string]string{
		"f0": "the simple value 16 has no meaning", "f8ff": "the simple value 255 has no meaning",
		"a201020304": "an integer as a key where a string is needed",
	} {
		if err := (Codec{}).Decode(unhex(t, data), new(schema.Document)); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
	}
}

// RFC 8949, Appendix F: what is not well-formed. Most of it ends too early, and
// so does every beginning of a well-formed item.
func TestNotWellFormed(t *testing.T) {
	bad := []string{
		"18", "19", "1a", "1b", "1901", "1a0102", "1b01020304050607", "38", "58", "78", "98", "9a01ff00", "b8", "d8", "f8", "f900", "fa0000", "fb000000",
		"41", "61", "5affffffff00", "5bffffffffffffffff010203", "7affffffff00", "7b7fffffffffffffff010203",
		"81", "818181818181818181", "8200", "a1", "a20102", "a100", "a2000000", "c0", "5f4100", "7f6100", "9f", "9f0102", "bf", "bf01020102", "819f", "9f8000", "9f9f9f9f9fffffffff", "9f819f819f9fffffff",
		"1c", "1d", "1e", "3c", "3d", "3e", "5c", "5d", "5e", "7c", "7d", "7e", "9c", "9d", "9e", "bc", "bd", "be", "dc", "dd", "de", "fc", "fd", "fe",
		"f800", "f801", "f818", "f81f",
		"5f00ff", "5f21ff", "5f6100ff", "5f80ff", "5fa0ff", "5fc000ff", "5fe0ff", "7f4100ff", "5f5f4100ffff", "7f7f6100ffff", "7f61c361bcff",
		"ff", "81ff", "8200ff", "a1ff", "a1ff00", "a100ff", "a20000ff", "9f81ff", "9f829f819f9fffffffff", "bf00ff", "bf000000ff", "9fc0ff", "9fd90110ff", "c0ff",
		"1f", "3f", "df", "0000", "9fff00", "c2", "c240ff", "c26100", "c25f4101",
	}
	for _, tt := range appendix {
		data := unhex(t, tt.hex)
		for cut := range data {
			bad = append(bad, hex.EncodeToString(data[:cut]))
		}
	}
	for _, data := range bad {
		b := unhex(t, data)
		var doc schema.Document
		if err := (Codec{}).Decode(b, &doc); err == nil {
			t.Errorf("%s is read as %#v", data, doc.Value)
		}
		// Nor where nothing looks at the value.
		type empty struct {
			X int `wire:"1"`
		}
		if err := (Codec{}).Decode(append([]byte("\xa1\x61y"), b...), new(empty)); err == nil && fx.Wellformed(b) != nil {
			t.Errorf("%s is skipped", data)
		}
	}
}

func TestBignums(t *testing.T) {
	for data, want := range map[string]any{
		"c240": int64(0), "c340": int64(-1), "c2420001": int64(1), "c3427fff": int64(-32768),
		"c24a00008000000000000000": uint64(1 << 63), "c3487fffffffffffffff": int64(math.MinInt64),
		"c3488000000000000000": schema.Number("-9223372036854775809"), "3b8000000000000000": schema.Number("-9223372036854775809"),
		"d9d9f7c240": int64(0), "c25f41014100ff": int64(256),
	} {
		var doc schema.Document
		if err := (Codec{}).Decode(unhex(t, data), &doc); err != nil || doc.Value != want {
			t.Errorf("%s is read as %#v, %v, want %#v", data, doc.Value, err, want)
		}
	}
	type numbers struct {
		I int64   `wire:"1"`
		F float64 `wire:"2"`
	}
	got := new(numbers)
	if err := (Codec{}).Decode(unhex(t, "a26169c348000000000000000761"+"66c249010000000000000000"), got); err != nil || *got != (numbers{-8, 1 << 64}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for data, want := range map[string]string{
		"a16169c249010000000000000000":            "cbor: byte 3: i: an integer beyond 64 bits where an integer is needed",
		"a161693bffffffffffffffff":                "cbor: byte 3: i: an integer beyond 64 bits where an integer is needed",
		"a16169c26161":                            "cbor: byte 3: i: a text string in a bignum, where a byte string is needed",
		"a16166c25881" + "01" + zeros(128):        "cbor: byte 3: f: an integer beyond 64 bits where a number is needed",
		"a16166c2590401" + "01" + zeros(maxBig):   "cbor: byte 3: f: an integer beyond 64 bits where a number is needed",
		"a1616ac2590401" + "01" + zeros(maxBig):   "",
		"a16169c2590401" + "00" + zeros(maxBig):   "",
		"a16166c259040101" + zeros(maxBig-1):      "cbor: byte 4: f: a byte string claims a length of 1025 with 1024 bytes left",
		"a16166c2590400" + "00" + zeros(maxBig-1): "",
	} {
		b := unhex(t, data)
		err := Codec{}.Decode(b, new(numbers))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.40s: %v, want %s", data, err, want)
		}
	}
	var doc schema.Document
	if err := (Codec{}).Decode(unhex(t, "c2590401"+"01"+zeros(maxBig)), &doc); err == nil || err.Error() != "cbor: byte 0: an integer of 1025 bytes: at most 1024 are read" {
		t.Errorf("got %v", err)
	}
	most := new(big.Int).Lsh(big.NewInt(1), 8*maxBig)
	for n, ok := range map[*big.Int]bool{
		most: false, new(big.Int).Sub(most, big.NewInt(1)): true, new(big.Int).Neg(most): false, new(big.Int).Lsh(most, 100000): false,
		big.NewInt(7): true, big.NewInt(-7): true,
	} {
		data, err := Codec{}.Append(nil, &schema.Document{Value: schema.Number(n.String())})
		if (err == nil) != ok {
			t.Errorf("an integer of %d bits: %v", n.BitLen(), err)
		}
		if err != nil {
			continue
		}
		var out any
		var std big.Int
		if err := fx.Unmarshal(data, &std); err != nil || std.Cmp(n) != 0 {
			t.Errorf("%d bits are read by another as %v, %v", n.BitLen(), &std, err)
		}
		if err := (Codec{}).Decode(data, &doc); err != nil {
			t.Error(err)
		}
		if out = doc.Value; n.BitLen() > 64 && out != schema.Number(n.String()) {
			t.Errorf("%d bits come back as %v", n.BitLen(), out)
		}
	}
}

func zeros(n int) string { return hex.EncodeToString(make([]byte, n)) }
