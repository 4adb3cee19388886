package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/valyala/fasthttp"
)

var fastHTTP = Peer{
	Name: "fasthttp", Kind: HTTP, Form: "encoding/json, HTTP/1.1", Module: "github.com/valyala/fasthttp", Documents: true,
	Serve: func(lis net.Listener) error {
		srv := fasthttp.Server{Handler: fastRoutes, MaxRequestBodySize: MaxMessage}
		return srv.Serve(lis)
	},
	Dial: func(_ context.Context, addr string) (Conn, error) {
		return &fastConn{fasthttp.HostClient{Addr: addr, MaxConns: 1, MaxResponseBodySize: MaxMessage}, "http://" + addr + "/echo", "http://" + addr + "/document"}, nil
	},
}

func fastRoutes(ctx *fasthttp.RequestCtx) {
	switch path := ctx.Path(); {
	case !ctx.IsPost():
		ctx.Error("use POST", fasthttp.StatusMethodNotAllowed)
	case string(path) == "/echo":
		fastEcho[Message](ctx)
	case string(path) == "/document":
		fastEcho[any](ctx)
	default:
		ctx.NotFound()
	}
}

func fastEcho[T any](ctx *fasthttp.RequestCtx) {
	var m T
	if err := json.Unmarshal(ctx.PostBody(), &m); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	body, err := json.Marshal(&m)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

type fastConn struct {
	client         fasthttp.HostClient
	echo, document string // URLs
}

func (c *fastConn) Call(_ context.Context, seq int64, text string) (int64, string, error) {
	var m Message
	err := c.post(c.echo, &Message{Seq: seq, Text: text}, &m)
	return m.Seq, m.Text, err
}

// Document is [Documenter]'s.
func (c *fastConn) Document(text []byte) (func(context.Context) error, error) {
	return documentCall(text, json.Unmarshal, func(_ context.Context, in, out *any) error {
		return c.post(c.document, in, out)
	})
}

func (c *fastConn) post(url string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	req.SetRequestURI(url)
	req.SetBodyRaw(body)
	if err := c.client.Do(req, resp); err != nil {
		return err
	}
	if resp.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("HTTP status %d", resp.StatusCode())
	}
	return json.Unmarshal(resp.Body(), out)
}

func (c *fastConn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
