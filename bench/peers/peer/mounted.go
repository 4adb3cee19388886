package peer

import (
	"net"

	"github.com/everywire/everywire/wire"
)

// mounted is the wire rest as an http.Handler in a server of net/http, called by
// net/http's client with encoding/json: what is to be compared with net/http
// alone is the handler.
var mounted = Peer{
	Name: "rest-handler", Kind: Ours, Form: "rest mounted on net/http", Documents: true,
	Serve: func(lis net.Listener) error {
		h, err := wire.NewHandler(ourRegistry(), "rest")
		if err != nil {
			return err
		}
		return serveHTTP(lis, h, false)
	},
	Dial: dialHTTP(false, "/"+ourEcho, "/"+ourDocument),
}
