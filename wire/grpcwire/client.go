package grpcwire

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
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

// NewConn makes a connection. Its options are codec (a name of cfg.Codecs),
// compression (gzip, zstd), lb (pick_first, round_robin), serviceconfig (a file),
// keepalive, keepalivetimeout and idle (times), and reconnect.
func NewConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	codec, err := cfg.Codec(rpc.Protobuf)
	if err != nil {
		return nil, err
	}
	if len(cfg.Addrs) == 0 {
		return nil, errors.New("no address to connect to")
	}
	_, each := cfg.Options["reconnect"]
	if each {
		with := *cfg
		with.DialAddr = paced(cfg.DialAddr)
		cfg = &with
	}
	opts, err := dialOptions(cfg)
	if err != nil {
		return nil, err
	}
	opts = append(opts, cfg.GRPC...)
	// What the target says is not for them to change.
	opts = append(opts,
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(fix(codec))),
		grpc.WithTransportCredentials(clientCredentials(cfg)),
		grpc.WithResolvers(hosts{cfg}),
	)
	dial := func() (*grpc.ClientConn, error) {
		return grpc.NewClient(scheme+":///"+authority(cfg.Addrs[0]), opts...)
	}
	cc, err := dial()
	if err != nil {
		return nil, err
	}
	_, policies := cfg.Options["serviceconfig"]
	c := conn{cc: cc, maxMetadata: cfg.Limits.MaxMetadata, retries: policies || len(cfg.GRPC) > 0}
	if !each {
		return &c, nil
	}
	c.cc = nil
	return &perCall{dial: dial, common: c, open: map[*once]struct{}{}}, cc.Close() // it has shown that the options are good
}

// dialOptions are what a program may replace.
func dialOptions(cfg *rpc.ClientConfig) ([]grpc.DialOption, error) {
	calls := []grpc.CallOption{
		grpc.MaxCallRecvMsgSize(cfg.Limits.MaxMessage),
		grpc.MaxCallSendMsgSize(cfg.Limits.MaxMessage),
	}
	compressor, err := callCompressor(cfg.Options)
	if err != nil {
		return nil, err
	}
	if compressor != nil {
		calls = append(calls, compressor)
	}
	opts, err := clientTimes(cfg.Options)
	if err != nil {
		return nil, err
	}
	opts = append(opts,
		grpc.WithDefaultCallOptions(calls...),
		grpc.WithMaxHeaderListSize(headerListSize(cfg.Limits)),
		grpc.WithUserAgent(cfg.UserAgent),
		grpc.WithContextDialer(cfg.DialAddr),
		grpc.WithNoProxy(), // DialAddr decides how an address is reached
	)
	config, err := serviceConfig(cfg.Options)
	if err != nil {
		return nil, err
	}
	if config != "" {
		opts = append(opts, grpc.WithDefaultServiceConfig(config))
	}
	for _, h := range cfg.Stats {
		opts = append(opts, grpc.WithStatsHandler(h))
	}
	return opts, nil
}

// fix makes the codec of a connection grpc-go's. Protobuf has no subtype: a bare
// application/grpc means it to everyone, and is shortest.
func fix(codec everywire.Codec) fixed {
	if codec.Name() == rpc.Protobuf {
		return fixed{codec: codec, sent: new(sizeHint)}
	}
	return fixed{codec: codec, subtype: codec.Name(), sent: new(sizeHint)}
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
