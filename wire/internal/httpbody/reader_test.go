package httpbody

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	text := strings.Repeat("one text ", 1000)
	for _, c := range []Coding{Identity, Gzip, Brotli, Zstd} {
		data := c.Append(nil, []byte(text))
		for range 2 { // the second with what the first gave back
			r, err := c.NewReader(bytes.NewBuffer(bytes.Clone(data)))
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != text {
				t.Errorf("%s: %d bytes, %v", c, len(got), err)
			}
			for range 2 {
				if err := r.Close(); err != nil {
					t.Errorf("%s: Close: %v", c, err)
				}
			}
			if _, err := r.Read(make([]byte, 1)); c != Identity && !errors.Is(err, errClosed) {
				t.Errorf("%s: read after Close: %v", c, err)
			}
		}
		if c == Identity {
			continue
		}
		r, err := c.NewReader(bytes.NewReader(data[:len(data)/2]))
		if err == nil {
			_, err = io.ReadAll(r)
			_ = r.Close()
		}
		if err == nil {
			t.Errorf("%s: half of the data is whole", c)
		}
	}
}

// Whoever stops reading pays for what they have read.
func TestReaderOfBombs(t *testing.T) {
	zeros := make([]byte, 16<<20)
	for _, c := range []Coding{Gzip, Brotli, Zstd} {
		bomb := c.Append(nil, zeros)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := c.NewReader(bytes.NewBuffer(bomb))
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if n, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
			t.Errorf("%s: %d bytes, %v", c, n, err)
		}
		_ = r.Close()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 14<<20 {
			t.Errorf("%s: %d bytes of memory for 1 MiB", c, n)
		}
	}
}
