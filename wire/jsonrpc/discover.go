package jsonrpc

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// discoverMethod is what OpenRPC calls the method that returns the document.
const discoverMethod = "rpc.discover"

// A discovery has the server's OpenRPC document. It is made when somebody asks
// for it first, and anew when methods were added.
type discovery struct {
	cfg     *rpc.ServerConfig
	options describe.Options

	mu      sync.Mutex
	methods int // how many the document was made from
	text    []byte
	err     error
}

// discoveryOf returns nil if the target's option says so.
func discoveryOf(cfg *rpc.ServerConfig, bytesAsArray bool) (*discovery, error) {
	v, err := checkOption(cfg.Options, "discover", "on", "off")
	if err != nil || v == "off" {
		return nil, err
	}
	return &discovery{cfg: cfg, options: describe.Options{BytesAsArray: bytesAsArray}}, nil
}

func (d *discovery) document() ([]byte, error) {
	methods := d.cfg.Registry.Methods()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.text == nil || len(methods) > d.methods {
		d.text, d.err = describe.OpenRPC(methods, d.options)
		d.methods = len(methods)
	}
	return d.text, d.err
}

// discover answers rpc.discover. It is the server's own word and no method of
// the registry, so neither interceptors nor stats handlers see it.
func (c *call) discover() ([]byte, *rpc.Outcome) {
	text, err := c.service.discovery.document()
	most := c.service.cfg.Limits.MaxMessage
	switch {
	case c.req.notification():
		return c.out, nil
	case err != nil:
		return c.fail(status.New(codes.Internal, err.Error())), nil
	case len(text) > most:
		return c.fail(status.Newf(codes.ResourceExhausted, "the document of %d bytes is larger than the limit of %d", len(text), most)), nil
	}
	c.out = append(c.req.appendResultHead(c.out), text...)
	c.finish()
	return c.out, &rpc.Outcome{Status: status.New(codes.OK, "")}
}
