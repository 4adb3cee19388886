package target

import (
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// A Call is a request of a method, for a connection that [Wrap] made.
type Call struct {
	// Message is the request.
	Message any
	// Header is the metadata that goes with it. It may be kept.
	Header metadata.MD
	// Want are the status codes that are no error; empty stands for OK.
	Want []codes.Code
	// Code is set to the one that came.
	Code codes.Code
	// Broken says why there is no request, nil if there is one: the call fails with it.
	Broken error
}

// Wrap makes a connection that takes [Call]s out of one that takes messages. If
// timeout is not 0, each call may take so long, and the server is told.
func Wrap(conn grpc.ClientConnInterface, timeout time.Duration) grpc.ClientConnInterface {
	return &wrapped{conn, timeout}
}

type wrapped struct {
	conn    grpc.ClientConnInterface
	timeout time.Duration
}

func (w *wrapped) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	call := in.(*Call)
	if call.Broken != nil {
		return call.Broken
	}
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	if call.Header != nil {
		ctx = metadata.NewOutgoingContext(ctx, call.Header)
	}
	err := w.conn.Invoke(ctx, path, call.Message, out, opts...)
	call.Code = status.Code(err)
	if err != nil && slices.Contains(call.Want, call.Code) {
		return nil
	}
	return err
}

func (w *wrapped) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errNoStreams
}

var errNoStreams = status.Error(codes.Unimplemented, "a load makes unary calls")
