package jsonrpc

import (
	"context"
	"fmt"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// What was read ahead of a reply is not left over for the request behind it:
// not a fault, not an id, not a member that the request does not have.
func TestRequestBehindReply(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "ask.Ask/Back", func(ctx context.Context, in *pair) (*pair, error) {
		back, ok := rpc.Caller(ctx)
		if !ok {
			t.Error("there is no way back")
		}
		return everywire.Call[pair](ctx, back, "peer.Peer/Get", in)
	})
	c := dialRaw(t, serve(t, NewServer, serverConfig(reg, everywire.Limits{})))
	const request = `{"jsonrpc":"2.0","method":"no.Such/Method","id":"b"}` + "\n"
	id := 0
	for _, behind := range []string{request, `{"jsonrpc":"2.0","method":"no.Such/Method"}` + "\n" + request} {
		for _, reply := range []string{`"result":{"minuend":1}`, `"error":{"code":-32601,"message":"no"}`, `"result":{},"meta":{}`} {
			id++
			c.send(`{"jsonrpc":"2.0","method":"ask.Ask/Back","id":"a"}` + "\n")
			c.line() // the server's request
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0",%s,"id":%d}`+"\n", reply, id))
			c.line() // the reply to ours
			c.send(behind)
			c.wantLine(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown service no.Such"},"id":"b"}`)
		}
	}
}
