package jsonrpc

import (
	"bufio"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire"
)

// A connection that stops within a frame is closed, one that stops between two
// is not, in every framing.
func TestStalledFrames(t *testing.T) {
	const asked = `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`
	for name, tc := range map[string]struct {
		send  string
		reply string // that comes first
		ends  bool
	}{
		"nothing":               {"", "", false},
		"white space":           {" \r\n", "", false},
		"a line":                {asked + "\n", `{"jsonrpc":"2.0","result":1,"id":1}` + "\n", false},
		"a part of a line":      {asked[:20], "", true},
		"a header":              {framed("header", asked), framed("header", `{"jsonrpc":"2.0","result":1,"id":1}`), false},
		"a header, blank lines": {framed("header", asked) + "\r\n", framed("header", `{"jsonrpc":"2.0","result":1,"id":1}`), false},
		"a part of a header":    {"Content-Le", "", true},
		"a header alone":        {"Content-Length: 5\r\n\r\n", "", true},
		"a part of its message": {"Content-Length: 5\r\n\r\n{", "", true},
		"a netstring":           {framed("netstring", asked), framed("netstring", `{"jsonrpc":"2.0","result":1,"id":1}`), false},
		"a part of a length":    {"1", "", true},
		"a length alone":        {"2:", "", true},
		"no comma":              {"2:{}", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv, err := NewServer(serverConfig(newFixture().reg, everywire.Limits{}))
				if err != nil {
					t.Fatal(err)
				}
				client, server := net.Pipe()
				lis := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
				lis.conns <- server
				served := make(chan error, 1)
				go func() { served <- srv.Serve(lis) }()
				if _, err := io.WriteString(client, tc.send); err != nil && tc.send != "" {
					t.Fatal(err)
				}
				r := bufio.NewReader(client)
				reply := make([]byte, len(tc.reply))
				if _, err := io.ReadFull(r, reply); err != nil || string(reply) != tc.reply {
					t.Errorf("got %q, %v", reply, err)
				}
				if err := client.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				_, err = r.ReadByte()
				if timeout, ok := err.(net.Error); tc.ends == (ok && timeout.Timeout()) { //nolint:errorlint // as net.Pipe returns it
					t.Errorf("the connection ended: %v, want that: %v", err, tc.ends)
				}
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				if err := srv.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
