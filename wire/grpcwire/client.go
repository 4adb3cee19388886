package grpcwire

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// conn is a grpc.ClientConn whose codec is fixed.
type conn struct {
	cc          *grpc.ClientConn
	maxMetadata int
	// retries is set if grpc-go may have a retry policy, see [fate].
	retries bool
}

// NewConn makes a connection. Its options are codec (a name of cfg.Codecs)
// and lb (pick_first, round_robin).
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	codec, err := cfg.Codec(rpc.Protobuf)
	if err != nil {
		return nil, err
	}
	policy := cfg.Options["lb"]
	switch policy {
	case "", "pick_first", "round_robin":
	default:
		return nil, fmt.Errorf("unknown lb %q: it is one of pick_first, round_robin", policy)
	}
	if len(cfg.Addrs) == 0 {
		return nil, fmt.Errorf("no address to connect to")
	}
	opts := []grpc.DialOption{
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(fix(codec)),
			grpc.MaxCallRecvMsgSize(cfg.Limits.MaxMessage),
			grpc.MaxCallSendMsgSize(cfg.Limits.MaxMessage),
		),
		grpc.WithMaxHeaderListSize(headerListSize(cfg.Limits)),
		grpc.WithUserAgent(cfg.UserAgent),
		grpc.WithContextDialer(cfg.DialAddr),
		grpc.WithNoProxy(), // DialAddr decides how an address is reached
	}
	if cfg.TLS != nil {
		opts = append(opts, grpc.WithTransportCredentials(credentials.NewTLS(cfg.TLS)))
	} else {
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if policy != "" {
		opts = append(opts, grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig":[{%q:{}}]}`, policy)))
	}
	for _, h := range cfg.Stats {
		opts = append(opts, grpc.WithStatsHandler(h))
	}
	addrs := manual.NewBuilderWithScheme("everywire")
	var state resolver.State
	for _, a := range cfg.Addrs {
		ra := resolver.Address{Addr: a}
		if cfg.TLS != nil && cfg.TLS.ServerName == "" {
			ra.ServerName = rpc.HostOf(a) // not that of the first for all
		}
		state.Addresses = append(state.Addresses, ra)
	}
	addrs.InitialState(state)
	cc, err := grpc.NewClient("everywire:///"+authority(cfg.Addrs[0]), append(opts, grpc.WithResolvers(addrs))...)
	if err != nil {
		return nil, err
	}
	return &conn{cc: cc, maxMetadata: cfg.Limits.MaxMetadata}, nil
}

// fix makes the codec of a connection grpc-go's. Protobuf has no subtype: a bare
// application/grpc means it to everyone, and is shortest.
func fix(codec everywire.Codec) fixed {
	if codec.Name() == rpc.Protobuf {
		return fixed{codec: codec}
	}
	return fixed{codec: codec, subtype: codec.Name()}
}

// authority is the :authority of calls to addr, which may be a unix socket.
func authority(addr string) string {
	if strings.HasPrefix(addr, "/") || strings.HasPrefix(addr, "@") {
		return "localhost"
	}
	return addr
}

func (c *conn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := rpc.NotSent(c.check(ctx, opts)); err != nil {
		finish(opts, err)
		return err
	}
	f := fates.Get().(*fate)
	defer f.free()
	if err := c.cc.Invoke(ctx, method, args, reply, f.with(opts)...); err != nil {
		return f.of(err, c.retries)
	}
	return nil
}

func (c *conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := rpc.NotSent(c.check(ctx, opts)); err != nil {
		finish(opts, err)
		return nil, err
	}
	stream, err := c.cc.NewStream(ctx, desc, method, opts...)
	if err != nil {
		return nil, rpc.Fate(err, c.retries) // without a policy: there is no stream of HTTP/2
	}
	return fatedStream{stream, c.retries}, nil
}

func (c *conn) Close() error { return c.cc.Close() }

// check refuses what grpc-go would take but must not have here.
func (c *conn) check(ctx context.Context, opts []grpc.CallOption) error {
	for _, opt := range opts {
		switch opt.(type) {
		case everywire.OneWayCallOption:
			return status.Error(codes.Unimplemented, "gRPC has no one-way calls")
		case grpc.ForceCodecCallOption, grpc.ForceCodecV2CallOption, grpc.CustomCodecCallOption, grpc.ContentSubtypeCallOption:
			return status.Errorf(codes.Unimplemented, "call option %T: the codec belongs to the connection, see the target's option codec", opt)
		}
	}
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		if n := rpc.SizeOf(md); n > c.maxMetadata {
			return status.Errorf(codes.ResourceExhausted, "metadata of %d bytes is larger than the limit of %d", n, c.maxMetadata)
		}
	}
	return nil
}

// finish tells the caller of a call that grpc-go never saw.
func finish(opts []grpc.CallOption, err error) {
	for _, opt := range opts {
		if o, ok := opt.(grpc.OnFinishCallOption); ok {
			o.OnFinish(err)
		}
	}
}
