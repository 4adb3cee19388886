package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/stream"
)

// streaming adds methods that stream to a fixture.
func streaming() *fixture {
	f := newFixture()
	everywire.HandleServerStream(f.reg, "s.S/Count", func(in *sumRequest, out grpc.ServerStreamingServer[sumReply]) error {
		for _, n := range in.Numbers {
			if err := out.Send(&sumReply{n}); err != nil {
				return err
			}
		}
		out.SetTrailer(metadata.Pairs("t", "1"))
		return nil
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "count", Params: everywire.ParamsList, Field: "numbers"}))
	everywire.HandleClientStream(f.reg, "s.S/Sum", func(in grpc.ClientStreamingServer[sumRequest, sumReply]) error {
		var sum sumReply
		for {
			m, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return in.SendAndClose(&sum)
			}
			if err != nil {
				return err
			}
			for _, n := range m.Numbers {
				sum.Sum += n
			}
		}
	}, everywire.WithJSONRPC(everywire.JSONRPCForm{Name: "total", Result: "sum"}))
	everywire.HandleBidi(f.reg, "s.S/Upper", func(s grpc.BidiStreamingServer[textMessage, textMessage]) error {
		for {
			m, err := s.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case m.Text == "header":
				if err := s.SendHeader(metadata.Pairs("h", "1")); err != nil {
					return err
				}
			case m.Text == "fail":
				return status.Error(codes.Aborted, "told to")
			}
			if err := s.Send(&textMessage{strings.ToUpper(m.Text)}); err != nil {
				return err
			}
		}
	})
	everywire.HandleBidi(f.reg, "s.S/Hold", func(s grpc.BidiStreamingServer[textMessage, textMessage]) error {
		f.began <- struct{}{}
		select {
		case <-f.gate:
		case <-s.Context().Done():
			f.ended <- s.Context().Err()
			return s.Context().Err()
		}
		for {
			if _, err := s.Recv(); err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				f.ended <- err
				return err
			}
		}
	})
	everywire.HandleBidi(f.reg, "s.S/Any", func(s grpc.BidiStreamingServer[everywire.Document, everywire.Document]) error {
		for {
			m, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Send(m); err != nil {
				return err
			}
		}
	})
	return f
}

func openLine(method, more string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `"` + more + `,"stream":true,"id":1}` + "\n"
}

func notifyLine(what, params string) string {
	return `{"jsonrpc":"2.0","method":"rpc.stream.` + what + `","params":{"id":1` + params + `}}` + "\n"
}

func messageLine(message string) string { return notifyLine("message", `,"message":`+message) }

func endLine(result string) string { return `{"jsonrpc":"2.0","result":` + result + `,"id":1}` + "\n" }

func failLine(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":%d,"message":"%s"},"id":1}`, code, message) + "\n"
}

// TestStreamBytes has streams as a foreign client would, and compares every
// byte that comes back.
func TestStreamBytes(t *testing.T) {
	c := dialRaw(t, serve(t, NewServer, serverConfig(streaming().reg, everywire.Limits{})))
	for _, tc := range []struct{ name, send, want string }{
		{"server stream", openLine("s.S/Count", `,"params":{"numbers":[1,2]}`),
			messageLine(`{"sum":1}`) + messageLine(`{"sum":2}`) + endLine("null")},
		{"of nothing", openLine("s.S/Count", ""), endLine("null")},
		{"trailers", openLine("s.S/Count", `,"params":{},"meta":{}`),
			`{"jsonrpc":"2.0","result":null,"id":1,"meta":{"trailer":{"t":["1"]}}}` + "\n"},
		{"short name", openLine("count", `,"params":[7]`), messageLine(`{"sum":7}`) + endLine("null")},
		{"wrong params", openLine("s.S/Count", `,"params":{"numbers":"x"}`), ""},

		{"client stream", openLine("s.S/Sum", "") + messageLine(`{"numbers":[20]}`) + messageLine(`{"numbers":[20,1]}`) + notifyLine("close", ""),
			endLine(`{"sum":41}`)},
		{"its short name", openLine("total", "") + messageLine(`{"numbers":[41]}`) + notifyLine("close", ""), endLine(`41`)},
		{"white space and order", openLine("s.S/Sum", "") +
			`{ "params" : { "message" : {"numbers":[4]} , "more":{}, "id" : 1 } , "method":"rpc.stream.message", "jsonrpc":"2.0"}` + "\n" + notifyLine("close", ""),
			endLine(`{"sum":4}`)},
		{"null is a message", openLine("s.S/Sum", "") + messageLine(`null`) + notifyLine("close", ""), endLine(`{"sum":0}`)},
		{"wrong message", openLine("s.S/Sum", "") + messageLine(`{"numbers":"x"}`), ""},

		{"conversation", openLine("s.S/Upper", "") + messageLine(`{"text":"a"}`) + messageLine(`{"text":"b"}`) + notifyLine("close", ""),
			messageLine(`{"text":"A"}`) + messageLine(`{"text":"B"}`) + endLine("null")},
		{"any value", openLine("s.S/Any", "") + messageLine(`[1,"x",null]`) + messageLine(`"a"`) + notifyLine("close", ""),
			messageLine(`[1,"x",null]`) + messageLine(`"a"`) + endLine("null")},
		{"headers, asked for", openLine("s.S/Upper", `,"meta":{}`) + messageLine(`{"text":"header"}`) + notifyLine("close", ""),
			notifyLine("header", `,"meta":{"h":["1"]}`) + messageLine(`{"text":"HEADER"}`) + endLine("null")},
		{"headers, not asked for", openLine("s.S/Upper", "") + messageLine(`{"text":"header"}`) + notifyLine("close", ""),
			messageLine(`{"text":"HEADER"}`) + endLine("null")},
		{"error", openLine("s.S/Upper", "") + messageLine(`{"text":"fail"}`) + messageLine(`{"text":"too late"}`), failLine(-32010, "told to")},
		{"what is for nobody", notifyLine("message", `,"message":{}`) + notifyLine("close", "") + notifyLine("credit", `,"bytes":5`) +
			notifyLine("nothing", "") + `{"jsonrpc":"2.0","method":"rpc.stream.message"}` + "\n" + `{"jsonrpc":"2.0","method":"rpc.stream.message","params":[1]}` + "\n" +
			`{"jsonrpc":"2.0","method":"rpc.stream.message","params":{}}` + "\n" + sumRequestLine + "\n", endLine("41")},
		{"a header is for clients", openLine("s.S/Sum", "") + notifyLine("header", `,"meta":{}`) + notifyLine("close", ""), endLine(`{"sum":0}`)},
		{"no message in it", openLine("s.S/Sum", "") + notifyLine("message", ""),
			failLine(-32603, "the peer sent rpc.stream.message with params that it does not have")},
		{"two ids", openLine("s.S/Sum", "") + notifyLine("close", `,"id":1`),
			failLine(-32603, "the peer sent rpc.stream.close with params that it does not have")},
		{"credit of nothing", openLine("s.S/Sum", "") + notifyLine("credit", `,"bytes":0`),
			failLine(-32603, "the peer sent rpc.stream.credit with params that it does not have")},
		{"credit that is no number", openLine("s.S/Sum", "") + notifyLine("credit", `,"bytes":-1`),
			failLine(-32603, "the peer sent rpc.stream.credit with params that it does not have")},
		{"cancelled", openLine("s.S/Sum", "") + `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}` + "\n", failLine(-32001, "context canceled")},
		{"deadline", openLine("s.S/Sum", `,"timeout_ms":1`), failLine(-32004, "context deadline exceeded")},

		{"not asked for as a stream", `{"jsonrpc":"2.0","method":"s.S/Sum","id":1}` + "\n",
			failLine(-32601, `method s.S/Sum is client streaming: it takes a request with \"stream\":true, on a connection`)},
		{"asked for false", `{"jsonrpc":"2.0","method":"sum","params":[41],"stream":false,"id":1}` + "\n", endLine("41")},
		{"not a stream", openLine("arith.Arith/Sum", ""), failLine(-32600, `method arith.Arith/Sum is unary: call it without the member \"stream\"`)},
		{"no such method", openLine("s.S/No", ""), failLine(-32601, "unknown method No for service s.S")},
		{"params of a client stream", openLine("s.S/Sum", `,"params":{}`),
			failLine(-32600, "method s.S/Sum is client streaming: its requests are messages of the stream, not params")},
		{"not a boolean", `{"jsonrpc":"2.0","method":"s.S/Sum","stream":1,"id":1}` + "\n", failLine(-32600, `member \"stream\" must be true or false, not 1`)},
		{"bad meta", openLine("s.S/Sum", `,"meta":1`), failLine(-32600, `member \"meta\": must be an object, not 1`)},
		{"without an id", `{"jsonrpc":"2.0","method":"s.S/Sum","stream":true}` + "\n",
			strings.Replace(failLine(-32600, "a request that opens a stream must have an id that is not null"), `"id":1`, `"id":null`, 1)},
		{"in a batch", "[" + strings.TrimSpace(openLine("s.S/Sum", "")) + "]\n",
			"[" + strings.TrimSpace(failLine(-32600, "a stream is opened by a single request on a connection, not in a batch nor over HTTP")) + "]\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.t = t
			c.send(tc.send)
			if tc.want == "" { // the codec's words
				if got := c.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"request of s.S/`) {
					t.Errorf("got %s", got)
				}
				return
			}
			for want := range strings.Lines(tc.want) {
				c.wantLine(strings.TrimSuffix(want, "\n"))
			}
		})
	}
	c.t = t
	c.send(sumRequestLine + "\n")
	c.wantLine(strings.TrimSuffix(endLine("41"), "\n")) // nothing else has come
}

func TestStreamIDTwice(t *testing.T) {
	c := dialRaw(t, serve(t, NewServer, serverConfig(streaming().reg, everywire.Limits{})))
	c.send(openLine("s.S/Sum", "") + openLine("s.S/Sum", ""))
	c.wantLine(strings.TrimSpace(strings.Replace(failLine(-32600, "a request with the id 1 is in flight already"), `"id":1}`, `"id":null}`, 1)))
	c.send(messageLine(`{"numbers":[3]}`) + notifyLine("close", "")) // for the first
	c.wantLine(strings.TrimSpace(endLine(`{"sum":3}`)))
}

// TestStreamIDs: an id names its stream as it was written.
func TestStreamIDs(t *testing.T) {
	c := dialRaw(t, serve(t, NewServer, serverConfig(streaming().reg, everywire.Limits{})))
	for _, id := range []string{`"a b"`, `""`, `-1`, `1.5`, `123456789012345678901234567890`, `"\u0061"`} {
		in := func(s string) { c.send(strings.ReplaceAll(s, `"id":1`, `"id":`+id)) }
		in(openLine("s.S/Any", ""))
		in(messageLine("5"))
		c.wantLine(strings.TrimSpace(strings.ReplaceAll(messageLine("5"), `"id":1`, `"id":`+id)))
		in(notifyLine("close", ""))
		c.wantLine(strings.TrimSpace(strings.ReplaceAll(endLine("null"), `"id":1`, `"id":`+id)))
	}
}

// TestStreamFramings: the notifications are framed as all else.
func TestStreamFramings(t *testing.T) {
	for _, name := range framingNames {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, NewServer, serverConfig(streaming().reg, everywire.Limits{}))
			cfg := clientConfig(addr, nil)
			cfg.Options = map[string]string{"framing": name}
			chat, err := everywire.CallBidi[textMessage, textMessage](t.Context(), dial(t, NewConn, cfg), "s.S/Upper")
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"header", "a", strings.Repeat("long", 100_000)} {
				if err := chat.Send(&textMessage{text}); err != nil {
					t.Fatal(err)
				}
				if out, err := chat.Recv(); err != nil || out.Text != strings.ToUpper(text) {
					t.Fatalf("got %.50v, %v", out, err)
				}
			}
			if err := chat.CloseSend(); err != nil {
				t.Error(err)
			}
			if _, err := chat.Recv(); !errors.Is(err, io.EOF) {
				t.Errorf("the end is %v", err)
			}
		})
	}
}

// TestCreditOfServer: the server sends as much as its client has given room
// for, and takes as much as it has given.
func TestCreditOfServer(t *testing.T) {
	f := streaming()
	addr := serve(t, NewServer, serverConfig(f.reg, everywire.Limits{}))
	t.Run("sending", func(t *testing.T) {
		c := dialRaw(t, addr)
		const n = 2000
		c.send(openLine("s.S/Count", `,"params":{"numbers":[`+strings.TrimSuffix(strings.Repeat("7,", n), ",")+`]}`))
		line := strings.TrimSpace(messageLine(`{"sum":7}`))
		each := costOf(len(`{"sum":7}`))
		first := (stream.Window + each - 1) / each // the last one may begin with one byte of credit
		for range first {
			c.wantLine(line)
		}
		c.send(strings.Replace(sumRequestLine, `"id":1`, `"id":2`, 1) + "\n")
		c.wantLine(`{"jsonrpc":"2.0","result":41,"id":2}`) // not another message
		c.send(notifyLine("credit", fmt.Sprintf(`,"bytes":%d`, first*each-stream.Window+2*each)))
		for range 2 {
			c.wantLine(line)
		}
		c.send(strings.Replace(sumRequestLine, `"id":1`, `"id":2`, 1) + "\n")
		c.wantLine(`{"jsonrpc":"2.0","result":41,"id":2}`)
		c.send(notifyLine("credit", `,"bytes":99999999999999999999`))
		c.send(notifyLine("credit", `,"bytes":1000000`))
		for c.line() == line {
		}
	})
	t.Run("an overrun", func(t *testing.T) {
		c := dialRaw(t, addr)
		c.send(openLine("s.S/Hold", ""))
		<-f.began
		long := messageLine(`{"text":"` + strings.Repeat("x", stream.Window) + `"}`)
		c.send(long) // with one byte of credit it may be of any length
		c.send(long) // with none it may not
		c.send(strings.Replace(sumRequestLine, `"id":1`, `"id":2`, 1) + "\n")
		c.wantLine(`{"jsonrpc":"2.0","result":41,"id":2}`)
		f.gate <- struct{}{}
		c.wantLine(strings.TrimSpace(failLine(-32008, "the peer sent more than the stream's window of 65536 bytes")))
		<-f.ended
		c.send(sumRequestLine + "\n")
		c.wantLine(strings.TrimSpace(endLine("41")))
	})
	t.Run("giving", func(t *testing.T) {
		c := dialRaw(t, addr)
		c.send(openLine("s.S/Sum", ""))
		message := `{"numbers":[` + strings.Repeat(" ", 1<<15) + `1]}`
		for range 10 {
			c.send(messageLine(message))
			c.wantLine(strings.TrimSpace(notifyLine("credit", fmt.Sprintf(`,"bytes":%d`, costOf(len(message))))))
		}
		c.send(notifyLine("close", ""))
		c.wantLine(strings.TrimSpace(endLine(`{"sum":10}`)))
	})
}

// TestTooManyStreams: some calls must always be able to run beside them.
func TestTooManyStreams(t *testing.T) {
	f := streaming()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{MaxInFlight: 4})))
	opening := func(id int) string {
		return strings.Replace(openLine("s.S/Hold", ""), `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
	}
	for id := range 2 {
		c.send(opening(id))
		<-f.began
	}
	c.send(opening(3))
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32008,"message":"too many streams are open on this connection: the limit is 2",` +
		`"data":{"details":[{"type":"google.rpc.ErrorInfo","value":"CgxDQUxMX05PVF9SVU4SCWV2ZXJ5d2lyZQ=="}]}},"id":3}`)
	c.send(strings.Replace(sumRequestLine, `"id":1`, `"id":9`, 1) + "\n")
	c.wantLine(`{"jsonrpc":"2.0","result":41,"id":9}`)
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":0}}` + "\n")
	c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32001,"message":"context canceled"},"id":0}`)
	<-f.ended
	c.send(opening(3))
	<-f.began
}

// TestStreamEndsWithConnection: the handlers of a client that has gone end.
func TestStreamEndsWithConnection(t *testing.T) {
	f := streaming()
	c := dialRaw(t, serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})))
	c.send(openLine("s.S/Hold", ""))
	<-f.began
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context ended with %v", err)
	}
}

// foreignServer gives the test the other end of a client's connection.
func foreignServer(t *testing.T, options map[string]string) (grpc.ClientConnInterface, func() *rawConn) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	cfg := clientConfig(lis.Addr().String(), nil)
	cfg.Options = options
	return dial(t, NewConn, cfg), func() *rawConn {
		conn, err := lis.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return newRaw(t, conn)
	}
}

// TestClientStreamBytes compares every byte that the client sends.
func TestClientStreamBytes(t *testing.T) {
	conn, accept := foreignServer(t, map[string]string{"cancel": "off"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	chat, err := everywire.CallBidi[textMessage, textMessage](metadata.AppendToOutgoingContext(ctx, "k", "v"), conn, "s.S/Upper")
	if err != nil {
		t.Fatal(err)
	}
	s := accept()
	s.wantLine(`{"jsonrpc":"2.0","method":"s.S/Upper","meta":{"k":["v"]},"stream":true,"id":1}`)
	if err := chat.Send(&textMessage{"a"}); err != nil {
		t.Fatal(err)
	}
	s.wantLine(strings.TrimSpace(messageLine(`{"text":"a"}`)))
	s.send(notifyLine("header", `,"meta":{"h":["1"]}`))
	if md, err := chat.Header(); err != nil || md.Get("h") == nil {
		t.Errorf("headers %v, %v", md, err)
	}
	s.send(messageLine(`{"text":"` + strings.Repeat("x", stream.Window) + `"}`))
	if _, err := chat.Recv(); err != nil {
		t.Fatal(err)
	}
	s.wantLine(strings.TrimSpace(notifyLine("credit", fmt.Sprintf(`,"bytes":%d`, costOf(len(`{"h":["1"]}`))+costOf(stream.Window+len(`{"text":""}`))))))
	if err := chat.CloseSend(); err != nil {
		t.Fatal(err)
	}
	s.wantLine(strings.TrimSpace(notifyLine("close", "")))
	s.send(messageLine(`{"text":"last"}`) + `{"jsonrpc":"2.0","result":null,"meta":{"trailer":{"t":["2"]}},"id":1}` + "\n")
	if out, err := chat.Recv(); err != nil || out.Text != "last" {
		t.Errorf("got %v, %v", out, err)
	}
	if _, err := chat.Recv(); !errors.Is(err, io.EOF) || chat.Trailer().Get("t") == nil {
		t.Errorf("got %v with trailers %v", err, chat.Trailer())
	}

	down, err := everywire.CallServerStream[sumReply](ctx, conn, "rpc.S/Count", &sumRequest{[]int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	s.wantLine(`{"jsonrpc":"2.0","method":"/rpc.S/Count","params":{"numbers":[1]},"meta":{},"stream":true,"id":2}`)
	any2, err := everywire.CallServerStream[everywire.Document](ctx, conn, "s.S/Any", &everywire.Document{Value: int64(5)})
	if err != nil {
		t.Fatal(err)
	}
	s.wantLine(`{"jsonrpc":"2.0","method":"s.S/Any","params":[5],"meta":{},"stream":true,"id":3}`)
	s.send(`{"jsonrpc":"2.0","error":{"code":-32010,"message":"no"},"id":3}` + "\n")
	_, err = any2.Recv()
	if status.Code(err) != codes.Aborted {
		t.Errorf("got %v", err)
	}
	cancel()
	if _, err := down.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	s.wantLine(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}`) // cancel=off is for calls
}

// TestForeignServerMistakes: what breaks the rules of one stream fails it alone.
func TestForeignServerMistakes(t *testing.T) {
	for _, tc := range []struct {
		name, send string
		want       codes.Code
		text       string
	}{
		{"headers that are none", notifyLine("header", `,"meta":[]`), codes.Internal, "meta"},
		{"a header without meta", notifyLine("header", ""), codes.Internal, "meta"},
		{"headers twice", strings.Repeat(notifyLine("header", `,"meta":{}`), 2), codes.Internal, "rpc.stream.header twice"},
		{"headers behind a message", messageLine("{}") + notifyLine("header", `,"meta":{}`), codes.Internal, "rpc.stream.header twice, or behind a message"},
		{"a message without message", notifyLine("message", ""), codes.Internal, "rpc.stream.message"},
		{"what is no message", messageLine(`{"text":1}`), codes.Internal, "text"},
		{"an overrun", strings.Repeat(messageLine(`{"text":"`+strings.Repeat("x", stream.Window)+`"}`), 2), codes.ResourceExhausted, "window"},
		{"headers without end", strings.Repeat(notifyLine("header", `,"meta":{"h":["`+strings.Repeat("x", 10_000)+`"]}`), 8), codes.ResourceExhausted, "window"},
		{"metadata that is none", `{"jsonrpc":"2.0","result":null,"meta":{"trailer":1},"id":1}` + "\n", codes.Internal, "meta"},
		{"neither result nor error", `{"jsonrpc":"2.0","result":null,"error":{"code":1,"message":"m"},"id":1}` + "\n", codes.Unknown, "m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, accept := foreignServer(t, nil)
			chat, err := everywire.CallBidi[textMessage, textMessage](t.Context(), conn, "s.S/Upper")
			if err != nil {
				t.Fatal(err)
			}
			s := accept()
			_ = s.line()
			// Notifications for nobody and for the other end disturb nothing.
			s.send(notifyLine("close", "") + strings.Replace(messageLine("{}"), `"id":1`, `"id":9`, 1) + strings.Replace(messageLine("{}"), `"id":1`, `"id":"x"`, 1))
			s.send(tc.send)
			// A call behind what was sent: when it has its reply all of that has been read.
			other := everywire.Start[everywire.Document](t.Context(), conn, "t.Echo/Any", &everywire.Document{Value: int64(1)})
			line := s.line()
			for !strings.Contains(line, "t.Echo/Any") {
				line = s.line() // perhaps the stream has been cancelled
			}
			s.send(`{"jsonrpc":"2.0","result":1,"id":2}` + "\n")
			if _, err := other.Wait(t.Context()); err != nil {
				t.Errorf("the other call: %v", err)
			}
			for err == nil {
				_, err = chat.Recv()
			}
			if status.Code(err) != tc.want || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, want the code %v and %q", err, tc.want, tc.text)
			}
		})
	}
}

func TestStreamOptionsOfTarget(t *testing.T) {
	v1, _ := foreignServer(t, map[string]string{"version": "1.0"})
	if _, err := everywire.CallBidi[textMessage, textMessage](t.Context(), v1, "s.S/Upper"); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream of version 1.0: %v", err)
	}
	plain, accept := foreignServer(t, map[string]string{"meta": "off"})
	if _, err := everywire.CallBidi[textMessage, textMessage](metadata.AppendToOutgoingContext(t.Context(), "k", "v"), plain, "s.S/Upper"); status.Code(err) != codes.Unimplemented {
		t.Errorf("metadata with meta=off: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := everywire.CallBidi[textMessage, textMessage](ctx, plain, "s.S/Upper"); err != nil {
		t.Fatal(err)
	}
	s := accept()
	s.wantLine(`{"jsonrpc":"2.0","method":"s.S/Upper","stream":true,"id":1}`)
}

// FuzzStreamFrames: the quick way to read a message and the long one agree, and
// whatever comes, a stream gets only what the frame says.
func FuzzStreamFrames(f *testing.F) {
	for _, seed := range []string{
		messageLine(`{"text":"a"}`), messageLine(`null`), notifyLine("header", `,"meta":{"h":["1"]}`), notifyLine("credit", `,"bytes":5`),
		notifyLine("close", ""), notifyLine("message", `,"message":1,"message":2`), notifyLine("message", `,"message":1},"x":{}`),
		`{"jsonrpc":"2.0","method":"rpc.stream.message","params":{"id":01,"message":1}}`,
		`{"jsonrpc":"2.0","method":"rpc.stream.message","params":{"id":"1","message":[[]]}}`,
	} {
		f.Add(strings.TrimSpace(seed))
	}
	f.Fuzz(func(t *testing.T, frame string) {
		id, message, quick := quickMessage([]byte(frame))
		var r request
		s := scanner{data: []byte(frame)}
		err := r.parse(&s, false)
		if err == nil {
			err = s.end()
		}
		if err != nil || r.invalid != "" {
			if _, isID := parseID(id); quick && isID && strings.Count(frame, "[")+strings.Count(frame, "{") < maxDepth {
				t.Fatalf("read quickly, but it is wrong: %v %s", err, r.invalid)
			}
			return
		}
		p, ok := readStreamParams(r.params)
		if quick && (!ok || p.invalid || string(p.id) != string(id) || string(p.message) != string(message)) {
			t.Fatalf("read quickly it is for %s: %s; else for %s: %s (%v)", id, message, p.id, p.message, p.invalid)
		}
		if m := streamMethod(r.method); ok && m != "" {
			var got delivered
			p.deliver(m, &got, true)
			if got.failed == nil && m == messageMethod && string(got.frame) != string(p.message) {
				t.Fatalf("delivered %s of %s", got.frame, p.message)
			}
		}
	})
}

// delivered is a [deliverer] that keeps what it gets.
type delivered struct {
	frame  []byte
	failed error
}

func (d *delivered) Deliver(frame []byte, _ int) { d.frame = frame }
func (*delivered) CloseReceive()                 {}
func (*delivered) Grant(int)                     {}
func (d *delivered) Fail(err error)              { d.failed = err }
