package everywire

import (
	"context"
	"fmt"
	"reflect"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/schema"
)

// Handle registers fn as the unary method with the given full name, such as
// "arith.Arith/Sum". In and Out are plain structs whose fields are numbered by
// tags (see docs/spec/types.md), generated messages, or [Document].
//
// It panics on a mistake of the program: a malformed name, a name registered
// twice, a type that has no wire form. The message says which field and why.
func Handle[In, Out any](r *Registry, name string, fn func(context.Context, *In) (*Out, error), opts ...MethodOption) {
	handleUnary(r, newMethod[In, Out](name, Unary, opts), func() any { return new(In) }, func(ctx context.Context, req any) (any, error) {
		out, err := fn(ctx, req.(*In))
		switch {
		case err != nil:
			return nil, err
		case out == nil:
			return nil, status.Errorf(codes.Internal, "the handler of %s returned neither a reply nor an error", name)
		}
		return out, nil
	})
}

// HandleTypes is [Handle] for types that are known only when the program runs,
// such as those of a schema that was inferred. in and out are struct types; fn gets
// a pointer to a new value of in, and returns one to a value of out or an error.
func HandleTypes(r *Registry, name string, in, out reflect.Type, fn func(context.Context, any) (any, error), opts ...MethodOption) {
	handleUnary(r, newMethodOf(name, Unary, in, out, opts), func() any { return reflect.New(in).Interface() }, fn)
}

// handleUnary registers a method whose handler takes what newIn makes.
func handleUnary(r *Registry, m *Method, newIn func() any, handler grpc.UnaryHandler) {
	info := &grpc.UnaryServerInfo{FullMethod: m.Path()}
	m.handler = methodHandler{reg: r, unary: func(_ any, ctx context.Context, dec func(any) error, ic grpc.UnaryServerInterceptor) (any, error) {
		in := newIn()
		if err := dec(in); err != nil {
			return nil, err
		}
		if ic == nil {
			return handler(ctx, in)
		}
		return ic(ctx, in, info, handler)
	}}
	r.add(m.Service, nil, m)
}

// newMethod describes a method on the types In and Out.
func newMethod[In, Out any](name string, kind StreamKind, opts []MethodOption) *Method {
	return newMethodOf(name, kind, reflect.TypeFor[In](), reflect.TypeFor[Out](), opts)
}

func newMethodOf(name string, kind StreamKind, in, out reflect.Type, opts []MethodOption) *Method {
	service, method, err := SplitMethod(name)
	if err != nil {
		panic("everywire: Handle: " + err.Error())
	}
	m := &Method{Service: service, Name: method, Kind: kind}
	if m.Input, err = schema.Of(in); err != nil {
		panic(fmt.Sprintf("everywire: Handle %s: input: %v", name, err))
	}
	if m.Output, err = schema.Of(out); err != nil {
		panic(fmt.Sprintf("everywire: Handle %s: output: %v", name, err))
	}
	for _, o := range opts {
		o(m)
	}
	return m
}
