package peer

import (
	"context"
	"net"
	"reflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/wire"
)

const (
	ourEcho     = "bench.Peer/Echo"
	ourDocument = "bench.Peer/Document"
)

func ourRegistry() *everywire.Registry {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, ourEcho, func(_ context.Context, in *Message) (*Message, error) { return in, nil })
	everywire.Handle(reg, ourDocument, func(_ context.Context, in *everywire.Document) (*everywire.Document, error) { return in, nil })
	return reg
}

// ours is everywire on the wire that the target begins with, with all its
// defaults.
func ours(name, form string, shared bool) Peer {
	return Peer{
		Name: name, Kind: Ours, Form: form, Shared: shared, Documents: true,
		Serve: func(lis net.Listener) error {
			srv, err := ServeOurs(name, lis, ourRegistry())
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
func ServeOurs(name string, lis net.Listener, reg *everywire.Registry, opts ...wire.ServeOption) (*wire.Server, error) {
	listen := func(context.Context, string, string) (net.Listener, error) { return lis, nil }
	return wire.Serve(context.Background(), reg, []string{name + "://" + lis.Addr().String()}, append(opts, wire.WithListener(listen))...)
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

// Document is [Documenter]'s.
func (c ourConn) Document(text []byte) (func(context.Context) error, error) {
	var in everywire.Document
	if err := (json.Codec{}).Decode(text, &in); err != nil {
		return nil, err
	}
	var check checker
	return func(ctx context.Context) error {
		out, err := everywire.Call[everywire.Document](ctx, c.Conn, ourDocument, &in)
		if err != nil {
			return err
		}
		return check.document(members(in.Value) == members(out.Value), func() bool { return reflect.DeepEqual(in.Value, out.Value) })
	}, nil
}
