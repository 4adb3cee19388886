package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// The playground: one sum by JSON and CRLF over TCP, by raw MessagePack maps over TCP,
// and by an envelope that is posted to the path of its method. These tests send and
// expect bytes; wire/foreign has clients that others' programs are made of.

// playground serves one of the three and connects to it, by a network on which what is
// written at once arrives at once, and by itself.
func playground(t *testing.T, target string, with func(t *testing.T, conn net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		reg := everywire.NewRegistry()
		arith.Register(reg)
		n := newDelayedNet(t, 0)
		server, err := wire.Serve(context.Background(), reg, []string{target}, wire.WithListener(n.listen), wire.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := n.dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = conn.Close()
			if err := server.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		with(t, conn)
	})
}

func send(t *testing.T, conn net.Conn, data string) {
	t.Helper()
	if _, err := io.WriteString(conn, data); err != nil {
		t.Fatal(err)
	}
}

// receive reads as many bytes as are wanted.
func receive(t *testing.T, conn io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(conn, got)
	if string(got[:n]) != want || err != nil {
		t.Fatalf("got  %q, %v\nwant %q", got[:n], err, want)
	}
}

// segments sends a text at once, twice at once, and in two at every place.
func segments(t *testing.T, conn net.Conn, text, want string) {
	t.Helper()
	send(t, conn, text)
	receive(t, conn, want)
	send(t, conn, text+text)
	receive(t, conn, want+want)
	for i := 1; i < len(text); i++ {
		send(t, conn, text[:i])
		synctest.Wait() // the server has it
		send(t, conn, text[i:])
		receive(t, conn, want)
	}
}

func TestPlaygroundJSON(t *testing.T) {
	playground(t, "jsonrpc+tcp://127.0.0.1:9090", playgroundJSON)
}

func playgroundJSON(t *testing.T, conn net.Conn) {
	segments(t, conn, `{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}`+"\r\n", `{"jsonrpc":"2.0","result":41,"id":1}`+"\n")
	unknown := func(name, id string) string {
		return `{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown method \"` + name + `\""},"id":` + id + `}`
	}
	for _, c := range []struct{ request, want string }{
		{`{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":"a\u00fc"}`, `{"jsonrpc":"2.0","result":41,"id":"a\u00fc"}`},
		{`{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":"1"}`, `{"jsonrpc":"2.0","result":41,"id":"1"}`},
		{`{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":null}`, `{"jsonrpc":"2.0","result":41,"id":null}`},
		{`{"jsonrpc":"2.0","method":"sum","id":2}`, `{"jsonrpc":"2.0","result":0,"id":2}`},
		{`{"jsonrpc":"2.0","method":"sum","params":[],"id":2}`, `{"jsonrpc":"2.0","result":0,"id":2}`},
		{`{"jsonrpc":"2.0","method":"toString","params":[1],"id":3}`, unknown("toString", "3")},
		{`{"jsonrpc":"2.0","method":"__proto__","id":"x"}`, unknown("__proto__", `"x"`)},
		{`{"jsonrpc":"2.0","params":[1],"id":4}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"member \"method\" is missing"},"id":4}`},
		{`{"jsonrpc":"2.0","method":"sum","params":[1],"id":[]}`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"member \"id\" must be a string, a number or null, not []"},"id":null}`},
		{`{"jsonrpc":"2.0","method":"sum","params":[1}`, `{"jsonrpc":"2.0","error":{"code":-32700,"message":`},
		{`{"jsonrpc":"2.0","method":"sum","params":["x"],"id":5}`, `{"jsonrpc":"2.0","error":{"code":-32602,"message":`},
	} {
		send(t, conn, c.request+"\r\n")
		if strings.HasSuffix(c.want, `}`) {
			receive(t, conn, c.want+"\n")
			continue
		}
		receive(t, conn, c.want)
		rest, err := bufio.NewReaderSize(conn, 16).ReadString('\n') // one reply, and nothing behind it
		if err != nil || strings.Contains(c.want, "-32700") && !strings.HasSuffix(rest, `,"id":null}`+"\n") {
			t.Errorf("%s: %q, %v", c.request, rest, err)
		}
	}
}

func TestPlaygroundMessagePack(t *testing.T) {
	playground(t, "msgpackrpc+tcp://127.0.0.1:9091", playgroundMessagePack)
}

func playgroundMessagePack(t *testing.T, conn net.Conn) {
	head := "\xa7jsonrpc\xa32.0"
	sum := "\x84" + head + "\xa6method\xa3sum\xa6params\x92\x14\x15\xa2id"
	segments(t, conn, sum+"\x01", "\x83"+head+"\xa6result\x29\xa2id\x01")
	failure := func(code, length, message string) string { // the first bytes of the code are the same
		return "\x83" + head + "\xa5error\x82\xa4code\xd1\x80" + code + "\xa7message" + length + message + "\xa2id"
	}
	for _, c := range []struct{ request, want string }{
		{sum + "\xa2a1", "\x83" + head + "\xa6result\x29\xa2id\xa2a1"},
		{sum + "\xc0", "\x83" + head + "\xa6result\x29\xa2id\xc0"},
		{"\x83" + head + "\xa6method\xa3sum\xa2id\x02", "\x83" + head + "\xa6result\x00\xa2id\x02"},
		{"\x83" + head + "\xa6method\xa8toString\xa2id\x03", failure("\xa7", "\xb9", `unknown method "toString"`) + "\x03"},
		{"\x83" + head + "\xa6method\xa9__proto__\xa2id\xa1x", failure("\xa7", "\xba", `unknown method "__proto__"`) + "\xa1x"},
		{"\x83" + head + "\xa6params\x90\xa2id\x04", failure("\xa8", "\xba", `member "method" is missing`) + "\x04"},
		{"\x84" + head + "\xa6method\xa3sum\xa6params\x90\xa2id\x90", failure("\xa8", "\xd9\x3b", `member "id" must be a string, a number or nil, not an array`) + "\xc0"},
		{"\x84" + head + "\xa6method\xa3sum\xa6params\x91\xa1x\xa2id\x05", failure("\xa6", "\xd9\x5d", `request of arith.Arith/Sum: msgpack: byte 10: numbers[0]: a string where an integer is needed`) + "\x05"},
	} {
		send(t, conn, c.request)
		receive(t, conn, c.want)
	}
}

func TestPlaygroundHTTP(t *testing.T) {
	playground(t, "jsonrpc+http://127.0.0.1:9092?replies=bare", playgroundHTTP)
}

func playgroundHTTP(t *testing.T, conn net.Conn) {
	in := bufio.NewReader(conn)
	post := func(path, header, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost:9092\r\n%sContent-Length: %d\r\n\r\n%s", path, header, len(body), body)
	}
	want := func(what string, status int, body string) {
		t.Helper()
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != status || string(got) != body || status != http.StatusNoContent && res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s:\ngot  %d %s %v %v\nwant %d %s", what, res.StatusCode, got, res.Header, err, status, body)
		}
	}
	json := "Content-Type: application/json\r\n"
	sum := post("/sum", json, `{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":1}`)
	send(t, conn, sum)
	want("sum", 200, `{"result":41}`)
	send(t, conn, sum+sum)
	want("first of two", 200, `{"result":41}`)
	want("second of two", 200, `{"result":41}`)
	for i := 1; i < len(sum); i += 3 {
		send(t, conn, sum[:i])
		synctest.Wait() // the server has it
		send(t, conn, sum[i:])
		want("in two", 200, `{"result":41}`)
	}
	for _, c := range []struct {
		path, header, body string
		status             int
		want               string
	}{
		{"/sum", json, `{"jsonrpc":"2.0","method":"sum","params":[20,21],"id":"a"}`, 200, `{"result":41}`},
		{"/sum", json, `{"jsonrpc":"2.0","method":"sum","id":1}`, 200, `{"result":0}`},
		{"/arith.Arith/Sum", json, `{"jsonrpc":"2.0","method":"arith.Arith/Sum","params":{"numbers":[1]},"id":1}`, 200, `{"result":{"sum":1}}`},
		{"/sum", json, `{"jsonrpc":"2.0","method":"arith.Arith/Sum","params":{"numbers":[1]},"id":1}`, 200, `{"result":{"sum":1}}`},
		{"/sum", "", `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`, 200, `{"result":1}`},
		{"/sum", "Origin: http://a.example\r\n", `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`, 415, `{"error":"content type \"\" is not application/json, application/json-rpc or application/jsonrequest"}`},
		{"/sum", json, `{"jsonrpc":"2.0","method":"sum","params":[1]}`, 204, ``},
		{"/nope", json, `{"jsonrpc":"2.0","method":"nope","params":[1],"id":1}`, 400, `{"error":"method not found"}`},
		{"/nope", json, `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`, 400, `{"error":"method not found"}`},
		{"/sum", json, `{"jsonrpc":"2.0","method":"nope","params":[1],"id":1}`, 400, `{"error":"method not found"}`},
		{"/toString", json, `{"jsonrpc":"2.0","method":"toString","params":[1],"id":1}`, 400, `{"error":"method not found"}`},
		{"/__proto__", json, `{"jsonrpc":"2.0","method":"__proto__","id":null}`, 400, `{"error":"method not found"}`},
		{"/", json, `{"jsonrpc":"2.0","method":"sum","id":1}`, 400, `{"error":"method not found"}`},
		{"/sum", json, `{"jsonrpc":"2.0","params":[1],"id":1}`, 400, `{"error":"member \"method\" is missing"}`},
		{"/sum", json, `[{"jsonrpc":"2.0","method":"sum","id":1}]`, 400, `{"error":"a batch has no path: requests are posted one by one, each to the path of its method"}`},
		{"/sum", json, `[]`, 400, `{"error":"a batch has no path: requests are posted one by one, each to the path of its method"}`},
		{"/sum", json, `{"jsonrpc":"2.0","method":"sum","params":[9223372036854775807,1],"id":1}`, 500, `{"error":"the sum of the first 2 numbers does not fit into 64 bits"}`},
	} {
		send(t, conn, post(c.path, c.header, c.body))
		want(c.path+" "+c.body, c.status, c.want)
	}
	// Texts of errors that are others' business.
	for _, c := range []struct {
		body, begins string
	}{
		{`{`, `{"error":"the text is not JSON`},
		{``, `{"error":"the text is not JSON`},
		{`{"jsonrpc":"2.0","method":"sum","params":["x"],"id":1}`, `{"error":"request of arith.Arith/Sum`},
	} {
		send(t, conn, post("/sum", json, c.body))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusBadRequest || !strings.HasPrefix(string(got), c.begins) || !strings.HasSuffix(string(got), `"}`) {
			t.Errorf("%s: %d %s, %v", c.body, res.StatusCode, got, err)
		}
	}
	send(t, conn, "GET /sum HTTP/1.1\r\nHost: localhost\r\n\r\n")
	want("GET", 405, `{"error":"JSON-RPC is POST, not GET"}`)
}
