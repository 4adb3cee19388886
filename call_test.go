package everywire

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// connFunc is a connection that answers unary calls by a function.
type connFunc func(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error

func (f connFunc) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return f(ctx, method, args, reply, opts...)
}

func (connFunc) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

func double(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	if method != "/s.S/Double" {
		return status.Errorf(codes.Unimplemented, "no %s", method)
	}
	reply.(*rep).N = 2 * args.(*req).N
	return ctx.Err()
}

func TestCall(t *testing.T) {
	for _, name := range []string{"s.S/Double", "/s.S/Double"} {
		out, err := Call[rep](t.Context(), connFunc(double), name, &req{N: 21})
		if err != nil || out.N != 42 {
			t.Errorf("%s: got %v, %v", name, out, err)
		}
	}
	for _, name := range []string{"", "Double", "s.S/", "/s.S/a/b"} {
		if _, err := Call[rep](t.Context(), connFunc(double), name, &req{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := connFunc(func(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
			select {
			case <-time.After(time.Second):
				return double(ctx, method, args, reply, opts...)
			case <-ctx.Done():
				return status.FromContextError(ctx.Err()).Err()
			}
		})
		f := Start[rep](t.Context(), slow, "s.S/Double", &req{N: 1})
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := f.Wait(short); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("a short wait: %v", err)
		}
		select {
		case <-f.Done():
			t.Error("the call is done before its time")
		default:
		}
		for range 2 { // the result stays
			if out, err := f.Wait(t.Context()); err != nil || out.N != 2 {
				t.Errorf("got %v, %v", out, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		f = Start[rep](ctx, slow, "s.S/Double", &req{N: 1})
		cancel()
		if _, err := f.Wait(t.Context()); status.Code(err) != codes.Canceled {
			t.Errorf("a cancelled call: %v", err)
		}
	})
}

func TestNotify(t *testing.T) {
	var oneWay bool
	conn := connFunc(func(_ context.Context, _ string, _, reply any, opts ...grpc.CallOption) error {
		for _, o := range opts {
			_, ok := o.(OneWayCallOption)
			oneWay = oneWay || ok
		}
		if reply != nil {
			t.Errorf("a one-way call has room for a reply: %v", reply)
		}
		return nil
	})
	opts := make([]grpc.CallOption, 1, 4)
	opts[0] = grpc.StaticMethod()
	if err := Notify(t.Context(), conn, "s.S/Double", &req{}, opts...); err != nil || !oneWay {
		t.Errorf("got %v, one-way %v", err, oneWay)
	}
	if opts[:2][1] != nil {
		t.Error("Notify wrote into its caller's options")
	}
	foreign, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if err := Notify(t.Context(), foreign, "s.S/Double", &req{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a one-way call over plain gRPC: %v", err)
	}
}
