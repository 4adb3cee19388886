package jsonrpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/rpc"
)

func TestHTTPRequests(t *testing.T) {
	f := newFixture()
	cfg := serverConfig(f.reg, everywire.Limits{MaxMessage: 1000, MaxMetadata: 100})
	cfg.Options = rpc.Options{"origins": "https://a.example"}
	addr := serve(t, NewHTTPServer, cfg)
	gzipped := string(httpbody.Gzip.Append(nil, []byte(sumRequestLine)))
	bomb := string(httpbody.Gzip.Append(nil, make([]byte, 1<<20)))
	const limit = 1000 + 2*100 + 4096
	head := func(more ...string) string {
		return "POST /rpc HTTP/1.1\r\nHost: x\r\n" + strings.Join(more, "\r\n") + "\r\n"
	}
	withBody := func(contentType, body string) string {
		return head("Content-Type: "+contentType, fmt.Sprintf("Content-Length: %d", len(body)), "") + body
	}
	const typeJSON = "Content-Type: application/json"
	long := strings.Repeat("x", limit+1)
	for name, tc := range map[string]struct {
		send   string
		status int
		has    string // in the response
	}{
		"good":                    {withBody("application/json", sumRequestLine), 200, `{"jsonrpc":"2.0","result":41,"id":1}`},
		"charset":                 {withBody("application/json; charset=utf-8", sumRequestLine), 200, `"result":41`},
		"letter case":             {withBody("Application/JSON", sumRequestLine), 200, `"result":41`},
		"json-rpc":                {withBody("application/json-rpc", sumRequestLine), 200, `"result":41`},
		"jsonrequest":             {withBody("application/jsonrequest;charset=UTF-8", sumRequestLine), 200, `"result":41`},
		"broken parameter":        {withBody("application/json; charset", sumRequestLine), 200, `"result":41`},
		"text":                    {withBody("text/plain", sumRequestLine), 415, `content type \"text/plain\" is not`},
		"form":                    {withBody("application/x-www-form-urlencoded", sumRequestLine), 415, `-32600`},
		"no type":                 {head("Content-Length: 2", "") + "{}", 415, `content type \"\" is not`},
		"gzip":                    {head(typeJSON, "Content-Encoding: gzip", "Content-Length: 2", "") + "{}", 400, `is not gzip`},
		"deflate":                 {head(typeJSON, "Content-Encoding: deflate", "Content-Length: 2", "") + "{}", 415, "Accept-Encoding: zstd, br, gzip, identity"},
		"no coding is accepted":   {head(typeJSON, "Accept-Encoding: *;q=0", "Content-Length: 2", "") + "{}", 406, "identity"},
		"coded":                   {head(typeJSON, "Content-Encoding: gzip", fmt.Sprintf("Content-Length: %d", len(gzipped)), "") + gzipped, 200, `"result":41`},
		"coded, and too long":     {head(typeJSON, "Content-Encoding: gzip", fmt.Sprintf("Content-Length: %d", len(bomb)), "") + bomb, 413, "-32008"},
		"a preflight request":     {"OPTIONS /rpc HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\r\n", 204, "Access-Control-Allow-Origin: https://a.example"},
		"from a page":             {head(typeJSON, "Origin: https://a.example", fmt.Sprintf("Content-Length: %d", len(sumRequestLine)), "") + sumRequestLine, 200, "Vary: Origin"},
		"empty":                   {withBody("application/json", ""), 200, `-32700`},
		"white space":             {withBody("application/json", " \n"), 200, `-32700`},
		"two values":              {withBody("application/json", "{}{}"), 200, `-32700`},
		"a number":                {withBody("application/json", "1"), 200, `-32600`},
		"GET":                     {"GET /rpc HTTP/1.1\r\nHost: x\r\n\r\n", 405, "Allow: POST"},
		"OPTIONS":                 {"OPTIONS /rpc HTTP/1.1\r\nHost: x\r\n\r\n", 405, "Allow: POST"},
		"PUT":                     {"PUT /rpc HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405, "Allow: POST"},
		"other path":              {"POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 404, "JSON-RPC is at /rpc, not at /other"},
		"notification":            {withBody("application/json", `{"jsonrpc":"2.0","method":"sum"}`), 204, ""},
		"too long, body not sent": {head(typeJSON, "Content-Length: 100000000", ""), 413, "longer than the limit of 5296 bytes"},
		"too long, expecting":     {head(typeJSON, "Expect: 100-continue", "Content-Length: 100000000", ""), 413, "Connection: close"},
		"too long, chunked":       {head(typeJSON, "Transfer-Encoding: chunked", "") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(long), long), 413, "-32008"},
		"two lengths":             {head(typeJSON, "Content-Length: 2", "Content-Length: 3", "") + "{} ", 400, ""},
		"bad chunk":               {head(typeJSON, "Transfer-Encoding: chunked", "") + "zz\r\n", 400, ""},
		"bad binary metadata":     {head(typeJSON, "X-Bin: !", "Content-Length: 2", "") + "{}", 400, "X-Bin"},
		"bad timeout":             {head(typeJSON, "Grpc-Timeout: 1", "Content-Length: 2", "") + "{}", 400, "Grpc-Timeout"},
		"timeout has passed":      {head(typeJSON, "Grpc-Timeout: 0n", "Content-Length: 42", "") + `{"jsonrpc":"2.0","method":"block","id":1} `, 200, "-32004"},
		"metadata is too long":    {head(typeJSON, "Key: "+strings.Repeat("v", 150), "Content-Length: 42", "") + `{"jsonrpc":"2.0","method":"block","id":1} `, 200, "-32008"},
		"members come first": {
			head(typeJSON, "Key: header", "Content-Length: 75", "") + `{"jsonrpc":"2.0","method":"mirror","id":1,"meta":{"key":["member"]}}       `,
			200, `{"jsonrpc":"2.0","result":{"text":"member"},"id":1,"meta":{"trailer":{"has-deadline":["no"]}}}`,
		},
		"header and trailer": {head(typeJSON, "K-Bin: AP8=", "Content-Length: 43", "") + `{"jsonrpc":"2.0","method":"mirror","id":1} `, 200, "Trailer-Has-Deadline: no"},
	} {
		t.Run(name, func(t *testing.T) {
			c := dialRaw(t, addr)
			c.send(tc.send)
			head, err := readHead(c.lines)
			if err != nil {
				t.Fatal(err)
			}
			var got int
			if _, err := fmt.Sscanf(head, "HTTP/1.1 %d", &got); err != nil || got != tc.status {
				t.Errorf("status %d, want %d", got, tc.status)
			}
			var n int
			if _, after, ok := strings.Cut(head, "Content-Length: "); ok {
				if _, err := fmt.Sscanf(after, "%d", &n); err != nil {
					t.Fatal(err)
				}
			}
			body := make([]byte, n)
			if _, err := io.ReadFull(c.lines, body); err != nil {
				t.Fatal(err)
			}
			if all := head + string(body); !strings.Contains(all, tc.has) {
				t.Errorf("no %q in %s", tc.has, all)
			}
			if tc.status == 204 && strings.Contains(head, "Content-") {
				t.Errorf("a body without need: %s", head)
			}
		})
	}
}

func readHead(r *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return head.String(), err
		}
	}
}

// recordingConn keeps what a client writes.
type recordingConn struct {
	net.Conn
	out *strings.Builder
}

func (c recordingConn) Write(b []byte) (int, error) {
	c.out.Write(b)
	return c.Conn.Write(b)
}

// TestBytesOnTheWire pins what a call of Sum costs.
func TestBytesOnTheWire(t *testing.T) {
	f := newFixture()
	for _, tc := range []struct {
		transport constructors
		known     bool
		want      string
	}{
		{transports[0], true, sumRequestLine + "\n"},
		{transports[0], false, `{"jsonrpc":"2.0","method":"arith.Arith/Sum","params":{"numbers":[20,21]},"id":1}` + "\n"},
		{transports[1], true, "POST /rpc HTTP/1.1\r\nHost: HOST\r\nContent-Length: 56\r\nContent-Type: application/json\r\nUser-Agent: everywire\r\n\r\n" + sumRequestLine},
		{transports[1], false, "POST /rpc HTTP/1.1\r\nHost: HOST\r\nContent-Length: 80\r\nContent-Type: application/json\r\nUser-Agent: everywire\r\n\r\n" +
			`{"jsonrpc":"2.0","method":"arith.Arith/Sum","params":{"numbers":[20,21]},"id":1}`},
	} {
		t.Run(fmt.Sprintf("%s/known=%v", tc.transport.name, tc.known), func(t *testing.T) {
			var methods *everywire.Registry
			if tc.known {
				methods = f.reg
			}
			addr := serve(t, tc.transport.server, serverConfig(f.reg, everywire.Limits{}))
			cfg := clientConfig(addr, methods)
			var sent strings.Builder
			open := cfg.DialAddr
			cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := open(ctx, addr)
				return recordingConn{conn, &sent}, err
			}
			conn := dial(t, tc.transport.conn, cfg)
			if _, err := everywire.Call[sumReply](t.Context(), conn, "arith.Arith/Sum", &sumRequest{[]int64{20, 21}}); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(tc.want, "HOST", addr, 1)
			if sent.String() != want {
				t.Errorf("sent %q\nwant %q", sent.String(), want)
			}
			if len(want) > 221 {
				t.Errorf("%d bytes", len(want))
			}
		})
	}
}

func TestHTTPConnections(t *testing.T) {
	f := newFixture()
	addr := serve(t, NewHTTPServer, serverConfig(f.reg, everywire.Limits{}))
	for _, tc := range []struct {
		options map[string]string
		want    int
	}{{nil, 1}, {map[string]string{"reconnect": ""}, 5}} {
		cfg := clientConfig(addr, nil)
		cfg.Options = tc.options
		dials := 0
		open := cfg.DialAddr
		cfg.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
			dials++
			return open(ctx, addr)
		}
		conn := dial(t, NewHTTPConn, cfg)
		for range 5 {
			if _, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{"x"}); err != nil {
				t.Fatal(err)
			}
		}
		if dials != tc.want {
			t.Errorf("options %v: %d connections, want %d", tc.options, dials, tc.want)
		}
	}
}

func TestHTTPForeignServers(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		code   codes.Code
		has    string
	}{
		"a reply":              {200, `{"id":1,"result":{"text":"x"}}`, codes.OK, ""},
		"JSON-RPC 1.0":         {200, `{"result":{"text":"x"},"error":null,"id":1}`, codes.OK, ""},
		"a null result":        {200, `{"jsonrpc":"2.0","result":null,"id":1}`, codes.OK, ""},
		"its own code":         {200, `{"jsonrpc":"2.0","error":{"code":42,"message":"boom","data":{"a":1}},"id":1}`, codes.Unknown, `boom (code 42, data {"a":1})`},
		"an error with 500":    {500, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":1}`, codes.Unimplemented, "no"},
		"a null id":            {200, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"},"id":null}`, codes.Internal, "no"},
		"a string for error":   {200, `{"result":null,"error":"401 Not Allowed","id":1}`, codes.Unknown, "401 Not Allowed"},
		"another id":           {200, `{"jsonrpc":"2.0","result":{},"id":2}`, codes.Internal, "has the id 2, not 1"},
		"no id":                {200, `{"jsonrpc":"2.0","result":{}}`, codes.Internal, "not 1"},
		"HTML":                 {404, `<html>`, codes.NotFound, "404 Not Found: <html>"},
		"unavailable":          {503, ``, codes.Unavailable, "503"},
		"HTML with 200":        {200, `<html>`, codes.Internal, "is not JSON-RPC"},
		"both":                 {200, `{"result":1,"error":{"code":1},"id":1}`, codes.Internal, "both a result and an error"},
		"neither":              {200, `{"id":1}`, codes.Internal, "neither"},
		"a batch":              {200, `[{"id":1}]`, codes.Internal, "a response object"},
		"204":                  {204, ``, codes.Internal, "as if it were a notification"},
		"a reply of bad shape": {200, `{"jsonrpc":"2.0","result":[1],"id":1}`, codes.Internal, "reply of t.Text/Plain"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body) // the client reports what is missing
			}))
			defer srv.Close()
			conn := dial(t, NewHTTPConn, clientConfig(srv.Listener.Addr().String(), nil))
			_, err := everywire.Call[textMessage](t.Context(), conn, "t.Text/Plain", &textMessage{"x"})
			if s := status.Convert(err); s.Code() != tc.code || !strings.Contains(s.Message(), tc.has) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestHandlerAnywhere(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.Peer/Who", func(ctx context.Context, _ *empty) (*textMessage, error) {
		p, _ := peer.FromContext(ctx)
		return &textMessage{p.Addr.String()}, nil
	})
	h, err := NewHandler(serverConfig(reg, everywire.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/any/where", strings.NewReader(`{"jsonrpc":"2.0","method":"t.Peer/Who","id":1}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got, want := w.Body.String(), `{"jsonrpc":"2.0","result":{"text":"`+r.RemoteAddr+`"},"id":1}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestShutdownLetsCallsFinish(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			f := newFixture()
			srv, err := tr.server(serverConfig(f.reg, everywire.Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- srv.Serve(lis) }()
			conn := dial(t, tr.conn, clientConfig(lis.Addr().String(), nil))
			waiting := everywire.Start[textMessage](t.Context(), conn, "t.Ctl/Wait", &textMessage{"x"})
			<-f.began
			down := make(chan error, 1)
			go func() { down <- srv.Shutdown(t.Context()) }()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
			close(f.gate)
			if out, err := waiting.Wait(t.Context()); err != nil || out.Text != "x" {
				t.Errorf("the call under way: %v, %v", out, err)
			}
			if err := <-down; err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
		t.Run(tr.name+"/bounded", func(t *testing.T) {
			f := newFixture()
			srv, err := tr.server(serverConfig(f.reg, everywire.Limits{}))
			if err != nil {
				t.Fatal(err)
			}
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- srv.Serve(lis) }()
			conn := dial(t, tr.conn, clientConfig(lis.Addr().String(), nil))
			blocked := everywire.Start[empty](t.Context(), conn, "t.Ctl/Block", &empty{})
			<-f.began
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := srv.Shutdown(ctx); err != context.DeadlineExceeded { //nolint:errorlint // as ctx.Err returns it
				t.Errorf("Shutdown: %v", err)
			}
			if _, err := blocked.Wait(t.Context()); err == nil {
				t.Error("the call succeeded")
			}
			<-f.ended
			<-served
		})
	}
}

func TestOneWayOverHTTPReportsHTTP(t *testing.T) {
	conn := dial(t, NewHTTPConn, clientConfig(serve(t, NewHTTPServer, serverConfig(everywire.NewRegistry(), everywire.Limits{MaxMessage: 10, MaxMetadata: 10})), nil))
	err := everywire.Notify(t.Context(), conn, "t.Text/Note", &textMessage{strings.Repeat("x", 10_000)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
}

func TestMetadataThatHTTPCannotSay(t *testing.T) {
	f := newFixture()
	conn := dial(t, NewHTTPConn, clientConfig(serve(t, NewHTTPServer, serverConfig(f.reg, everywire.Limits{})), nil))
	ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"key": {"a\nb"}})
	if _, err := everywire.Call[textMessage](ctx, conn, "t.Meta/Mirror", &empty{}, grpc.WaitForReady(true)); status.Code(err) != codes.Internal {
		t.Error(err)
	}
}
