package everywire

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type ranError bool

func (e ranError) Error() string    { return strconv.FormatBool(bool(e)) }
func (e ranError) MayHaveRun() bool { return bool(e) }

var errRefused = status.Error(codes.ResourceExhausted, "too many")

func TestMayHaveRun(t *testing.T) {
	other, err := status.New(codes.Unavailable, "x").WithDetails(
		&errdetails.ErrorInfo{Reason: markReason, Domain: "elsewhere.example"}, &errdetails.RetryInfo{})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":                         {nil, true},
		"a status":                     {errRefused, true},
		"no status":                    {errors.New("x"), true},
		"marked":                       {NotRun(errRefused), false},
		"marked twice":                 {NotRun(NotRun(errRefused)), false},
		"marked and wrapped":           {fmt.Errorf("x: %w", NotRun(errRefused)), false},
		"other details":                {other.Err(), true},
		"marked beside other details":  {NotRun(other.Err()), false},
		"an error that knows":          {ranError(false), false},
		"an error that knows, wrapped": {fmt.Errorf("x: %w", ranError(false)), false},
		"an outer error knows better":  {errors.Join(ranError(true), NotRun(errRefused)), true},
		"no status cannot be marked":   {NotRun(errors.New("x")), true},
	} {
		if got := MayHaveRun(test.err); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if bare, marked := WithoutMark(status.Convert(NotRun(other.Err()))); !marked || len(bare.Details()) != 2 || bare.Message() != "x" {
		t.Errorf("without the mark: %v, %v", bare, marked)
	}
}

// What a handler returns says nothing about itself; what refuses a call before
// its handler may say so.
func TestMarksOfHandlers(t *testing.T) {
	unary := func(refuse bool) grpc.UnaryServerInterceptor {
		return func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if refuse {
				return nil, NotRun(errRefused)
			}
			return next(ctx, in)
		}
	}
	stream := func(refuse bool) grpc.StreamServerInterceptor {
		return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if refuse {
				return NotRun(errRefused)
			}
			return next(srv, ss)
		}
	}
	late := func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		_, _ = next(ctx, in)
		return nil, NotRun(errRefused)
	}
	for name, test := range map[string]struct {
		opts []RegistryOption
		want bool
	}{
		"no interceptor":                      {nil, true},
		"an interceptor that passes it on":    {[]RegistryOption{ChainUnary(unary(false)), ChainStream(stream(false))}, true},
		"an interceptor that refuses":         {[]RegistryOption{ChainUnary(unary(true)), ChainStream(stream(true))}, false},
		"the inner of two refuses":            {[]RegistryOption{ChainUnary(unary(false), unary(true)), ChainStream(stream(false), stream(true))}, false},
		"an interceptor refuses what has run": {[]RegistryOption{ChainUnary(late), ChainStream(stream(false))}, true},
	} {
		reg := NewRegistry(test.opts...)
		Handle(reg, "s.S/Fail", func(context.Context, *req) (*rep, error) { return nil, NotRun(errRefused) })
		HandleServerStream(reg, "s.S/Stream", func(*req, grpc.ServerStreamingServer[rep]) error { return NotRun(errRefused) })
		m, _ := reg.Lookup("/s.S/Fail")
		_, err := m.Unary(t.Context(), func(any) error { return nil })
		if MayHaveRun(err) != test.want || status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s: %v, may have run: %v", name, err, MayHaveRun(err))
		}
		m, _ = reg.Lookup("/s.S/Stream")
		err = m.Stream(oneRequest{ctx: t.Context()})
		if MayHaveRun(err) != test.want || status.Code(err) != codes.ResourceExhausted {
			t.Errorf("%s, a stream: %v, may have run: %v", name, err, MayHaveRun(err))
		}
	}
}

type oneRequest struct {
	grpc.ServerStream
	ctx context.Context
}

func (s oneRequest) Context() context.Context { return s.ctx }
func (oneRequest) RecvMsg(any) error          { return nil }

func TestIdempotencyOf(t *testing.T) {
	reg := NewRegistry()
	Handle(reg, "s.S/Get", func(context.Context, *req) (*rep, error) { return nil, nil }, WithIdempotency(NoSideEffects))
	Handle(reg, "s.S/Add", func(context.Context, *req) (*rep, error) { return nil, nil })
	for path, want := range map[string]Idempotency{
		"/s.S/Get":                      NoSideEffects,
		"/s.S/Add":                      IdempotencyUnknown,
		"/s.S/Nil":                      IdempotencyUnknown,
		"":                              IdempotencyUnknown,
		"/":                             IdempotencyUnknown,
		"/grpc.health.v1.Health/Check":  IdempotencyUnknown, // its descriptor says nothing
		"/google.protobuf.Any/type_url": IdempotencyUnknown, // no method
	} {
		if got := IdempotencyOf(reg, path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	if NoSideEffects.MayRepeat() == IdempotencyUnknown.MayRepeat() || !Idempotent.MayRepeat() {
		t.Error("the levels do not say who may repeat")
	}
}
