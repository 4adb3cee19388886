package peer

import (
	"context"
	"net"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire"
)

const ourEcho = "bench.Peer/Echo"

// ours is everywire on the wire that the target begins with, with all its
// defaults.
func ours(name, form string, shared bool) Peer {
	return Peer{
		Name: name, Kind: Ours, Form: form, Shared: shared,
		Serve: func(lis net.Listener) error {
			reg := everywire.NewRegistry()
			everywire.Handle(reg, ourEcho, func(_ context.Context, in *Message) (*Message, error) { return in, nil })
			srv, err := ServeOurs(name, lis, reg)
			if err != nil {
				return err
			}
			return srv.Wait()
		},
		Dial: func(_ context.Context, addr string) (Conn, error) {
			conn, err := DialOurs(name, addr)
			if err != nil {
				return nil, err
			}
			return ourConn{conn}, nil
		},
	}
}

// ServeOurs serves reg on the wire with that name. When the listener is closed
// the server ends with its error.
func ServeOurs(name string, lis net.Listener, reg *everywire.Registry) (*wire.Server, error) {
	listen := func(context.Context, string, string) (net.Listener, error) { return lis, nil }
	return wire.Serve(context.Background(), reg, []string{name + "://" + lis.Addr().String()}, wire.WithListener(listen))
}

// DialOurs makes a connection to what ServeOurs serves.
func DialOurs(name, addr string) (*wire.Conn, error) { return wire.Dial(name + "://" + addr) }

type ourConn struct{ *wire.Conn }

func (c ourConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	out, err := everywire.Call[Message](ctx, c.Conn, ourEcho, &Message{Seq: seq, Text: text})
	if err != nil {
		return 0, "", err
	}
	return out.Seq, out.Text, nil
}
