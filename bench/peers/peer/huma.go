package peer

import (
	"context"
	"net"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// humaAPI is huma on net/http's ServeMux. Its client is net/http's: it has none.
// Links to schemas are off, which would add a member to replies.
var humaAPI = Peer{
	Name: "huma", Kind: API, Form: "encoding/json on net/http", Module: "github.com/danielgtaylor/huma/v2", Documents: true,
	Serve: func(lis net.Listener) error {
		mux := http.NewServeMux()
		config := huma.DefaultConfig("bench", "1")
		config.CreateHooks = nil
		api := humago.New(mux, config)
		limit := func(op *huma.Operation) { op.MaxBodyBytes = MaxMessage }
		huma.Post(api, "/echo", humaEcho[Message], limit)
		huma.Post(api, "/document", humaEcho[any], limit)
		return serveHTTP(lis, mux, false)
	},
	Dial: dialHTTP(false, "/echo", "/document"),
}

type humaBody[T any] struct{ Body T }

func humaEcho[T any](_ context.Context, in *humaBody[T]) (*humaBody[T], error) { return in, nil }
