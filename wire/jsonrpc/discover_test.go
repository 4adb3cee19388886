package jsonrpc

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// methodsOf are the names in the OpenRPC document of a reply.
func methodsOf(t *testing.T, reply string) []string {
	t.Helper()
	var r struct {
		Result struct {
			OpenRPC string
			Methods []struct{ Name string }
		}
		ID int
	}
	if err := json.Unmarshal([]byte(reply), &r); err != nil || r.ID != 1 || r.Result.OpenRPC != "1.3.2" {
		t.Fatalf("%v: %.300s", err, reply)
	}
	names := make([]string, 0, len(r.Result.Methods))
	for _, m := range r.Result.Methods {
		names = append(names, m.Name)
	}
	return names
}

// TestDiscover: the document has every name under which the server answers, and
// those of methods that were registered later.
func TestDiscover(t *testing.T) {
	f := newFixture()
	const send = `{"jsonrpc":"2.0","method":"rpc.discover","id":1}`
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	c.send(send + "\n")
	before := methodsOf(t, c.line())
	for _, want := range []string{"sum", "arith.Arith/Sum", "t.Echo/Any", "get_data"} {
		if !slices.Contains(before, want) {
			t.Errorf("%q is missing in %q", want, before)
		}
	}
	for _, name := range before {
		c.send(`{"jsonrpc":"2.0","method":"` + name + `","params":["",2,3],"timeout_ms":0,"id":1}` + "\n")
		if got := c.line(); strings.Contains(got, "-32601") {
			t.Errorf("%s is described, but: %s", name, got)
		}
	}
	registerEmpty(f.reg, "later.Later/M", "later")
	c.send(send + "\n")
	if after := methodsOf(t, c.line()); !slices.Contains(after, "later") || len(after) != len(before)+2 {
		t.Errorf("after another was registered: %q", after)
	}
	// As a notification it says nothing; as an element of a batch it answers.
	c.send(`{"jsonrpc":"2.0","method":"rpc.discover"}[` + send + `]`)
	if got := c.line(); !strings.HasPrefix(got, `[{"jsonrpc":"2.0","result":{"openrpc":"1.3.2"`) {
		t.Errorf("%.100s", got)
	}
	status, body := post(t, "http://"+serve(t, NewHTTPServer, serverConfig(f.reg, everywire.Limits{}))+DefaultPath, "application/json", send)
	if got := methodsOf(t, body); status != http.StatusOK || !slices.Contains(got, "sum") {
		t.Errorf("over HTTP: %d %q", status, got)
	}
}

func TestDiscoverOptions(t *testing.T) {
	f := newFixture()
	cfg := serverConfig(f.reg, everywire.Limits{})
	ask := func(send string) string {
		t.Helper()
		c := dialRaw(t, serve(t, NewServer, cfg))
		c.send(send + "\n")
		return c.line()
	}
	const send = `{"jsonrpc":"2.0","method":"rpc.discover","id":1}`
	cfg.Options = rpc.Options{"discover": "off"}
	if got := ask(send); got != `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"rpc.discover\"; names that begin with rpc. or $/ are reserved"},"id":1}` {
		t.Error(got)
	}
	cfg.Options = rpc.Options{"version": "1.0"}
	if got := ask(`{"method":"rpc.discover","params":[],"id":1}`); !strings.HasPrefix(got, `{"result":{"openrpc":"1.3.2"`) || !strings.HasSuffix(got, `,"error":null,"id":1}`) {
		t.Errorf("%.100s", got)
	}
	cfg.Options = nil
	cfg.Limits.MaxMessage = 100
	if got := ask(send); !strings.Contains(got, `"code":-32008`) || !strings.Contains(got, "larger than the limit of 100") {
		t.Error(got)
	}
	// A faulty declaration that came later is said, not hidden.
	cfg.Limits = everywire.Limits{}.WithDefaults()
	c := dialRaw(t, serve(t, NewServer, cfg))
	registerEmpty(f.reg, "later.Later/M", "sum")
	c.send(send + "\n")
	if got := c.line(); !strings.Contains(got, `"code":-32603`) || !strings.Contains(got, `\"sum\" is taken`) {
		t.Error(got)
	}
}

// TestBytesOption: what the option asks for is written, what it does not ask for
// is read.
func TestBytesOption(t *testing.T) {
	reg := everywire.NewRegistry()
	registerBytes(reg)
	for option, want := range map[string]string{"": `{"data":"AIA="}`, "base64": `{"data":"AIA="}`, "array": `{"data":[0,-128]}`} {
		cfg := serverConfig(reg, everywire.Limits{})
		cfg.Options = rpc.Options{"bytes": option}
		addr := serve(t, NewServer, cfg)
		c := dialRaw(t, addr)
		for _, data := range []string{`"AIA="`, `"AIA"`, `"AIA\u003d"`, `[0,128]`, `[0,-128]`} {
			c.send(`{"jsonrpc":"2.0","method":"t.Bytes/Echo","params":{"data":` + data + `},"id":1}`)
			c.wantLine(`{"jsonrpc":"2.0","result":` + want + `,"id":1}`)
		}
		client := clientConfig(addr, nil)
		client.Options = rpc.Options{"bytes": option}
		out, err := everywire.Call[bytesMessage](t.Context(), dial(t, NewConn, client), "t.Bytes/Echo", &bytesMessage{[]byte{0, 128}})
		if err != nil || string(out.Data) != "\x00\x80" {
			t.Errorf("%q: %v, %v", option, out, err)
		}
	}
	conn, server := scripted(t, rpc.Options{"bytes": "array"})
	call := everywire.Start[bytesMessage](t.Context(), conn, "t.Bytes/Echo", &bytesMessage{[]byte{0, 128}})
	server.wantLine(`{"jsonrpc":"2.0","method":"t.Bytes/Echo","params":{"data":[0,-128]},"id":1}`)
	server.send(`{"jsonrpc":"2.0","result":{"data":"_-8"},"id":1}`)
	if out, err := call.Wait(t.Context()); err != nil || string(out.Data) != "\xff\xef" {
		t.Errorf("%v, %v", out, err)
	}
}
