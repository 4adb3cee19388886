package everywire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type req struct {
	N int64 `wire:"1"`
}

type rep struct {
	N int64 `wire:"1"`
}

func decodeInto(n int64) func(any) error {
	return func(v any) error { v.(*req).N = n; return nil }
}

// record returns an interceptor that logs its name before and after.
func record(log *[]string, name string) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		*log = append(*log, name+">"+info.FullMethod)
		defer func() { *log = append(*log, "<"+name) }()
		return h(ctx, r)
	}
}

func TestChainRunsOnceInOrder(t *testing.T) {
	var log []string
	reg := NewRegistry(ChainUnary(record(&log, "a"), record(&log, "b")))
	Handle(reg, "s.S/M", func(_ context.Context, in *req) (*rep, error) {
		log = append(log, "handler")
		return &rep{N: in.N + 1}, nil
	})
	m, _ := reg.Lookup("/s.S/M")
	out, err := m.Unary(t.Context(), decodeInto(1))
	if err != nil || out.(*rep).N != 2 {
		t.Fatalf("got %v, %v", out, err)
	}
	if got, want := strings.Join(log, " "), "a>/s.S/M b>/s.S/M handler <b <a"; got != want {
		t.Errorf("the chain ran %q, want %q", got, want)
	}

	// Mounted on a server with an interceptor of its own: that one is outermost.
	log = nil
	var desc grpc.ServiceDesc
	reg.RegisterTo(registrarFunc(func(d *grpc.ServiceDesc, _ any) { desc = *d }))
	if _, err := desc.Methods[0].Handler(nil, t.Context(), decodeInto(1), record(&log, "outer")); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(log, " "), "outer>/s.S/M a>/s.S/M b>/s.S/M handler <b <a <outer"; got != want {
		t.Errorf("mounted, the chain ran %q, want %q", got, want)
	}
}

type registrarFunc func(*grpc.ServiceDesc, any)

func (f registrarFunc) RegisterService(d *grpc.ServiceDesc, impl any) { f(d, impl) }

func TestPanicIsInternalAndLogged(t *testing.T) {
	var logged strings.Builder
	reg := NewRegistry(WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	Handle(reg, "s.S/M", func(context.Context, *req) (*rep, error) { panic("secret") })
	m, _ := reg.Lookup("/s.S/M")
	_, err := m.Unary(t.Context(), decodeInto(1))
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
		t.Errorf("a panic gave %v", err)
	}
	if !strings.Contains(logged.String(), "secret") || !strings.Contains(logged.String(), "s.S/M") {
		t.Errorf("the log does not tell the panic: %s", logged.String())
	}
}

func TestNilReplyIsInternal(t *testing.T) {
	reg := NewRegistry()
	Handle(reg, "s.S/M", func(context.Context, *req) (*rep, error) { return nil, nil })
	m, _ := reg.Lookup("/s.S/M")
	if _, err := m.Unary(t.Context(), decodeInto(1)); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
}

func TestMaxCallTime(t *testing.T) {
	for name, c := range map[string]struct {
		opt  []RegistryOption
		want time.Duration
	}{
		"default": {nil, DefaultMaxCallTime},
		"shorter": {[]RegistryOption{MaxCallTime(time.Minute)}, time.Minute},
		"none":    {[]RegistryOption{MaxCallTime(-1)}, 0},
	} {
		reg := NewRegistry(c.opt...)
		var left time.Duration
		Handle(reg, "s.S/M", func(ctx context.Context, _ *req) (*rep, error) {
			if d, ok := ctx.Deadline(); ok {
				left = time.Until(d)
			}
			return &rep{}, nil
		})
		m, _ := reg.Lookup("/s.S/M")
		if _, err := m.Unary(t.Context(), decodeInto(1)); err != nil {
			t.Fatal(err)
		}
		if left > c.want || left < c.want-time.Minute/2 {
			t.Errorf("%s: the handler has %v, want about %v", name, left, c.want)
		}
	}
}

func TestRegistrationMistakesPanic(t *testing.T) {
	type untagged struct{ N int }
	mistakes := map[string]struct {
		want string
		do   func(*Registry)
	}{
		"malformed name": {"not of the form", func(r *Registry) { Handle(r, "Sum", func(context.Context, *req) (*rep, error) { return nil, nil }) }},
		"twice": {"registered twice", func(r *Registry) {
			for range 2 {
				Handle(r, "s.S/M", func(context.Context, *req) (*rep, error) { return nil, nil })
			}
		}},
		"untagged input": {"input: schema: everywire.untagged.N: has no number", func(r *Registry) {
			Handle(r, "s.S/M", func(context.Context, *untagged) (*rep, error) { return nil, nil })
		}},
		"untagged output": {"output: schema: everywire.untagged.N: has no number", func(r *Registry) {
			Handle(r, "s.S/M", func(context.Context, *req) (*untagged, error) { return nil, nil })
		}},
		"wrong implementation": {"does not implement", func(r *Registry) {
			r.RegisterService(&grpc_health_v1.Health_ServiceDesc, struct{}{})
		}},
	}
	for name, m := range mistakes {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.Contains(p, m.want) {
					t.Errorf("%s: panicked with %q, want %q in it", name, p, m.want)
				}
			}()
			m.do(NewRegistry())
		}()
	}
}

// A registration that panics leaves nothing of itself behind.
func TestFailedRegistrationLeavesNothing(t *testing.T) {
	desc := func(names ...string) *grpc.ServiceDesc {
		d := &grpc.ServiceDesc{ServiceName: "s.S"}
		for _, name := range names {
			d.Methods = append(d.Methods, grpc.MethodDesc{MethodName: name})
		}
		return d
	}
	for _, second := range []*grpc.ServiceDesc{desc("B", "A"), desc("B", "B")} {
		reg := NewRegistry()
		reg.RegisterService(desc("A"), nil)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a method is registered twice")
				}
			}()
			reg.RegisterService(second, nil)
		}()
		if _, ok := reg.Lookup("/s.S/B"); ok || len(reg.Methods()) != 1 {
			t.Errorf("B was registered: %v, and there are %d methods", ok, len(reg.Methods()))
		}
	}
}

type healthServer struct {
	grpc_health_v1.UnimplementedHealthServer
}

func TestGeneratedServiceIsDescribed(t *testing.T) {
	reg := NewRegistry()
	grpc_health_v1.RegisterHealthServer(reg, healthServer{})
	check, ok := reg.Lookup("/grpc.health.v1.Health/Check")
	if !ok || check.Kind != Unary || check.Desc == nil {
		t.Fatalf("Check is %+v", check)
	}
	if check.Input == nil || check.Input.Name != "grpc.health.v1.HealthCheckRequest" || check.Output.Desc == nil {
		t.Errorf("Check's messages are %v and %v", check.Input, check.Output)
	}
	watch, _ := reg.Lookup("/grpc.health.v1.Health/Watch")
	if watch.Kind != ServerStream {
		t.Errorf("Watch is %v", watch.Kind)
	}
	if _, err := watch.Unary(t.Context(), nil); status.Code(err) != codes.Unimplemented {
		t.Errorf("Watch called as unary: %v", err)
	}
	if err := check.Stream(fakeStream{t.Context()}); status.Code(err) != codes.Unimplemented {
		t.Errorf("Check called as a stream: %v", err)
	}
	info := reg.GetServiceInfo()["grpc.health.v1.Health"]
	if info.Metadata != "grpc/health/v1/health.proto" || len(info.Methods) != 3 {
		t.Errorf("service info: %+v", info)
	}
}

// fakeStream is a grpc.ServerStream that nobody listens to.
type fakeStream struct{ ctx context.Context }

func (s fakeStream) Context() context.Context   { return s.ctx }
func (fakeStream) SendMsg(any) error            { return io.EOF }
func (fakeStream) RecvMsg(any) error            { return io.EOF }
func (fakeStream) SetHeader(metadata.MD) error  { return nil }
func (fakeStream) SendHeader(metadata.MD) error { return nil }
func (fakeStream) SetTrailer(metadata.MD)       {}

func TestStreamChainAndPanic(t *testing.T) {
	var log []string
	reg := NewRegistry(
		WithLogger(slog.New(slog.DiscardHandler)),
		ChainStream(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			log = append(log, info.FullMethod)
			return h(srv, ss)
		}))
	reg.RegisterService(&grpc.ServiceDesc{ServiceName: "s.S", Streams: []grpc.StreamDesc{{
		StreamName: "Watch", ServerStreams: true,
		Handler: func(any, grpc.ServerStream) error { panic("boom") },
	}}}, nil)
	m, _ := reg.Lookup("/s.S/Watch")
	err := m.Stream(fakeStream{t.Context()})
	if status.Code(err) != codes.Internal || len(log) != 1 || log[0] != "/s.S/Watch" {
		t.Errorf("got %v, chain %v", err, log)
	}
}

func TestHandWrittenServiceDesc(t *testing.T) {
	reg := NewRegistry()
	reg.RegisterService(&grpc.ServiceDesc{ServiceName: "hand.Written", Methods: []grpc.MethodDesc{{
		MethodName: "Do",
		Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(req)
			if err := dec(in); err != nil {
				return nil, err
			}
			return &rep{N: 2 * in.N}, nil
		},
	}}}, nil)
	m, _ := reg.Lookup("/hand.Written/Do")
	if m.Input != nil {
		t.Errorf("the input's type is known: %v", m.Input.Name)
	}
	out, err := m.Unary(t.Context(), decodeInto(21))
	if err != nil || out.(*rep).N != 42 {
		t.Errorf("got %v, %v", out, err)
	}
	want := errors.New("cannot decode")
	if _, err := m.Unary(t.Context(), func(any) error { return want }); !errors.Is(err, want) {
		t.Errorf("a decoding error came out as %v", err)
	}
}
