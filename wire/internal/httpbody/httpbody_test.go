package httpbody

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var codings = []Coding{Identity, Gzip, Brotli, Zstd}

func TestReadAll(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	for _, c := range []struct {
		size  int64
		limit int
		want  error
	}{
		{-1, len(text), nil}, {int64(len(text)), len(text), nil}, {5, len(text), nil}, {math.MaxInt64, len(text), nil},
		{-1, math.MaxInt, nil}, {-1, len(text) - 1, ErrTooLarge}, {int64(len(text)), 10, ErrTooLarge}, {-1, 0, ErrTooLarge},
	} {
		got, err := ReadAll([]byte("before "), iotest.HalfReader(strings.NewReader(text)), c.size, c.limit)
		if !errors.Is(err, c.want) {
			t.Errorf("size %d, limit %d: %v", c.size, c.limit, err)
		}
		if want := "before " + text[:min(c.limit, len(text))]; string(got) != want {
			t.Errorf("size %d, limit %d: %d bytes, want %d", c.size, c.limit, len(got), len(want))
		}
	}
	broken := errors.New("broken")
	if _, err := ReadAll(nil, io.MultiReader(strings.NewReader("a"), iotest.ErrReader(broken)), -1, 10); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(codings).Draw(t, "coding")
		part := rapid.SliceOf(rapid.Byte()).Draw(t, "part")
		data := bytes.Repeat(part, rapid.IntRange(0, 60).Draw(t, "times"))
		coded := c.Append([]byte("x"), data)[1:]
		got, err := c.Decode([]byte("y"), coded, len(data))
		if err != nil || !bytes.Equal(got[1:], data) || got[0] != 'y' {
			t.Fatalf("%s: %d bytes came back as %d: %v", c, len(data), len(got)-1, err)
		}
		if len(data) > 0 {
			if _, err := c.Decode(nil, coded, len(data)-1); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("%s: over the limit: %v", c, err)
			}
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range codings[1:] {
		good := c.Append(nil, []byte(strings.Repeat("some text ", 100)))
		for name, data := range map[string][]byte{
			"nothing":                    nil,
			"other bytes":                []byte(`{"key":"value"}`),
			"cut short":                  good[:len(good)-1],
			"cut in the middle":          good[:len(good)/2],
			"its first byte":             good[:1],
			"something behind it":        append(bytes.Clone(good), `{"key":"value"}`...),
			"a zero byte behind it":      append(bytes.Clone(good), 0),
			"another coding's beginning": (1 + c%3).Append(nil, []byte("text")),
		} {
			if got, err := c.Decode(nil, data, 1<<20); err == nil {
				t.Errorf("%s, %s: decoded as %q", c, name, got)
			} else if errors.Is(err, ErrTooLarge) || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), c.String()) {
				t.Errorf("%s, %s: %v", c, name, err)
			}
		}
		// A decoder that has failed is as good as new.
		if _, err := c.Decode(nil, good, 1<<20); err != nil {
			t.Errorf("%s, after failures: %v", c, err)
		}
	}
}

// Members that follow each other are one body, which the limit holds for.
func TestDecodeMembers(t *testing.T) {
	for _, c := range []Coding{Gzip, Zstd} {
		data := c.Append(c.Append(nil, []byte("one ")), []byte("two"))
		if got, err := c.Decode(nil, data, 7); err != nil || string(got) != "one two" {
			t.Errorf("%s: %q, %v", c, got, err)
		}
		if _, err := c.Decode(nil, data, 6); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: over the limit: %v", c, err)
		}
	}
}

// A small body that would become a large one stops at the limit, and takes no
// memory for the rest.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 16<<20)
	for _, c := range codings[1:] {
		bomb := c.Append(nil, zeros)
		if len(bomb) > limit*2 {
			t.Fatalf("%s: the bomb is %d bytes", c, len(bomb))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := c.Decode(nil, bomb, limit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", c, err)
		}
		// A window and a doubling buffer, and what the decoder has of its own.
		if n := after.TotalAlloc - before.TotalAlloc; n > 14<<20 {
			t.Errorf("%s: %d bytes of memory for a limit of %d", c, n, limit)
		}
	}
}

func TestZstdAnnouncesTooMuch(t *testing.T) {
	// RFC 8878, section 3.1.1: a frame of one segment with a content size of
	// eight bytes, and one empty block.
	frame := "\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"
	if _, err := Zstd.Decode(nil, []byte(frame), 1000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

func TestZstdWindow(t *testing.T) {
	encode := func(window int) []byte {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // more than one write and a flush, so that the size is not known
			if _, err := w.Write([]byte("text")); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if got, err := Zstd.Decode(nil, encode(8<<20), 100); err != nil || string(got) != "texttexttext" {
		t.Errorf("a window of 8 MiB: %q, %v", got, err)
	}
	if _, err := Zstd.Decode(nil, encode(16<<20), 100); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("a window of 16 MiB: %v", err)
	}
	// A header that announces a terabyte reserves nothing.
	header := binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 1<<40)
	if _, err := Zstd.Decode(nil, header, 100); err == nil {
		t.Error("a frame of a terabyte was decoded")
	}
}

// A gzip header may have a name and a comment of any length.
func TestGzipHeader(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "name", strings.Repeat("c", 400), []byte("extra")
	if _, err := w.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Gzip.Decode(nil, b.Bytes(), 4); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestEncoded(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  Coding
		err   string
	}{
		{nil, Identity, ""},
		{[]string{""}, Identity, ""},
		{[]string{"identity"}, Identity, ""},
		{[]string{"gzip"}, Gzip, ""},
		{[]string{"X-GZIP"}, Gzip, ""},
		{[]string{"Br"}, Brotli, ""},
		{[]string{" zstd ,"}, Zstd, ""},
		{[]string{"identity, gzip"}, Gzip, ""},
		{[]string{"gzip, gzip"}, 0, "more than one"},
		{[]string{"gzip", "zstd"}, 0, "gzip and zstd"},
		{[]string{"deflate"}, 0, `"deflate"`},
		{[]string{"gzip;q=1"}, 0, `"gzip;q=1"`},
		{[]string{"*"}, 0, Supported},
	} {
		got, err := Encoded(c.lines)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v", c.lines, got, err)
		}
	}
}

func TestAccepted(t *testing.T) {
	for _, c := range []struct {
		lines    []string
		want     Coding
		identity bool
	}{
		{nil, Identity, true},
		{[]string{""}, Identity, true},
		{[]string{"gzip"}, Gzip, true},
		{[]string{"gzip, deflate, br, zstd"}, Zstd, true},
		{[]string{"gzip", "br"}, Brotli, true},
		{[]string{"gzip;q=1, br;q=0.9, zstd;q=0.999"}, Gzip, true},
		{[]string{"x-gzip"}, Gzip, true},
		{[]string{"*"}, Zstd, true},
		{[]string{"*;q=0.5, gzip"}, Gzip, true},
		{[]string{"zstd;q=0, *"}, Brotli, true},
		{[]string{"gzip;q=0"}, Identity, true},
		{[]string{"gzip;q=0.5, identity"}, Identity, true},
		{[]string{"gzip, identity"}, Gzip, true},
		{[]string{"deflate, compress"}, Identity, true},
		{[]string{"identity;q=0"}, Identity, false},
		{[]string{"identity;q=0, gzip;q=0.001"}, Gzip, false},
		{[]string{"*;q=0"}, Identity, false},
		{[]string{"*;q=0, identity;q=0.1"}, Identity, true},
		{[]string{"gzip;q=0.000"}, Identity, true},
		{[]string{"gzip; Q=0"}, Identity, true},
		{[]string{"gzip;q=x"}, Gzip, true},
	} {
		p := Accepted(c.lines)
		if p.Coding != c.want || p.NotIdentity == c.identity || p.Refuses() != (c.want == Identity && !c.identity) {
			t.Errorf("%q: %+v", c.lines, p)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range codings[1:] {
		f.Add(uint8(c), c.Append(nil, []byte(strings.Repeat("some text ", 200))))
	}
	f.Fuzz(func(t *testing.T, c uint8, data []byte) {
		const limit = 1000
		got, err := codings[1+c%3].Decode(nil, data, limit)
		if len(got) > limit {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	})
}

func BenchmarkCodings(b *testing.B) {
	var doc bytes.Buffer
	for i := range 200 {
		doc.WriteString(`{"id":` + strings.Repeat("7", 1+i%5) + `,"name":"item number `)
		doc.WriteByte(byte('a' + i%26))
		doc.WriteString(`","tags":["red","green"]},`)
	}
	data := doc.Bytes()
	for _, c := range codings[1:] {
		coded := c.Append(nil, data)
		b.Run(c.String()+"/append", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			buf := make([]byte, 0, len(data))
			for b.Loop() {
				buf = c.Append(buf[:0], data)
			}
			b.ReportMetric(float64(len(coded))/float64(len(data)), "ratio")
		})
		b.Run(c.String()+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			buf := make([]byte, 0, len(data)+1)
			for b.Loop() {
				if _, err := c.Decode(buf[:0], coded, len(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
