package everywire

import (
	"context"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Future is a call under way, made by [Start] or [StartFunc].
type Future[Out any] struct {
	done chan struct{}
	out  *Out
	err  error
}

// Start starts a call and returns at once. The call ends when ctx does. in must
// not be changed before the call has ended.
func Start[Out, In any](ctx context.Context, conn grpc.ClientConnInterface, name string, in *In, opts ...grpc.CallOption) *Future[Out] {
	return StartFunc(ctx, caller[Out, In](conn, name), in, opts...)
}

// StartFunc is [Start] with a method of a generated client:
//
//	future := everywire.StartFunc(ctx, client.Retrieve, &pb.RetrieveRequest{Key: key})
func StartFunc[Out, In any](ctx context.Context, method func(context.Context, *In, ...grpc.CallOption) (*Out, error), in *In, opts ...grpc.CallOption) *Future[Out] {
	f := &Future[Out]{done: make(chan struct{})}
	go contained(ctx, method, in, opts, func(out *Out, err error) {
		f.out, f.err = out, err
		close(f.done)
	})
	return f
}

// Done is closed when the call has ended.
func (f *Future[Out]) Done() <-chan struct{} { return f.done }

// Wait waits for the call to end, or for ctx; the call itself goes on if ctx
// ends first. It may be called any number of times.
func (f *Future[Out]) Wait(ctx context.Context) (*Out, error) {
	select {
	case <-f.done:
		return f.out, f.err
	default:
	}
	select {
	case <-f.done:
		return f.out, f.err
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

// caller is [Call] in the form of a generated client's method.
func caller[Out, In any](conn grpc.ClientConnInterface, name string) func(context.Context, *In, ...grpc.CallOption) (*Out, error) {
	return func(ctx context.Context, in *In, opts ...grpc.CallOption) (*Out, error) {
		return Call[Out](ctx, conn, name, in, opts...)
	}
}

// contained makes a call on a goroutine of its own, whose panics nobody else
// could recover: an encoding may call the methods of messages. A panic is logged,
// and Internal. then is called in any case, also when the call ends its goroutine
// (runtime.Goexit).
func contained[Out, In any](ctx context.Context, method func(context.Context, *In, ...grpc.CallOption) (*Out, error), in *In, opts []grpc.CallOption, then func(*Out, error)) {
	var out *Out
	err := status.Error(codes.Internal, "the call did not return: it panicked, or ended its goroutine")
	returned := false
	defer func() {
		if !returned {
			logPanic(ctx, "panic in a call", recover())
		}
		then(out, err)
	}()
	out, err = method(ctx, in, opts...)
	returned = true
}

// logPanic logs what was recovered; nil is a goroutine that ended itself.
func logPanic(ctx context.Context, what string, p any) {
	slog.Default().LogAttrs(ctx, slog.LevelError, what, slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}
