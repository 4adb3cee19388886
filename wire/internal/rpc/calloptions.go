package rpc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// callOptions are the options of one call that matter after it.
type callOptions struct {
	header, trailer []*metadata.MD
	peer            []*peer.Peer
	onFinish        []func(error)
	creds           credentials.PerRPCCredentials
}

// readCallOptions applies gRPC's call options by type. One that has no meaning
// on a wire other than gRPC is Unimplemented, never ignored: its caller counts
// on it.
func readCallOptions(opts []grpc.CallOption, call *Outgoing) (o callOptions, err error) {
	for _, opt := range opts {
		switch opt := opt.(type) {
		case grpc.HeaderCallOption:
			o.header = append(o.header, opt.HeaderAddr)
			call.WantMeta = true
		case grpc.TrailerCallOption:
			o.trailer = append(o.trailer, opt.TrailerAddr)
			call.WantMeta = true
		case grpc.PeerCallOption:
			o.peer = append(o.peer, opt.PeerAddr)
			call.WantPeer = true
		case grpc.OnFinishCallOption:
			o.onFinish = append(o.onFinish, opt.OnFinish)
		case grpc.FailFastCallOption:
			call.WaitForReady = !opt.FailFast
		case grpc.MaxRecvMsgSizeCallOption:
			call.maxRecv = opt.MaxRecvMsgSize
		case grpc.MaxSendMsgSizeCallOption:
			call.maxSend = opt.MaxSendMsgSize
		case grpc.PerRPCCredsCallOption:
			o.creds = opt.Creds
		case everywire.OneWayCallOption:
			call.OneWay = true
		case grpc.StaticMethodCallOption, grpc.EmptyCallOption:
			// The first is a hint to grpc-go's own telemetry; generated clients
			// set it on every call.
		default:
			if err == nil { // go on: OnFinish must be called for this failure too
				err = status.Errorf(codes.Unimplemented, "call option %T has no meaning on this wire", opt)
			}
		}
	}
	return o, err
}

// deliver gives the caller what it asked for.
func (o *callOptions) deliver(call *Outgoing) {
	for _, h := range o.header {
		*h = call.Header
	}
	for _, t := range o.trailer {
		*t = call.Trailer
	}
	for _, p := range o.peer {
		if call.Peer != nil {
			*p = *call.Peer
		}
	}
}
