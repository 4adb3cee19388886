package msgpackrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/msgpackrpc"
)

// A foreign is a peer that sends bytes of its own making.
type foreign struct {
	t    *testing.T
	conn net.Conn
	buf  []byte
	scan msgpack.ScanState
}

func (f *fixture) foreign(t *testing.T) *foreign {
	t.Helper()
	conn, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &foreign{t: t, conn: conn}
}

func (p *foreign) send(parts ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, strings.Join(parts, "")); err != nil {
		p.t.Fatal(err)
	}
}

// receive reads one value, decoded as a document.
func (p *foreign) receive() any {
	p.t.Helper()
	var doc everywire.Document
	if err := (msgpack.Codec{}).Decode(p.receiveRaw(), &doc); err != nil {
		p.t.Fatal(err)
	}
	return doc.Value
}

// receiveRaw reads the bytes of one value.
func (p *foreign) receiveRaw() []byte {
	p.t.Helper()
	for {
		if len(p.buf) > 0 {
			n, err := msgpack.Scan(p.buf, &p.scan, 1<<20)
			if err != nil {
				p.t.Fatal(err)
			}
			if n > 0 {
				raw := p.buf[:n]
				p.buf = p.buf[n:]
				return raw
			}
		}
		piece := make([]byte, 4096)
		n, err := p.conn.Read(piece)
		if err != nil {
			p.t.Fatalf("after % x: %v", p.buf, err)
		}
		p.buf = append(p.buf, piece[:n]...)
	}
}

func (p *foreign) want(want any) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.receive()); diff != "" {
		p.t.Errorf("message (-want +got):\n%s", diff)
	}
}

// wantEnd checks that the server closes without another byte.
func (p *foreign) wantEnd() {
	p.t.Helper()
	rest, err := io.ReadAll(p.conn)
	if err != nil || len(p.buf)+len(rest) > 0 {
		p.t.Errorf("before the end came % x% x, %v", p.buf, rest, err)
	}
}

func ok(id int64, sum int64) any { return []any{int64(1), id, nil, map[string]any{"sum": sum}} }

func failed(id int64, code int64, message string) any {
	return []any{int64(1), id, map[string]any{"code": code, "message": message}, nil}
}

const (
	sumName = "\xafarith.Arith/Sum"
	oneTwo  = "\x91\x81\xa7numbers\x92\x01\x02" // [{"numbers": [1, 2]}]
)

func TestRequestForms(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		name, sent string
		want       any
	}{
		{"fixint id", "\x94\x00\x07" + sumName + oneTwo, ok(7, 3)},
		{"uint8 id", "\x94\x00\xcc\x07" + sumName + oneTwo, ok(7, 3)},
		{"uint16 id", "\x94\x00\xcd\x01\x00" + sumName + oneTwo, ok(256, 3)},
		{"uint32 id, the largest", "\x94\x00\xce\xff\xff\xff\xff" + sumName + oneTwo, ok(1<<32-1, 3)},
		{"uint64 id", "\x94\x00\xcf\x00\x00\x00\x00\x00\x00\x00\x09" + sumName + oneTwo, ok(9, 3)},
		{"int8 id", "\x94\x00\xd0\x07" + sumName + oneTwo, ok(7, 3)},
		{"int64 id", "\x94\x00\xd3\x00\x00\x00\x00\x00\x00\x00\x07" + sumName + oneTwo, ok(7, 3)},
		{"wide type", "\x94\xcd\x00\x00\x00" + sumName + oneTwo, ok(0, 3)},
		{"array16", "\xdc\x00\x04\x00\x01" + sumName + oneTwo, ok(1, 3)},
		{"array32", "\xdd\x00\x00\x00\x04\x00\x01" + sumName + oneTwo, ok(1, 3)},
		{"str8 name", "\x94\x00\x01\xd9\x0farith.Arith/Sum" + oneTwo, ok(1, 3)},
		{"bin name", "\x94\x00\x01\xc4\x0farith.Arith/Sum" + oneTwo, ok(1, 3)},
		{"raw16 name", "\x94\x00\x01\xda\x00\x0farith.Arith/Sum" + oneTwo, ok(1, 3)},
		{"short name", "\x94\x00\x01\xa3sum" + oneTwo, ok(1, 3)},
		{"no message", "\x94\x00\x01" + sumName + "\x90", ok(1, 0)},
		{"negative numbers", "\x94\x00\x01" + sumName + "\x91\x81\xa7numbers\x92\xd1\xff\x7f\xe0", ok(1, -161)},
		{"unknown method", "\x94\x00\x01\xafarith.Arith/Nop\x90", failed(1, 12, "unknown method Nop for service arith.Arith")},
		{"unknown service", "\x94\x00\x01\xa3a/b\x90", failed(1, 12, "unknown service a")},
		{"a name that is none", "\x94\x00\x01\xa9__proto__\x90", failed(1, 12, `unknown method "__proto__"`)},
		{"a name with a slash before", "\x94\x00\x01\xb0/arith.Arith/Sum" + oneTwo, ok(1, 3)},
		{"rpc.meta as a request", "\x94\x00\x01\xa8rpc.meta\x90", failed(1, 12, "")},
		{"name is a number", "\x94\x00\x01\x05\x90", failed(1, 3, "")},
		{"name is not UTF-8", "\x94\x00\x01\xa1\xff\x90", failed(1, 3, "")},
		{"params is a map", "\x94\x00\x01" + sumName + "\x80", failed(1, 3, "")},
		{"params is nil", "\x94\x00\x01" + sumName + "\xc0", failed(1, 3, "")},
		{"two params", "\x94\x00\x01" + sumName + "\x92\x01\x02", failed(1, 3, "params of arith.Arith/Sum has one element, the message, not 2")},
		{"message is a string", "\x94\x00\x01" + sumName + "\x91\xa1x", failed(1, 3, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := f.foreign(t)
			p.send(tt.sent)
			got := p.receive()
			want := tt.want
			if m, ok := want.([]any)[2].(map[string]any); ok && m["message"] == "" { // any text will do
				m["message"] = got.([]any)[2].(map[string]any)["message"]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			p.send("\x94\x00\x7f" + sumName + oneTwo) // the connection is still good
			p.want(ok(127, 3))
		})
	}
}

// What is no message ends the connection, without a word.
func TestNotAMessage(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage = 1000 })
	for name, sent := range map[string]string{
		"HTTP":                        "GET / HTTP/1.1\r\n\r\n",
		"nil":                         "\xc0",
		"the unused byte":             "\xc1",
		"an empty array":              "\x90",
		"a request of 3":              "\x93\x00\x01" + sumName,
		"a request of 5":              "\x95\x00\x01" + sumName + "\x90\x00",
		"a notification of 4":         "\x94\x02" + sumName + "\x90\x00",
		"a response of 3":             "\x93\x01\x01\xc0",
		"type 3":                      "\x94\x03\x01" + sumName + "\x90",
		"type -1":                     "\x94\xff\x01" + sumName + "\x90",
		"type is a string":            "\x94\xa10\x01" + sumName + "\x90",
		"id of 33 bits":               "\x94\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00" + sumName + "\x90",
		"negative id":                 "\x94\x00\xd1\xff\x7f" + sumName + "\x90",
		"id is nil":                   "\x94\x00\xc0" + sumName + "\x90",
		"id is a float":               "\x94\x00\xca\x00\x00\x00\x00" + sumName + "\x90",
		"notification without a name": "\x93\x02\x05\x90",
		"4 billion elements":          "\xdd\xff\xff\xff\xff",
		"a str of 4 GiB":              "\xdb\xff\xff\xff\xff",
		"nested too deeply":           strings.Repeat("\x91", 1000),
		"bad meta":                    "\x93\x02\xa8rpc.meta\x91\x01",
		"meta without its message":    "\x93\x02\xa8rpc.meta\x92\x05\x80\x94\x00\x06" + sumName + "\x90",
		"meta twice":                  "\x93\x02\xa8rpc.meta\x92\x05\x80\x93\x02\xa8rpc.meta\x92\x05\x80",
		"meta before a response":      "\x93\x02\xa8rpc.meta\x92\x05\x80\x94\x01\x05\xc0\xc0",
		"meta with a bad key":         "\x93\x02\xa8rpc.meta\x92\x05\x81\xa6header\x81\xa1 \x91\xa1v",
		"cancel without an id":        "\x93\x02\xaf$/cancelRequest\x90",
	} {
		t.Run(name, func(t *testing.T) {
			p := f.foreign(t)
			p.send(sent)
			p.wantEnd()
		})
	}
}

// A request that is too long is answered as soon as its id is there.
func TestTooLong(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage, c.Limits.MaxMetadata = 100, 100 })
	p := f.foreign(t)
	p.send("\x94\x00\x05" + sumName + "\x91\xdb\xff\xff\xff\xff")
	p.want([]any{int64(1), int64(5), map[string]any{
		"code": int64(8), "message": "received a request larger than max (100)",
		"details": []any{errorInfo("CALL_NOT_RUN"), errorInfo("CONNECTION_CLOSING")},
	}, nil})
	p.wantEnd()
}

// errorInfo is a detail that we mark errors with.
func errorInfo(reason string) any {
	value := "\x0a" + string(rune(len(reason))) + reason + "\x12\x09everywire"
	return map[string]any{"type": "google.rpc.ErrorInfo", "value": []byte(value)}
}

// A client knows that the connection ends behind the answer to a request that is too
// long, in either envelope, before it sees the end: its next call is made on another
// connection, though the server has not closed the first.
func TestNextCallAfterTooLong(t *testing.T) {
	for _, envelope := range []string{"array", "map"} {
		t.Run(envelope, func(t *testing.T) {
			small := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage, c.Limits.MaxMetadata = 1000, 100 })
			dials := 0
			conn, err := msgpackrpc.NewConn(&rpc.ClientConfig{
				Limits:  everywire.Limits{}.WithDefaults(),
				Options: rpc.Options{"envelope": envelope},
				DialAddr: func(ctx context.Context, addr string) (net.Conn, error) {
					dials++
					conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
					return &neverEnds{Conn: conn, closed: make(chan struct{})}, err
				},
				Addrs: []string{small.addr},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, err = everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{Numbers: make([]int64, 10_000)})
			// The id of a map comes last, so the server has not seen it.
			if status.Code(err) != codes.ResourceExhausted || everywire.MayHaveRun(err) != (envelope == "map") {
				t.Errorf("a request that is too long: %v, may have run: %t", err, everywire.MayHaveRun(err))
			}
			if _, err := everywire.Call[Sum](t.Context(), conn, "arith.Arith/Sum", &Numbers{Numbers: []int64{1, 2}}); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if dials != 2 {
				t.Errorf("%d connections were made, want 2", dials)
			}
		})
	}
}

// A neverEnds connection does not show its reader that the peer has closed it.
type neverEnds struct {
	net.Conn
	closed chan struct{}
	once   sync.Once
}

func (c *neverEnds) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		<-c.closed
	}
	return n, err
}

func (c *neverEnds) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// Messages that are cut anywhere, or come together, give the same result.
func TestCutAnywhere(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxInFlight = 1 })
	wire := "\x94\x00\x01" + sumName + oneTwo + "\x94\x00\xcd\x01\x00\xa3sum\x90"
	for cut := range len(wire) + 1 {
		p := f.foreign(t)
		p.send(wire[:cut])
		p.send(wire[cut:])
		p.want(ok(1, 3))
		p.want(ok(256, 0))
	}
}

// A peer that did not ask sees nothing but the specification's messages.
func TestPlainPeerSeesNoMeta(t *testing.T) {
	f := newFixture(t)
	p := f.foreign(t)
	meta := "\x93\x02\xa8rpc.meta\x92\x05\x82\xa6header\x82\xa3key\x91\xa1v\xa7raw-bin\x91\xc4\x01\xff\xa4want"
	const message = "\x94\x00\x05\xb0arith.Arith/Meta\x90"
	p.send(meta+"\xc2", message)
	p.want(ok(5, 1))
	p.send(meta+"\xc3", message)
	p.want([]any{int64(2), "rpc.meta", []any{int64(5), map[string]any{
		"header":  map[string]any{"got": []any{"v"}, "raw-bin": []any{[]byte{0xff}}},
		"trailer": map[string]any{"after": []any{"yes"}},
	}}})
	p.want(ok(5, 1))
}

func TestNotification(t *testing.T) {
	f := newFixture(t)
	p := f.foreign(t)
	p.send("\x93\x02\xb0arith.Arith/Tell" + oneTwo)
	if got := <-f.told; got != 3 {
		t.Errorf("told %d", got)
	}
	p.send("\x93\x02\xb0arith.Arith/Fail\x90", "\x93\x02\xa4nope\x90", "\x94\x01\x05\xc0\xc0", "\x94\x00\x06\xa3sum\x90")
	p.want(ok(6, 0)) // and nothing before it
}

// The second request with an id in flight is refused, the first goes on.
func TestSameIDTwice(t *testing.T) {
	f := newFixture(t)
	p := f.foreign(t)
	p.send("\x94\x00\x05\xb0arith.Arith/Wait\x90")
	<-f.waiting
	p.send("\x94\x00\x05\xa3sum\x90")
	p.want(failed(5, 3, "a request with the message id 5 is in flight already"))
	p.send("\x93\x02\xaf$/cancelRequest\x91\x05")
	<-f.ended
	// A cancelled request is not answered. Its id is free afterwards, but when is not to be seen from here.
	p.send("\x94\x00\x06\xa3sum\x90", "\x93\x02\xaf$/cancelRequest\x91\x09")
	p.want(ok(6, 0))
}

// Answers come in the order in which calls end.
func TestAnyOrder(t *testing.T) {
	f := newFixture(t)
	p := f.foreign(t)
	p.send("\x93\x02\xa8rpc.meta\x92\x01\x81\xaatimeout_ms\x32", "\x94\x00\x01\xb0arith.Arith/Wait\x90")
	<-f.waiting
	p.send("\x94\x00\x02\xa3sum\x90")
	p.want(ok(2, 0))
	p.want(failed(1, 4, "context deadline exceeded"))
}

func TestTimeouts(t *testing.T) {
	f := newFixture(t)
	for _, ms := range []string{"\x00", "\xff", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"} {
		p := f.foreign(t)
		p.send("\x93\x02\xa8rpc.meta\x92\x01\x81\xaatimeout_ms"+ms, "\x94\x00\x01\xb0arith.Arith/Wait\x90")
		p.want(failed(1, 4, "context deadline exceeded"))
		<-f.waiting
	}
	p := f.foreign(t)
	p.send("\x93\x02\xa8rpc.meta\x92\x01\x81\xaatimeout_ms\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", "\x94\x00\x01\xa3sum\x90")
	p.want(ok(1, 0))
}

// FuzzServer sends bytes to a server: it answers or closes, and stays alive.
func FuzzServer(f *testing.F) {
	for _, s := range []string{
		"\x94\x00\x07" + sumName + oneTwo, "\x93\x02\xa8rpc.meta\x92\x05\x80\x94\x00\x05\xa3sum\x90",
		"\x93\x02\xaf$/cancelRequest\x91\x05", "\x94\x01\x05\xc0\xc0", "\xdd\xff\xff\xff\xff",
		request("add", "\x92\x14\x15", "\x01"), request("order", "\x92\x90\xa1x", "\xa1i"), request("say", "\x91\xa0", "\xc0"),
		"\x92" + request("add", "\x90", "\x01") + notification("$/cancelRequest", "\x81\xa2id\x01"), "\xdf\xff\xff\xff\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("Wait")) {
			return // a call that waits holds the end of the connection
		}
		fx := newFixture(t)
		p := fx.foreign(t)
		p.send(string(data))
		if err := p.conn.(*net.TCPConn).CloseWrite(); err != nil {
			return // the server was faster
		}
		all, _ := io.ReadAll(p.conn) // a reset is an end too
		for r := msgpack.NewReader(all); r.Len() > 0; {
			if _, err := r.Raw(); err != nil {
				t.Fatalf("the server sent % x: %v", all, err)
			}
		}
	})
}
