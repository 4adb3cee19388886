package grpcwire

import (
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// A fate learns of one unary call what grpc-go does not say by its error:
// whether an attempt to send it began, and what the server says about another
// one.
//
// grpc-go makes a call again by itself in two cases: when the server has said
// that it did not process the stream (RST_STREAM with REFUSED_STREAM, or GOAWAY
// with a lower last stream), and by a retry policy. It calls the options below
// for the last attempt alone, so they are believed only where no policy can be.
type fate struct {
	peer    peer.Peer // set if the last attempt had a stream of HTTP/2
	trailer metadata.MD
	opts    []grpc.CallOption
	own     [2]grpc.CallOption
}

var fates = sync.Pool{New: func() any {
	f := new(fate)
	f.own = [...]grpc.CallOption{grpc.Peer(&f.peer), grpc.Trailer(&f.trailer)}
	return f
}}

// with is the caller's options and those that tell the fate. The caller's come
// last.
func (f *fate) with(opts []grpc.CallOption) []grpc.CallOption {
	f.opts = append(append(f.opts[:0], f.own[:]...), opts...)
	return f.opts
}

func (f *fate) free() {
	f.peer, f.trailer = peer.Peer{}, nil
	clear(f.opts)
	fates.Put(f)
}

// of is the error of a call as everywire tells it.
func (f *fate) of(err error, retries bool) error {
	return told(err, retries || f.peer.Addr != nil, f.trailer)
}

func told(err error, attempted bool, trailer metadata.MD) error {
	if wait, ok := rpc.ParsePushback(trailer["grpc-retry-pushback-ms"]); ok {
		err = rpc.WithRetryInfo(status.Convert(err), wait).Err()
	}
	return rpc.Fate(err, attempted)
}

// A fatedStream tells the same of a stream.
type fatedStream struct {
	grpc.ClientStream
	retries bool
}

// RecvMsg is [grpc.ClientStream]'s.
func (s fatedStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil || err == io.EOF { //nolint:errorlint // grpc-go returns io.EOF itself
		return err
	}
	_, attempted := peer.FromContext(s.Context())
	return told(err, s.retries || attempted, s.Trailer())
}
