package sniff

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
	"pgregory.net/rapid"
)

// A filter leaves out as many acknowledgements as it is told to, the first ones,
// and nothing else, however the bytes come.
func TestAckFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drop := rapid.IntRange(0, 3).Draw(t, "drop")
		var all, want bytes.Buffer
		in, out := http2.NewFramer(&all, nil), http2.NewFramer(&want, nil)
		left := drop
		for range rapid.IntRange(0, 12).Draw(t, "frames") {
			var write func(*http2.Framer) error
			isAck := false
			switch rapid.IntRange(0, 4).Draw(t, "frame") {
			case 0, 1:
				isAck = true
				write = (*http2.Framer).WriteSettingsAck
			case 2:
				write = func(f *http2.Framer) error {
					return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7})
				}
			case 3:
				write = func(f *http2.Framer) error { return f.WritePing(true, [8]byte{1}) }
			default:
				// The payload looks like an acknowledgement.
				data := bytes.Repeat([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0}, rapid.IntRange(0, 3).Draw(t, "repeat"))
				write = func(f *http2.Framer) error { return f.WriteData(1, false, data) }
			}
			if err := write(in); err != nil {
				t.Fatal(err)
			}
			if isAck && left > 0 {
				left--
				continue
			}
			if err := write(out); err != nil {
				t.Fatal(err)
			}
		}
		f := ackFilter{drop: drop}
		var got []byte
		for rest := all.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got = f.apply(got, rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("got %x, want %x", got, want.Bytes())
		}
		if f.isOver() != (left == 0) {
			t.Fatalf("over: %v with %d still to come", f.isOver(), left)
		}
	})
}
