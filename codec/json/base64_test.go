package json

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// encoding/base64 is the oracle, for every length around the eight bytes that are
// taken at a time.
func TestBase64AsTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "data")
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "prefix")
		text := appendBase64(bytes.Clone(prefix), data)
		if want := append(bytes.Clone(prefix), base64.StdEncoding.EncodeToString(data)...); !bytes.Equal(text, want) {
			t.Fatalf("%x is written as %q, want %q", data, text, want)
		}
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if got, ok := decodeBase64([]byte(e.EncodeToString(data))); !ok || !bytes.Equal(got, data) {
				t.Fatalf("%x is read as %x, %v", data, got, ok)
			}
		}
	})
}

// Whatever is not base64 is refused, at every place.
func TestNotBase64(t *testing.T) {
	for _, size := range []int{2, 3, 4, 6, 7, 8, 12, 16, 20, 23, 24} {
		good := strings.Repeat("A", size)
		for i := range size {
			for c := range 256 {
				text := []byte(good)
				text[i] = byte(c)
				isLetter := strings.IndexByte(letters+"-_", byte(c)) >= 0
				isPadding := c == '=' && size%4 == 0 && i == size-1
				if _, ok := decodeBase64(text); ok != (isLetter || isPadding) {
					t.Errorf("%q: %v", text, ok)
				}
			}
		}
	}
	for _, text := range []string{"A", "AAAAA", "AA=", "A===", "====", "AAA==", "=AAA", "AA=A"} {
		if data, ok := decodeBase64([]byte(text)); ok {
			t.Errorf("%q is read as %x", text, data)
		}
	}
}

// Base64 beside encoding/base64, of which the Codec's is to be no slower.
func BenchmarkBase64(b *testing.B) {
	data := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	text := appendBase64(nil, data)
	buf := make([]byte, len(text))
	for name, f := range map[string]func(){
		"write/ours":            func() { buf = appendBase64(buf[:0], data) },
		"write/encoding/base64": func() { base64.StdEncoding.Encode(buf, data) },
		"read/ours":             func() { _, _ = decodeBase64(text) },
		"read/encoding/base64":  func() { _, _ = base64.StdEncoding.DecodeString(string(text)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				f()
			}
		})
	}
}
