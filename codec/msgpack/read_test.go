package msgpack

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// Lengths and integers at every border between two formats.
func TestAppendBorders(t *testing.T) {
	for _, tt := range []struct {
		n    int64
		want string
	}{
		{0, "\x00"}, {127, "\x7f"}, {128, "\xcc\x80"}, {255, "\xcc\xff"}, {256, "\xcd\x01\x00"}, {65535, "\xcd\xff\xff"},
		{65536, "\xce\x00\x01\x00\x00"}, {math.MaxUint32, "\xce\xff\xff\xff\xff"}, {math.MaxUint32 + 1, "\xcf\x00\x00\x00\x01\x00\x00\x00\x00"},
		{-1, "\xff"}, {-32, "\xe0"}, {-33, "\xd0\xdf"}, {-128, "\xd0\x80"}, {-129, "\xd1\xff\x7f"}, {-32768, "\xd1\x80\x00"},
		{-32769, "\xd2\xff\xff\x7f\xff"}, {math.MinInt32, "\xd2\x80\x00\x00\x00"}, {math.MinInt32 - 1, "\xd3\xff\xff\xff\xff\x7f\xff\xff\xff"},
		{math.MinInt64, "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"},
	} {
		if got := AppendInt(nil, tt.n); string(got) != tt.want {
			t.Errorf("%d is %x, want %x", tt.n, got, tt.want)
		}
	}
	for _, tt := range []struct {
		n                   int
		str, bin, arr, pair string
	}{
		{15, "\xaf", "\xc4\x0f", "\x9f", "\x8f"},
		{16, "\xb0", "\xc4\x10", "\xdc\x00\x10", "\xde\x00\x10"},
		{31, "\xbf", "\xc4\x1f", "\xdc\x00\x1f", "\xde\x00\x1f"},
		{32, "\xd9\x20", "\xc4\x20", "\xdc\x00\x20", "\xde\x00\x20"},
		{255, "\xd9\xff", "\xc4\xff", "\xdc\x00\xff", "\xde\x00\xff"},
		{256, "\xda\x01\x00", "\xc5\x01\x00", "\xdc\x01\x00", "\xde\x01\x00"},
		{65535, "\xda\xff\xff", "\xc5\xff\xff", "\xdc\xff\xff", "\xde\xff\xff"},
		{65536, "\xdb\x00\x01\x00\x00", "\xc6\x00\x01\x00\x00", "\xdd\x00\x01\x00\x00", "\xdf\x00\x01\x00\x00"},
	} {
		s := strings.Repeat("x", tt.n)
		for _, got := range []struct {
			what string
			b    []byte
			want string
		}{
			{"str", AppendString(nil, s), tt.str + s},
			{"bin", AppendBinary(nil, []byte(s)), tt.bin + s},
			{"array", AppendArrayHeader(nil, tt.n), tt.arr},
			{"map", AppendMapHeader(nil, tt.n), tt.pair},
		} {
			if string(got.b) != got.want {
				t.Errorf("%s of %d begins with %x", got.what, tt.n, got.b[:min(5, len(got.b))])
			}
		}
		r := NewReader(append(AppendBinary(AppendString(nil, s), []byte(s)), 0xc0))
		str, err := r.Str()
		if string(str) != s || err != nil {
			t.Errorf("str of %d: %d bytes, %v", tt.n, len(str), err)
		}
		bin, err := r.Binary()
		if string(bin) != s || err != nil || r.Len() != 1 {
			t.Errorf("bin of %d: %d bytes, %v", tt.n, len(bin), err)
		}
	}
}

func TestReader(t *testing.T) {
	data := AppendArrayHeader(nil, 4)
	data = AppendUint(data, 1)
	data = AppendUint(data, math.MaxUint32)
	data = AppendNil(data)
	data = AppendMapHeader(data, 1)
	data = AppendString(data, "k")
	data = AppendBool(data, true)
	data = AppendFloat32(data, 0.5)
	data = AppendFloat64(data, 0.1)
	data = AppendTime(data, time.Unix(5, 6))
	r := NewReader(data)
	if n, err := r.ArrayHeader(); n != 4 || err != nil {
		t.Fatalf("array of %d, %v", n, err)
	}
	if n, err := r.Int64(); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := r.Uint64(); n != math.MaxUint32 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if typ, err := r.Type(); typ != Nil || err != nil || r.Nil() != nil {
		t.Fatalf("%v, %v", typ, err)
	}
	raw, err := r.Raw()
	if err != nil || !bytes.Equal(raw, []byte("\x81\xa1k\xc3")) {
		t.Fatalf("raw %x, %v", raw, err)
	}
	inner := NewReader(raw)
	if n, err := inner.MapHeader(); n != 1 || err != nil {
		t.Fatalf("map of %d, %v", n, err)
	}
	if err := inner.Skip(); err != nil {
		t.Fatal(err)
	}
	if b, err := inner.Bool(); !b || err != nil || inner.End() != nil {
		t.Fatalf("%v, %v", b, err)
	}
	if f, err := r.Float64(); f != 0.5 || err != nil {
		t.Fatalf("%v, %v", f, err)
	}
	if f, err := r.Float64(); f != 0.1 || err != nil {
		t.Fatalf("%v, %v", f, err)
	}
	if tm, err := r.Time(); !tm.Equal(time.Unix(5, 6)) || err != nil {
		t.Fatalf("%v, %v", tm, err)
	}
	if err := r.End(); err != nil || r.Pos() != len(data) {
		t.Fatalf("at %d of %d, %v", r.Pos(), len(data), err)
	}
	if _, err := r.Type(); err == nil {
		t.Error("no error after the end")
	}
}

// A value of another type is an error, and stays where it is.
func TestReaderMismatch(t *testing.T) {
	reads := map[Type]func(*Reader) error{
		Nil:   func(r *Reader) error { return r.Nil() },
		Bool:  func(r *Reader) error { _, err := r.Bool(); return err },
		Int:   func(r *Reader) error { _, err := r.Int64(); return err },
		Float: func(r *Reader) error { _, err := r.Float64(); return err },
		Str:   func(r *Reader) error { _, err := r.Str(); return err },
		Bin:   func(r *Reader) error { _, err := r.Binary(); return err },
		Array: func(r *Reader) error { _, err := r.ArrayHeader(); return err },
		Map:   func(r *Reader) error { _, err := r.MapHeader(); return err },
		Ext:   func(r *Reader) error { _, _, err := r.Ext(); return err },
	}
	values := map[Type]string{
		Nil: "\xc0", Bool: "\xc2", Int: "\x05", Float: "\xca\x00\x00\x00\x00", Str: "\xa1a", Bin: "\xc4\x01a",
		Array: "\x90", Map: "\x80", Ext: "\xd6\xff\x00\x00\x00\x00",
	}
	for want, read := range reads {
		for typ, value := range values {
			r := NewReader([]byte(value))
			err := read(r)
			fits := typ == want || (typ == Str || typ == Bin) && (want == Str || want == Bin)
			if fits != (err == nil) {
				t.Errorf("%v read as %v: %v", typ, want, err)
			}
			if err != nil && (r.Pos() != 0 || !strings.Contains(err.Error(), typ.String()+" where "+want.String()+" is needed")) {
				t.Errorf("%v read as %v: at %d: %v", typ, want, r.Pos(), err)
			}
			for cut := range len(value) {
				if err := read(NewReader([]byte(value[:cut]))); err == nil {
					t.Errorf("%v cut to %d bytes is read as %v", typ, cut, want)
				}
			}
		}
	}
	for _, tt := range []struct{ data, want string }{
		{"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615 is out of the range"},
		{"\xa1\xff", "not valid UTF-8"},
	} {
		r := NewReader([]byte(tt.data))
		_, err := r.Int64()
		if tt.data[0] == 0xa1 {
			_, err = r.Str()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || r.Pos() != 0 {
			t.Errorf("%q: at %d: %v", tt.data, r.Pos(), err)
		}
	}
	if _, err := NewReader([]byte{0xff}).Uint64(); err == nil || err.Error() != "msgpack: byte 0: -1 is negative" {
		t.Errorf("%v", err)
	}
}

func TestReaderAllocations(t *testing.T) {
	data := []byte("\x94\x00\x01\xa3sum\x91\x93\x01\x02\x03")
	if n := testing.AllocsPerRun(100, func() {
		var s ScanState
		for range 3 { // the state's stack is kept
			if n, err := Scan(data, &s, 1000); n != len(data) || err != nil {
				t.Error(n, err)
			}
		}
		r := NewReader(data)
		_, _ = r.ArrayHeader()
		_, _ = r.Int64()
		_, _ = r.Uint64()
		_, _ = r.Str()
		if err := r.Skip(); err != nil || r.Len() != 0 {
			t.Error(err)
		}
	}); n > 3 { // the stack growing to three levels
		t.Errorf("%v allocations", n)
	}
}
