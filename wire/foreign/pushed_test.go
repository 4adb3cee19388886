package foreign

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"
	"github.com/creachadair/jrpc2/handler"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

// Servers may send what nobody asked for. Our clients ignore notifications,
// and go on.

func TestNotificationsOfJRPC2(t *testing.T) {
	push := handler.New(func(ctx context.Context, in []string) (string, error) {
		for range 100 {
			if err := jrpc2.ServerFromContext(ctx).Notify(ctx, "pushed", in); err != nil {
				return "", err
			}
		}
		return in[0], nil
	})
	addr := listen(t, func(conn net.Conn) {
		server := jrpc2.NewServer(handler.Map{"same": push}, &jrpc2.ServerOptions{AllowPush: true})
		wantParted(t, server.Start(channel.Line(conn, conn)).Wait())
	})
	conn := newService().dial(t, "jsonrpc+tcp://%s", addr)
	for range 3 {
		if got, err := everywire.Call[text](testContext(t), conn, "peer.Peer/Same", &text{"x"}); err != nil || got.Text != "x" {
			t.Errorf("%v, %v", got, err)
		}
	}
}

func TestNotificationsOfNeovim(t *testing.T) {
	conn, err := wire.Dial("msgpackrpc+tcp://"+startNvim(t, "127.0.0.1:0"), wire.WithMethods(nvimMethods()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	ctx := testContext(t)
	info, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/GetAPIInfo", &empty{})
	if err != nil {
		t.Fatal(err)
	}
	us := info.Value.([]any)[0] // the channel that this connection is to Neovim
	notify := fmt.Sprintf("map(range(100), {_, n -> rpcnotify(%d, 'pushed', n)}) + [42]", us)
	for range 3 {
		out, err := everywire.Call[everywire.Document](ctx, conn, "nvim.Nvim/Eval", &text{notify})
		if list, _ := out.Value.([]any); err != nil || len(list) != 101 || list[0] != int64(1) {
			t.Errorf("%v, %v", out, err)
		}
	}
}
