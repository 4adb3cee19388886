package websocket

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAnswer reads no byte beyond the head, however it arrives.
func TestReadAnswer(t *testing.T) {
	head := "HTTP/1.1 101 Switching Protocols\r\nX: \r\r\n" + strings.Repeat("Field: value\r\n", 10) + "\r\n"
	for _, arrives := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader} {
		rest := strings.NewReader(head + "\r\n\r\n")
		got, err := readAnswer(arrives(rest))
		if err != nil || string(got) != head || rest.Len() != 4 {
			t.Errorf("got %q, %d bytes left, %v", got, rest.Len(), err)
		}
	}
}
