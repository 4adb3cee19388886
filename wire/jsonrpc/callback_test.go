package jsonrpc

import (
	"context"
	"strings"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// A handler's call of its client carries the handler's deadline only if the
// client has sent a member of ours before: others may refuse what they do not
// know.
func TestCallbackCarriesDeadlineToThoseWhoKnowIt(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "t.Call/Back", func(ctx context.Context, in *sumRequest) (*sumReply, error) {
		client, ok := rpc.Caller(ctx)
		if !ok {
			t.Error("there is no way back")
		}
		return everywire.Call[sumReply](ctx, client, "t.Its/Own", in)
	})
	c := dialRaw(t, serve(t, NewServer, serverConfig(reg, everywire.Limits{})))
	for _, test := range []struct {
		members string
		knows   bool
	}{{"", false}, {`,"timeout_ms":60000`, true}, {"", true}} {
		c.send(`{"jsonrpc":"2.0","method":"t.Call/Back","params":{"numbers":[1]}` + test.members + `,"id":"a"}` + "\n")
		asked := c.line()
		if strings.Contains(asked, "timeout_ms") != test.knows {
			t.Errorf("with %q the client was asked %s", test.members, asked)
		}
		id := asked[strings.LastIndex(asked, `"id":`)+len(`"id":`) : strings.LastIndex(asked, "}")]
		c.send(`{"jsonrpc":"2.0","result":{"sum":7},"id":` + id + "}\n")
		if reply := c.line(); reply != `{"jsonrpc":"2.0","result":{"sum":7},"id":"a"}` {
			t.Errorf("the reply is %s", reply)
		}
	}
}
