package websocket

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// wsFrame writes a frame as another implementation may: first is the first byte.
func wsFrame(first byte, payload string, masked bool) []byte {
	b := Wrap([]byte(payload), 0, 0, masked)
	b[0] = first
	return b
}

// A fragment is a frame of a message, or a control frame.
type fragment struct {
	first   byte
	payload string
}

func wsFrames(masked bool, fragments ...fragment) (b []byte) {
	for _, f := range fragments {
		b = append(b, wsFrame(f.first, f.payload, masked)...)
	}
	return b
}

// deframe gives chunks to a framer as its owner does, and returns the messages
// and control frames in order, and the error.
func deframe(f *Framer, chunks ...[]byte) (seen []string, rest int, err error) {
	f.Control = func(opcode byte, payload []byte) error {
		seen = append(seen, fmt.Sprintf("%x:%s", opcode, payload))
		if opcode == Close {
			return io.EOF
		}
		return nil
	}
	var buf []byte
	for _, chunk := range chunks {
		buf = slices.Concat(buf, chunk)
		for len(buf) > 0 {
			from, to, err := f.Next(buf)
			if err != nil {
				return seen, len(buf), err
			}
			if to == 0 {
				buf = bytes.Clone(buf[from:])
				break
			}
			seen = append(seen, string(buf[from:to]))
			buf = bytes.Clone(buf[to:])
		}
	}
	return seen, len(buf), nil
}

func bytewise(b []byte) [][]byte { return slices.Collect(slices.Chunk(b, 1)) }

func TestFrames(t *testing.T) {
	for name, tc := range map[string]struct {
		send []fragment
		want []string
	}{
		"text":                {[]fragment{{0x81, "{}"}}, []string{"{}"}},
		"binary":              {[]fragment{{0x82, "\xff"}}, []string{"\xff"}},
		"empty":               {[]fragment{{0x81, ""}, {0x82, ""}}, []string{"", ""}},
		"all lengths":         {[]fragment{{0x81, strings.Repeat("a", 125)}, {0x81, strings.Repeat("b", 126)}, {0x81, strings.Repeat("c", 65535)}, {0x81, strings.Repeat("d", 65536)}}, []string{strings.Repeat("a", 125), strings.Repeat("b", 126), strings.Repeat("c", 65535), strings.Repeat("d", 65536)}},
		"fragments":           {[]fragment{{0x01, "ab"}, {0x00, "cde"}, {0x80, "f"}, {0x81, "next"}}, []string{"abcdef", "next"}},
		"empty fragments":     {[]fragment{{0x01, ""}, {0x00, "a"}, {0x00, ""}, {0x80, ""}, {0x02, ""}, {0x80, ""}}, []string{"a", ""}},
		"a character cut":     {[]fragment{{0x01, "\xc3"}, {0x80, "\xa4"}}, []string{"ä"}},
		"pings":               {[]fragment{{0x89, "p"}, {0x01, "a"}, {0x89, ""}, {0x8a, "x"}, {0x00, "b"}, {0x89, "q"}, {0x80, "c"}, {0x89, "r"}}, []string{"9:p", "9:", "a:x", "9:q", "abc", "9:r"}},
		"close in a message":  {[]fragment{{0x01, "a"}, {0x88, "\x03\xe8bye"}}, []string{"8:\x03\xe8bye"}},
		"longest control":     {[]fragment{{0x89, strings.Repeat("p", 125)}}, []string{"9:" + strings.Repeat("p", 125)}},
		"a later, longer one": {[]fragment{{0x01, "a"}, {0x80, strings.Repeat("b", 300)}}, []string{"a" + strings.Repeat("b", 300)}},
	} {
		for _, masked := range []bool{false, true} {
			sent := wsFrames(masked, tc.send...)
			for how, chunks := range map[string][][]byte{"whole": {bytes.Clone(sent)}, "bytewise": bytewise(sent)} {
				if len(sent) > 1000 && how == "bytewise" {
					continue
				}
				got, rest, err := deframe(&Framer{Masked: masked}, chunks...)
				if !slices.Equal(got, tc.want) || (err != nil || rest != 0) && !errors.Is(err, io.EOF) {
					t.Errorf("%s, masked %v, %s: got %.200q, %d bytes left, %v; want %.200q", name, masked, how, got, rest, err, tc.want)
				}
			}
		}
	}
}

// A frame that has begun, or a message, keeps the connection from being taken
// for idle; a control frame between messages does not.
func TestFramesUnread(t *testing.T) {
	for name, tc := range map[string]struct {
		sent []byte
		rest bool
	}{
		"nothing behind a message": {wsFrames(true, fragment{0x81, "a"}), false},
		"nothing behind a ping":    {wsFrames(true, fragment{0x89, "a"}), false},
		"a byte":                   {[]byte{0x81}, true},
		"a header":                 {wsFrame(0x81, "a", true)[:6], true},
		"a first fragment":         {wsFrames(true, fragment{0x01, "a"}), true},
		"an empty one":             {wsFrames(true, fragment{0x01, ""}, fragment{0x89, "p"}), true},
	} {
		if _, rest, err := deframe(&Framer{Masked: true}, tc.sent); err != nil || rest > 0 != tc.rest {
			t.Errorf("%s: %d bytes left, %v", name, rest, err)
		}
	}
}

func TestFrameErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		sent []byte
		code uint16
	}{
		"reserved bit 1":      {[]byte{0xc1, 0x80}, CloseProtocol},
		"reserved bit 3":      {[]byte{0x91, 0x80}, CloseProtocol},
		"opcode 3":            {[]byte{0x83, 0x80}, CloseProtocol},
		"opcode 7":            {[]byte{0x87, 0x80}, CloseProtocol},
		"opcode b":            {[]byte{0x8b, 0x80}, CloseProtocol},
		"not masked":          {[]byte{0x81, 0x02}, CloseProtocol},
		"control in parts":    {[]byte{0x09, 0x80}, CloseProtocol},
		"long control":        {[]byte{0x89, 0xfe}, CloseProtocol},
		"continuation alone":  {[]byte{0x80, 0x80}, CloseProtocol},
		"continuation behind": {slices.Concat(wsFrames(true, fragment{0x81, "a"}), []byte{0x80, 0x80}), CloseProtocol},
		"message in message":  {slices.Concat(wsFrames(true, fragment{0x01, "a"}), []byte{0x81, 0x80}), CloseProtocol},
		"length in 16 bits":   {[]byte{0x81, 0xfe, 0, 125}, CloseProtocol},
		"length in 64 bits":   {[]byte{0x81, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, CloseProtocol},
		"a negative length":   {[]byte{0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0}, CloseProtocol},
		"not UTF-8":           {wsFrames(true, fragment{0x81, "\xff"}), CloseNotUTF8},
		"not UTF-8, in parts": {wsFrames(true, fragment{0x01, "\xc3"}, fragment{0x80, "a"}), CloseNotUTF8},
		"too long":            {[]byte{0x81, 0xfe, 0x03, 0xe9}, CloseTooBig},
		"far too long":        {[]byte{0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, CloseTooBig},
		"too long together":   {slices.Concat(wsFrames(true, fragment{0x01, strings.Repeat("a", 600)}), []byte{0x00, 0xfe, 0x01, 0x91}), CloseTooBig},
	} {
		for how, chunks := range map[string][][]byte{"whole": {bytes.Clone(tc.sent)}, "bytewise": bytewise(tc.sent)} {
			_, _, err := deframe(&Framer{Masked: true, Limit: 1000}, chunks...)
			var wrong *Error
			var long *TooLargeError
			switch {
			case errors.As(err, &wrong) && wrong.Code == tc.code:
			case errors.As(err, &long) && long.Limit == 1000 && tc.code == CloseTooBig:
			default:
				t.Errorf("%s, %s: %v, want the code %d", name, how, err, tc.code)
			}
		}
	}
	// A server's frames are not masked, and their length is the owner's to bound
	// as long as it can be counted.
	if _, _, err := deframe(&Framer{}, []byte{0x81, 0x80}); err == nil {
		t.Error("a masked frame of a server was taken")
	}
	if _, _, err := deframe(&Framer{}, []byte{0x81, 0xff &^ 0x80, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}); err == nil {
		t.Error("a length of 2^63-1 was taken")
	}
}

// Messages in any fragments with any control frames between, cut anywhere, are
// what was sent.
func TestFramesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		masked := rapid.Bool().Draw(t, "masked")
		var sent []byte
		var want []string
		for range rapid.IntRange(0, 5).Draw(t, "messages") {
			first := rapid.SampledFrom([]byte{Text, Binary}).Draw(t, "opcode")
			message := rapid.StringN(0, 200, -1).Draw(t, "message")
			fragments := rapid.IntRange(1, 5).Draw(t, "fragments")
			for i, rest := 0, message; i < fragments; i++ {
				n := len(rest)
				if i < fragments-1 {
					n = rapid.IntRange(0, len(rest)).Draw(t, "cut")
				} else {
					first |= 0x80
				}
				sent = append(sent, wsFrame(first, rest[:n], masked)...)
				rest, first = rest[n:], Continuation
				if i < fragments-1 && rapid.Bool().Draw(t, "ping") {
					sent = append(sent, wsFrame(0x89, "ping", masked)...)
					want = append(want, "9:ping")
				}
			}
			want = append(want, message)
		}
		var chunks [][]byte
		for rest := sent; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		got, rest, err := deframe(&Framer{Masked: masked}, chunks...)
		if err != nil || rest != 0 || !slices.Equal(got, want) {
			t.Fatalf("got %q, %d bytes left, %v; want %q", got, rest, err, want)
		}
	})
}

// Whatever arrives, it makes no difference how it is cut.
func FuzzFramer(f *testing.F) {
	for _, masked := range []bool{false, true} {
		f.Add(wsFrames(masked, fragment{0x81, "{}"}, fragment{0x89, "p"}), masked)
		f.Add(wsFrames(masked, fragment{0x01, "\xc3"}, fragment{0x89, "p"}, fragment{0x00, ""}, fragment{0x80, "\xa4"}), masked)
		f.Add(wsFrames(masked, fragment{0x82, strings.Repeat("x", 200)}, fragment{0x88, "\x03\xe8"}), masked)
		f.Add([]byte{0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, masked)
	}
	f.Fuzz(func(t *testing.T, sent []byte, masked bool) {
		const limit = 1000
		whole, wholeRest, wholeErr := deframe(&Framer{Masked: masked, Limit: limit}, bytes.Clone(sent))
		cut, cutRest, cutErr := deframe(&Framer{Masked: masked, Limit: limit}, bytewise(sent)...)
		if !slices.Equal(whole, cut) || fmt.Sprint(wholeErr) != fmt.Sprint(cutErr) || wholeErr == nil && wholeRest != cutRest {
			t.Fatalf("whole: %q, %d bytes left, %v; cut: %q, %d bytes left, %v", whole, wholeRest, wholeErr, cut, cutRest, cutErr)
		}
		for _, m := range whole {
			if len(m) > limit {
				t.Fatalf("a message of %d bytes", len(m))
			}
		}
	})
}

func TestMask(t *testing.T) {
	const key = 0x04030201
	for n := range 100 {
		b := bytes.Repeat([]byte{0xf0}, n)
		Mask(b, key)
		for i, c := range b {
			if c != 0xf0^byte(i%4+1) {
				t.Fatalf("byte %d of %d is %#x", i, n, c)
			}
		}
	}
}

// Each frame of a client has a key of its own, and writing one costs no memory.
func TestWrap(t *testing.T) {
	keys := map[uint32]bool{}
	for range 100 {
		b := Wrap([]byte("before{}"), len("before"), Text, true)
		if string(b[:8]) != "before\x81\x82" {
			t.Fatalf("%q", b)
		}
		key := binary.LittleEndian.Uint32(b[8:])
		keys[key] = true
		if Mask(b[12:], key); string(b[12:]) != "{}" {
			t.Fatalf("%q", b)
		}
	}
	if len(keys) < 99 { // of 2^32
		t.Errorf("100 frames have %d keys", len(keys))
	}
	dst := make([]byte, 0, 1000)
	for _, masked := range []bool{false, true} {
		if n := testing.AllocsPerRun(100, func() { Wrap(append(dst, "{}"...), 0, Text, masked) }); n != 0 {
			t.Errorf("masked %v: %v allocations", masked, n)
		}
	}
}
