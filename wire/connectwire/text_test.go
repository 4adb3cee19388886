package connectwire

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// The text form of gRPC-Web, as a browser's client sends and reads it.
func TestText(t *testing.T) {
	h := newTestHandler(t, nil)
	call := func(method, message string) (string, string) {
		t.Helper()
		frame := "\x00\x00\x00\x00" + string(rune(len(message))) + message
		body := base64.StdEncoding.EncodeToString([]byte(frame))
		res := do(t, h, "POST", "/test.Notes/"+method, strings.NewReader(body), "Content-Type", "application/grpc-web-text+proto")
		if ct := res.Header.Get("Content-Type"); ct != "application/grpc-web-text+proto" {
			t.Errorf("%s: Content-Type %q", method, ct)
		}
		raw, err := io.ReadAll(&textReader{body: io.NopCloser(strings.NewReader(bodyOf(t, res)))})
		if err != nil {
			t.Error(err)
		}
		return string(raw), res.Header.Get("Grpc-Status")
	}
	const end = "\x80\x00\x00\x00\x10grpc-status: 0\r\n"
	if got, _ := call("Echo", "\n\x01a"); got != "\x00\x00\x00\x00\x03\n\x01a"+end {
		t.Errorf("got %q", got)
	}
	if got, _ := call("Repeat", "\n\x01a\x10\x02"); got != strings.Repeat("\x00\x00\x00\x00\x03\n\x01a", 2)+end {
		t.Errorf("got %q", got)
	}
	if _, code := call("Fail", "\x10\x05"); code != "5" {
		t.Errorf("the call that fails has the code %q", code)
	}
	if _, code := call("No", ""); code != "12" {
		t.Errorf("a method that there is not has the code %q", code)
	}
}

// Text that is encoded in pieces, and read in pieces.
func TestTextReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []byte
		var text bytes.Buffer
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 9000)).Draw(t, "pieces") {
			want = append(want, piece...)
			text.WriteString(base64.StdEncoding.EncodeToString(piece))
		}
		var body io.Reader = &text
		if rapid.Bool().Draw(t, "slowly") {
			body = iotest.HalfReader(body)
		}
		got, err := io.ReadAll(&textReader{body: io.NopCloser(body)})
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("got %d bytes, %v, want %d", len(got), err, len(want))
		}
	})
	for _, bad := range []string{"A", "AAA", "AAAAA", "A===", "=AAA", "AA=A", "AAA\n", "AA\nA", "****"} {
		if got, err := io.ReadAll(&textReader{body: io.NopCloser(strings.NewReader(bad))}); err == nil {
			t.Errorf("%q was read as %q", bad, got)
		}
	}
}

// FuzzTextReader: whatever is read, encoding it gives the text back.
func FuzzTextReader(f *testing.F) {
	f.Add("AAAA")
	f.Add("AA==AAA=")
	f.Add("=")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := io.ReadAll(&textReader{body: io.NopCloser(strings.NewReader(text))})
		if err == nil && len(got) > 3*len(text)/4 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if err == nil && !strings.Contains(text, "=") && !strings.EqualFold(base64.StdEncoding.EncodeToString(got), text) {
			t.Errorf("%q was read as %q", text, got)
		}
	})
}
