package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/valyala/fasthttp"
)

var fastHTTP = Peer{
	Name: "fasthttp", Kind: HTTP, Form: "encoding/json, HTTP/1.1", Module: "github.com/valyala/fasthttp",
	Serve: func(lis net.Listener) error {
		srv := fasthttp.Server{Handler: fastEcho, MaxRequestBodySize: MaxMessage}
		return srv.Serve(lis)
	},
	Dial: func(_ context.Context, addr string) (Conn, error) {
		return &fastConn{fasthttp.HostClient{Addr: addr, MaxConns: 1, MaxResponseBodySize: MaxMessage}, "http://" + addr + "/echo"}, nil
	},
}

func fastEcho(ctx *fasthttp.RequestCtx) {
	var m Message
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
	client fasthttp.HostClient
	url    string
}

func (c *fastConn) Call(_ context.Context, seq int64, text string) (int64, string, error) {
	body, err := json.Marshal(&Message{Seq: seq, Text: text})
	if err != nil {
		return 0, "", err
	}
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	req.SetRequestURI(c.url)
	req.SetBodyRaw(body)
	if err := c.client.Do(req, resp); err != nil {
		return 0, "", err
	}
	if resp.StatusCode() != fasthttp.StatusOK {
		return 0, "", fmt.Errorf("HTTP status %d", resp.StatusCode())
	}
	var m Message
	err = json.Unmarshal(resp.Body(), &m)
	return m.Seq, m.Text, err
}

func (c *fastConn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
