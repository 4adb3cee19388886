package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// framed writes a message as a peer of the framing does.
func framed(framing, message string) string {
	switch framing {
	case "header":
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
	case "netstring":
		return fmt.Sprintf("%d:%s,", len(message), message)
	case "concat":
		return message
	}
	return message + "\n"
}

// next reads one message in a framing, strictly as it is written.
func (c *rawConn) next(framing string) string {
	c.t.Helper()
	var n int
	var err error
	switch framing {
	case "header":
		if _, err = fmt.Fscanf(c.lines, "Content-Length: %d\r\n\r\n", &n); err != nil {
			c.t.Fatal(err)
		}
	case "netstring":
		digits, err := c.lines.ReadString(':')
		if n, _ = strconv.Atoi(strings.TrimSuffix(digits, ":")); err != nil || n == 0 {
			c.t.Fatalf("length %q, %v", digits, err)
		}
	case "concat":
		message, err := c.lines.ReadString('}') // these tests have replies without nested objects
		if err != nil {
			c.t.Fatal(err)
		}
		return message
	default:
		return c.line()
	}
	message := make([]byte, n)
	if _, err = io.ReadFull(c.lines, message); err != nil {
		c.t.Fatal(err)
	}
	if framing == "netstring" {
		if end, err := c.lines.ReadByte(); end != ',' {
			c.t.Fatalf("%q ends the netstring, %v", end, err)
		}
	}
	return string(message)
}

// TestServerFramings: a server finds out the framing, or insists on its own, and
// replies alike; also to a batch, to what is no JSON and to what is no request.
func TestServerFramings(t *testing.T) {
	for _, option := range []string{"", "line", "header", "netstring", "concat"} {
		f := newFixture()
		cfg := serverConfig(f.reg, everywire.Limits{})
		cfg.Options = rpc.Options{"framing": option}
		addr := serve(t, NewServer, cfg)
		for _, peer := range framingNames {
			if option != "" && option != peer || option == "" && peer == "concat" {
				continue // concat cannot be told from line
			}
			t.Run(fmt.Sprintf("server %q, peer %s", option, peer), func(t *testing.T) {
				c := dialRaw(t, addr)
				for send, want := range map[string]string{
					sumRequestLine: `{"jsonrpc":"2.0","result":41,"id":1}`,
					`[{"jsonrpc":"2.0","method":"sum"},` + sumRequestLine + `]`: `[{"jsonrpc":"2.0","result":41,"id":1}]`,
					`{}`: `{"jsonrpc":"2.0","error":{"code":-32600,"message":"member \"jsonrpc\" is missing; this server speaks JSON-RPC 2.0"},"id":null}`,
				} {
					if peer == "concat" && want[0] != '{' || peer == "concat" && strings.Contains(want, "error") {
						continue // next cannot read them
					}
					c.send(framed(peer, send))
					if got := c.next(peer); got != want {
						t.Errorf("%s: got %s\nwant %s", send, got, want)
					}
				}
				if peer == "header" || peer == "netstring" {
					c.send(framed(peer, `{"jsonrpc":`))
					if got := c.next(peer); !strings.Contains(got, "-32700") {
						t.Error(got)
					}
				}
				// Two in one segment, one in pieces.
				all := framed(peer, strings.Replace(sumRequestLine, ":1}", ":7}", 1)) + framed(peer, `{"jsonrpc":"2.0","method":"upper","params":["ä"],"id":8}`)
				c.send(all)
				got := []string{c.next(peer), c.next(peer)}
				slices.Sort(got)
				want := []string{`{"jsonrpc":"2.0","result":"Ä","id":8}`, `{"jsonrpc":"2.0","result":41,"id":7}`}
				if !slices.Equal(got, want) {
					t.Errorf("got %s", got)
				}
				for _, b := range []byte(all) {
					c.send(string([]byte{b}))
				}
				got = []string{c.next(peer), c.next(peer)}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("byte by byte: got %s", got)
				}
			})
		}
	}
}

// TestStrictServers close connections of another framing, and say why.
func TestStrictServers(t *testing.T) {
	for option, send := range map[string]string{
		"line":      framed("header", sumRequestLine),
		"concat":    framed("netstring", sumRequestLine),
		"header":    sumRequestLine + "\n",
		"netstring": sumRequestLine + "\n",
		"":          "POST / HTTP/1.1\r\n\r\n" + sumRequestLine,
	} {
		t.Run(option, func(t *testing.T) {
			log := &lockedBuffer{}
			cfg := serverConfig(newFixture().reg, everywire.Limits{})
			cfg.Logger = log.logger()
			cfg.Options = rpc.Options{"framing": option}
			c := dialRaw(t, serve(t, NewServer, cfg))
			c.send(send)
			if rest, _ := io.ReadAll(c.lines); len(rest) > 0 { // a reset is an end too
				t.Errorf("the server answered %q", rest)
			}
			if !strings.Contains(log.String(), "closed a connection") {
				t.Errorf("logged %q", log)
			}
		})
	}
}

// TestFramedCalls: our client and our server in every framing, messages of
// every length around those at which the length field grows.
func TestFramedCalls(t *testing.T) {
	for _, framing := range framingNames {
		t.Run(framing, func(t *testing.T) {
			f := newFixture()
			addr := serve(t, NewServer, serverConfig(f.reg, everywire.Limits{})) // it finds out
			cfg := clientConfig(addr, nil)
			cfg.Options = rpc.Options{"framing": framing}
			conn := dial(t, NewConn, cfg)
			for _, n := range []int{0, 1, 20, 21, 22, 23, 24, 920, 921, 922, 923, 924, 925, 9920, 9925, 70_000, 1 << 20} {
				text := strings.Repeat("x", n)
				out, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{text})
				if err != nil || out.Text != text {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
			if err := everywire.Notify(t.Context(), conn, "t.Text/Note", &textMessage{"hello"}); err != nil || <-f.noted != "hello" {
				t.Errorf("Notify: %v", err)
			}
			if _, err := everywire.Call[empty](t.Context(), conn, "t.Ctl/Nope", &empty{}); err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestTooLongInEveryFraming: a length beyond the limit is refused when it is
// read, before the message comes.
func TestTooLongInEveryFraming(t *testing.T) {
	for framing, send := range map[string]string{
		"header":    "Content-Length: 99999999999999\r\n\r\n",
		"netstring": "999999999:",
		"line":      `{"a":"` + strings.Repeat("x", 6000),
	} {
		t.Run(framing, func(t *testing.T) {
			c := dialRaw(t, serve(t, NewServer, serverConfig(newFixture().reg, everywire.Limits{MaxMessage: 1000, MaxMetadata: 100})))
			c.send(send)
			const want = `{"jsonrpc":"2.0","error":{"code":-32008,"message":"the request is longer than the limit of 5296 bytes"},"id":null}`
			if got := c.next(framing); got != want {
				t.Errorf("got %s", got)
			}
			if _, err := c.lines.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		})
	}
}

// TestWrapDoesNotAllocate where the buffer has room.
func TestWrapDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 256)
	for f := framingLine; f <= framingDetect; f++ {
		if n := testing.AllocsPerRun(100, func() { f.wrap(append(buf, "before{}"...), 6) }); n != 0 {
			t.Errorf("framing %d: %v allocations", f, n)
		}
	}
}

// cutUp feeds a framer a stream in pieces, as the engine does. rest is what is
// left without an end.
func cutUp(f stream.Framer, pieces ...[]byte) (all []string, rest string, err error) {
	var buf []byte
	for _, p := range pieces {
		buf = append(buf, p...)
		for len(buf) > 0 {
			from, to, err := f.Next(buf)
			if err != nil {
				return all, "", err
			}
			if to == 0 {
				buf = buf[from:]
				break
			}
			all = append(all, string(buf[from:to]))
			buf = buf[to:]
		}
	}
	return all, string(buf), nil
}

func TestHeaderFramer(t *testing.T) {
	many := strings.Repeat("X: y\r\n", maxHeaderFields)
	for name, tc := range map[string]struct {
		in   string
		want []string
		err  string
	}{
		"one":                {"Content-Length: 2\r\n\r\n{}", []string{"{}"}, ""},
		"two":                {"Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[ ]", []string{"{}", "[ ]"}, ""},
		"letter case":        {"content-LENGTH:2\r\n\r\n{}", []string{"{}"}, ""},
		"type first":         {"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}, ""},
		"type last":          {"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n{}", []string{"{}"}, ""},
		"quoted, upper case": {"Content-Length: 2\r\nContent-Type: application/json;charset=\"UTF-8\"\r\n\r\n{}", []string{"{}"}, ""},
		"type alone":         {"Content-Length: 2\r\nContent-Type: application/json\r\n\r\n{}", []string{"{}"}, ""},
		"same type twice":    {strings.Repeat("Content-Type: a/b;charset=utf8\r\nContent-Length: 2\r\n\r\n{}", 2), []string{"{}", "{}"}, ""},
		"others":             {"X-Other: a:b\r\nContent-Length: 2\r\n\r\n{}", []string{"{}"}, ""},
		"white space":        {"Content-Length: \t 2 \r\n\r\n{}", []string{"{}"}, ""},
		"bare LF":            {"Content-Length: 2\n\n{}", []string{"{}"}, ""},
		"lines between":      {"\r\n\nContent-Length: 2\r\n\r\n{}\r\n\r\nContent-Length: 2\r\n\r\n[]\n", []string{"{}", "[]"}, ""},
		"empty":              {"Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", []string{"", "{}"}, ""},
		"LF in the message":  {"Content-Length: 4\r\n\r\n{\n\r}", []string{"{\n\r}"}, ""},
		"as many as may be":  {many[6:] + "Content-Length: 2\r\n\r\n{}", []string{"{}"}, ""},
		"no length":          {"Content-Type: a/b\r\n\r\n{}", nil, "message header: there is no Content-Length"},
		"two lengths":        {"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", nil, "Content-Length appears twice"},
		"negative":           {"Content-Length: -2\r\n\r\n{}", nil, `Content-Length "-2" is no length`},
		"sign":               {"Content-Length: +2\r\n\r\n{}", nil, `Content-Length "+2" is no length`},
		"no digits":          {"Content-Length:\r\n\r\n{}", nil, `Content-Length "" is no length`},
		"hex":                {"Content-Length: 0x2\r\n\r\n{}", nil, `Content-Length "0x2" is no length`},
		"too much":           {"Content-Length: 1001\r\n\r\n{}", nil, "limit of 1000 bytes"},
		"far too much":       {"Content-Length: 4611686018427387903\r\n\r\n{}", nil, "limit of 1000 bytes"},
		"no number":          {"Content-Length: 99999999999999999999\r\n\r\n{}", nil, "is no length"},
		"other charset":      {"Content-Length: 2\r\nContent-Type: a/b; charset=utf-16\r\n\r\n{}", nil, `the charset "utf-16" is not supported, only utf-8`},
		"malformed type":     {"Content-Length: 2\r\nContent-Type: ;\r\n\r\n{}", nil, `Content-Type ";" is malformed`},
		"HTTP":               {"CONNECT x:443 HTTP/1.1\r\n\r\n", nil, `"CONNECT x:443 HTTP/1.1" is no field`},
		"no colon":           {"Content-Length 2\r\n\r\n{}", nil, "is no field"},
		"space in the name":  {"Content-Length : 2\r\n\r\n{}", nil, "is no field"},
		"folded":             {"Content-Length: 2\r\n folded: x\r\n\r\n{}", nil, `" folded: x" is no field`},
		"too many":           {many + "Content-Length: 2\r\n\r\n{}", nil, "more than 16 fields"},
		"too long":           {"X: " + strings.Repeat("y", maxHeaderBytes), nil, "longer than 4096 bytes"},
		"too long, ended":    {"X: " + strings.Repeat("y", maxHeaderBytes) + "\r\n\r\n", nil, "longer than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest, err := cutUp(&headerFramer{limit: 1000}, []byte(tc.in))
			if err != nil && (tc.err == "" || !strings.Contains(err.Error(), tc.err)) || err == nil && tc.err != "" {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if !slices.Equal(got, tc.want) || rest != "" {
				t.Errorf("got %q and %q", got, rest)
			}
		})
	}
}

func TestNetstringFramer(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []string
		rest string
		err  string
	}{
		"one":           {"2:{},", []string{"{}"}, "", ""},
		"two":           {"2:{},3:[1],", []string{"{}", "[1]"}, "", ""},
		"empty":         {"0:,2:{},", []string{"", "{}"}, "", ""},
		"commas inside": {"5:[,,,],", []string{"[,,,]"}, "", ""},
		"no comma yet":  {"2:{}", nil, "2:{}", ""},
		"a part":        {"2:{},10:[", []string{"{}"}, "10:[", ""},
		"digits only":   {"12", nil, "12", ""},
		"no comma":      {"2:{}3:[1],", nil, "", `'3' behind the 2 bytes, want ','`},
		"leading zero":  {"02:{},", nil, "", "the length begins with 0"},
		"no colon":      {"2{},", nil, "", `'{' behind the length, want ':'`},
		"no length":     {":{},", nil, "", `':' where a length must begin`},
		"white space":   {"2:{},\n2:{},", []string{"{}"}, "", `'\n' where a length must begin`},
		"too much":      {"1001:", nil, "", "limit of 1000 bytes"},
		"too many":      {"9999999999", nil, "", "more than 9 digits"},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest, err := cutUp(&netstringFramer{limit: 1000}, []byte(tc.in))
			if err != nil && (tc.err == "" || !strings.Contains(err.Error(), tc.err)) || err == nil && tc.err != "" {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if err == nil && strings.TrimPrefix(rest, ",") != tc.rest || !slices.Equal(got, tc.want) {
				t.Errorf("got %q and %q", got, rest)
			}
		})
	}
}

// TestDetection: the first byte decides, and decides for good.
func TestDetection(t *testing.T) {
	for in, want := range map[string]framing{
		"{": framingLine, "[": framingLine, " \r\n\t{": framingLine, "\n": framingDetect,
		"0": framingNetstring, "9": framingNetstring, " 5": framingNetstring, "C": framingHeader, "c": framingHeader, "\nContent-": framingHeader,
	} {
		d := newDeframer(framingDetect, 0)
		if _, _, err := cutUp(&d, []byte(in)); err != nil || d.framing != want {
			t.Errorf("%q: framing %d, %v, want %d", in, d.framing, err, want)
		}
	}
	for _, in := range []string{"GET / HTTP/1.1\r\n", "\x16\x03\x01", "\x93\x01", "\"x\"", "-1", "\x00", "true"} {
		d := newDeframer(framingDetect, 0)
		if _, _, err := cutUp(&d, []byte(in)); err == nil || !strings.Contains(err.Error(), "a connection must begin with") {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, in := range []string{"{}\n2:{},", "2:{},{}", "Content-Length: 2\r\n\r\n{}{}\n\n"} {
		d := newDeframer(framingDetect, 0)
		if got, _, err := cutUp(&d, []byte(in)); err == nil || len(got) != 1 {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// FuzzDeframer: wherever a stream is cut, in whichever framing it begins, the
// frames are the same, and what is no frame is found.
func FuzzDeframer(f *testing.F) {
	f.Add([]byte(" "+sumRequestLine+"\n[]"), 3, 9)
	f.Add([]byte("2:{},3:[1],"), 4, 5)
	f.Add([]byte("Content-Length: 2\r\nContent-Type: a/b; charset=utf-8\r\n\r\n{}\r\nContent-Length: 0\r\n\r\n"), 20, 70)
	f.Add([]byte("content-length: 99\n\n"), 1, 2)
	f.Fuzz(func(t *testing.T, in []byte, a, b int) {
		n := len(in) + 1
		i, j := (a%n+n)%n, (b%n+n)%n
		if i > j {
			i, j = j, i
		}
		run := func(pieces ...[]byte) ([]string, string, error) {
			d := newDeframer(framingDetect, 1000)
			d.line.quick = validObject
			frames, rest, err := cutUp(&d, pieces...)
			return frames, strings.TrimLeft(rest, ",\r\n\t "), err // dropped now or later
		}
		whole, rest, err := run(in)
		cut, cutRest, cutErr := run(in[:i], in[i:j], in[j:])
		if !slices.Equal(whole, cut) || rest != cutRest || (err == nil) != (cutErr == nil) {
			t.Errorf("whole: %q %q %v\ncut at %d and %d: %q %q %v", whole, rest, err, i, j, cut, cutRest, cutErr)
		}
	})
}

// TestEveryFramingFindsItsMessages: what wrap writes, the deframer reads.
func TestEveryFramingFindsItsMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := framing(rapid.IntRange(0, int(framingConcat)).Draw(t, "framing"))
		var out []byte
		want := rapid.SliceOfN(rapid.Map(rapid.StringN(0, 30, 200), func(s string) string { return string(appendQuoted([]byte{'['}, s)) + "]" }), 1, 5).Draw(t, "messages")
		for _, m := range want {
			out = f.wrap(append(out, m...), len(out))
		}
		as := f
		if f != framingConcat && rapid.Bool().Draw(t, "detect") {
			as = framingDetect
		}
		d := newDeframer(as, 1000)
		at := rapid.IntRange(0, len(out)).Draw(t, "cut")
		got, rest, err := cutUp(&d, bytes.Clone(out[:at]), bytes.Clone(out[at:]))
		if err != nil || strings.Trim(rest, ",\n") != "" || !slices.Equal(got, want) {
			t.Fatalf("got %q %q %v\nwant %q", got, rest, err, want)
		}
	})
}
