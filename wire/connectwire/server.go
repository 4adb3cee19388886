package connectwire

import (
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/web"
)

// NewServer returns a server of the wire: HTTP/1.1 and HTTP/2, which a client
// chooses by ALPN over TLS and by how it begins in cleartext.
func NewServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	h, err := NewHandler(cfg)
	if err != nil {
		return nil, err
	}
	return web.NewServer(web.Config{Handler: cfg.Around(h), TLS: cfg.TLS, Limits: cfg.Limits, Logger: cfg.Logger}), nil
}
