package json

import (
	"bytes"
	"encoding/base64"
	"testing"

	"pgregory.net/rapid"
)

// plainLen finds the first byte that must be escaped, whatever stands around it
// and wherever it falls in a word.
func TestPlainLen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.SliceOfN(rapid.SampledFrom([]byte("a~\x7f !#[]\x80\xc3\xff\xa2\xdc\x00\x1f\"\\\n")), 0, 40).Draw(rt, "s")
		want := len(s)
		for i, c := range s {
			if c < ' ' || c == '"' || c == '\\' {
				want = i
				break
			}
		}
		ascii := true
		for _, c := range s[:want] {
			ascii = ascii && c < 0x80
		}
		for _, got := range []func() (int, bool){
			func() (int, bool) { return plainLen(s) },
			func() (int, bool) { return plainLen(string(s)) },
		} {
			if n, a := got(); n != want || a != ascii {
				rt.Fatalf("%q: %d %v, want %d %v", s, n, a, want, ascii)
			}
		}
	})
}

func TestBase64(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(rt, "data")
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			s := enc.EncodeToString(data)
			if got, ok := decodeBase64([]byte(s)); !ok || !bytes.Equal(got, data) {
				rt.Fatalf("%q: %x %v, want %x", s, got, ok, data)
			}
		}
	})
	for _, s := range []string{"A", "====", "=", "A===", "AA=A", "AAAAA", "AA==AA==", "AA\n==", "AAAA\nAAA", "AAA\r\nAAA", "AAAA\n", "\nAAA", "AA A", "A*AA", "AAA*", "é"} {
		if got, ok := decodeBase64([]byte(s)); ok {
			t.Errorf("%q became %x", s, got)
		}
	}
}
