package msgpack

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/everywire/everywire/schema"
)

// nested returns n arrays around nil.
func nested(n int) []byte {
	return append(bytes.Repeat([]byte{0x91}, n), formatNil)
}

func TestScan(t *testing.T) {
	tests := []struct {
		name string
		data string
		want int // the length of the first value, 0 if it is not complete
	}{
		{"nothing", "", 0},
		{"nil", "\xc0", 1},
		{"value and more", "\x01\x02\x03", 1},
		{"string", "\xa3abc", 4},
		{"cut string", "\xa3ab", 0},
		{"cut head", "\xda\x00", 0},
		{"request", "\x94\x00\x01\xa3sum\x91\x93\x01\x02\x03\xff", 12},
		{"empty containers", "\x93\x80\x90\xc0", 4},
		{"map", "\x82\xa1a\x01\xa1b\x91\xc4\x02ab\x00", 11},
		{"cut map", "\x82\xa1a\x01\xa1b", 0},
		{"ext", "\xd6\xff\x00\x00\x00\x01", 6},
		{"nothing in ext", "\xc7\x00\x05", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s ScanState
			n, err := Scan([]byte(tt.data), &s, 1000)
			if n != tt.want || err != nil {
				t.Errorf("got %d, %v, want %d", n, err, tt.want)
			}
			// In one-byte pieces, and a second value with the same state.
			for range 2 {
				var s ScanState
				for i := range len(tt.data) + 1 {
					n, err := Scan([]byte(tt.data[:i]), &s, 1000)
					if err != nil {
						t.Fatalf("at %d bytes: %v", i, err)
					}
					if n > 0 {
						if n != tt.want || i != n {
							t.Fatalf("got %d at %d bytes, want %d", n, i, tt.want)
						}
						break
					}
				}
			}
		})
	}
}

func TestScanErrors(t *testing.T) {
	tests := []struct {
		name     string
		data     []byte
		tooLarge bool
		want     string
	}{
		{"four billion elements", []byte("\xdd\xff\xff\xff\xff"), true, "limit of 2000 bytes"},
		{"four billion pairs", []byte("\xdf\xff\xff\xff\xff"), true, "limit of 2000 bytes"},
		{"long string", []byte("\xdb\xff\xff\xff\xff"), true, "limit of 2000 bytes"},
		{"long bin", []byte("\xc5\x07\xce"), true, "limit of 2000 bytes"},
		{"long ext", []byte("\xc9\xff\xff\xff\xff\x00"), true, "limit of 2000 bytes"},
		{"no room for the second element", []byte("\x92\xda\x07\xcc"), true, "limit of 2000 bytes"},
		{"unused format", []byte("\x92\x01\xc1"), false, "byte 2: the byte 0xc1 begins no value"},
		{"depth", nested(scanDepth + 1), false, "nested deeper"},
		{"depth in the last element", append(bytes.Repeat([]byte{0x92, 0x01}, scanDepth+1), 1), false, "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s ScanState
			n, err := Scan(tt.data, &s, 2000)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %d, %v, want %q", n, err, tt.want)
			}
			var tooLarge *TooLargeError
			if errors.As(err, &tooLarge) != tt.tooLarge {
				t.Errorf("%T", err)
			}
		})
	}
}

func TestScanDepth(t *testing.T) {
	var s ScanState
	if n, err := Scan(nested(schema.MaxDepth+4), &s, 1000); n != schema.MaxDepth+5 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	// A list is not a nest: its members do not add up.
	flat := AppendArrayHeader(nil, 2000)
	for range 2000 {
		flat = append(flat, 0x91, 0x90)
	}
	if n, err := Scan(flat, &s, 1<<20); n != len(flat) || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

// A megabyte that arrives byte by byte is looked at once: what Scan still has
// to do for each byte does not depend on how much came before.
func TestScanIsLinear(t *testing.T) {
	data := AppendArrayHeader(nil, 1<<19)
	for range 1 << 19 {
		data = append(data, 0xd0, 0x80)
	}
	var s ScanState
	for i := 1; i < len(data); i++ {
		n, err := Scan(data[:i], &s, 2<<20)
		if n != 0 || err != nil {
			t.Fatalf("at %d bytes: %d, %v", i, n, err)
		}
		if s.pos < i-8 {
			t.Fatalf("at %d bytes the scan is only at %d", i, s.pos)
		}
	}
	if n, err := Scan(data, &s, 2<<20); n != len(data) || err != nil {
		t.Fatalf("got %d, %v, want %d", n, err, len(data))
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("\x94\x00\x01\xa3sum\x91\x93\x01\x02\x03"), uint16(3))
	f.Add([]byte("\xdf\xff\xff\xff\xff"), uint16(1))
	f.Add([]byte("\x82\xa1a\x01\xa1b\x91\xc4\x02ab\x00"), uint16(2))
	f.Fuzz(func(t *testing.T, data []byte, piece uint16) {
		const limit = 1 << 12
		var whole ScanState
		want, wantErr := Scan(data, &whole, limit)
		var s ScanState
		var got int
		var err error
		for i := 0; i <= len(data) && got == 0 && err == nil; i += 1 + int(piece%64) {
			got, err = Scan(data[:i], &s, limit)
		}
		if got == 0 && err == nil {
			got, err = Scan(data, &s, limit)
		}
		if got != want || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("in pieces %d, %v; whole %d, %v", got, err, want, wantErr)
		}
		// What Scan finds, a reader can pass over, and the reverse.
		r := NewReader(data)
		skipErr := r.Skip()
		if want > 0 && (skipErr != nil || r.Pos() != want) {
			t.Fatalf("Scan says %d, Skip %d, %v", want, r.Pos(), skipErr)
		}
		if wantErr == nil && want == 0 && skipErr == nil {
			t.Fatalf("Scan says incomplete, Skip %d", r.Pos())
		}
	})
}
