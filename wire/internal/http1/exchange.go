package http1

import (
	"net/http"
	"net/url"
)

// An exchange is a request and its response: all that they need but the head's
// text and the maps of fields, in one block. A handler may keep parts of it, so
// it is not used twice.
type exchange struct {
	req     http.Request
	url     url.URL
	ctx     requestContext
	res     response
	body    body
	framing framing
	values  [12]string // of fields, a slice of one each
}

// parse makes the exchange of the request whose head, of n bytes, the buffer
// begins with, and takes it from there.
func (x *exchange) parse(c *conn, n int) error {
	x.ctx.conn = c.ctx
	// No more than a way to set the context of a request: the copies are on the
	// stack.
	x.req = *new(http.Request).WithContext(&x.ctx)
	head := string(c.in[c.r : c.r+n-len("\r\n")])
	c.r += n
	if err := x.parseHead(head); err != nil {
		return err
	}
	if err := x.apply(); err != nil {
		return err
	}
	if err := x.declareTrailers(); err != nil {
		return err
	}
	x.req.RemoteAddr, x.req.TLS = c.remote, c.tls
	x.body.begin(c, x)
	x.res.begin(c, x)
	return nil
}
