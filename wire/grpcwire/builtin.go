package grpcwire

import (
	"context"
	"log/slog"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalphapb "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// registered reports whether the registry brings the service itself: then it
// takes the place of the built-in one.
func registered(reg *everywire.Registry, service string) bool {
	_, ok := reg.GetServiceInfo()[service]
	return ok
}

// registerHealth adds the health service. The server as a whole ("") and each
// service of the registry are SERVING until the server shuts down.
func registerHealth(cfg *rpc.ServerConfig, s *grpc.Server, h *health.Server, watches context.Context) {
	desc := healthpb.Health_ServiceDesc
	if registered(cfg.Registry, desc.ServiceName) {
		return
	}
	for _, name := range cfg.Registry.Services() {
		h.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	desc.Streams = append([]grpc.StreamDesc(nil), desc.Streams...)
	for i, sd := range desc.Streams {
		desc.Streams[i].Handler = func(srv any, ss grpc.ServerStream) error {
			ctx, cancel := context.WithCancel(ss.Context())
			defer cancel()
			w := &watch{streamWithContext: streamWithContext{ss, ctx}, cancel: cancel}
			defer context.AfterFunc(watches, w.end)()
			return sd.Handler(srv, w)
		}
	}
	registrar{server: s, cfg: cfg}.RegisterService(&desc, h) //nolint:contextcheck // watches outlives this call
}

type streamWithContext struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a stream has its context; gRPC makes it so
}

func (s streamWithContext) Context() context.Context { return s.ctx }

// A watch is a stream of the health service's Watch. It does not end before it has
// told that what it watches is not serving any more.
type watch struct {
	streamWithContext
	cancel context.CancelFunc

	mu     sync.Mutex
	ending bool
	down   bool // said last
}

func (w *watch) SendMsg(m any) error {
	err := w.ServerStream.SendMsg(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	reply, ok := m.(*healthpb.HealthCheckResponse)
	w.down = ok && reply.GetStatus() != healthpb.HealthCheckResponse_SERVING
	if w.ending && w.down {
		w.cancel()
	}
	return err
}

// end is called after the health service has been told that nothing serves.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = true
	if w.down {
		w.cancel()
	}
}

// registerReflection adds server reflection, v1 and v1alpha, for every service
// of s, plain ones too.
func registerReflection(cfg *rpc.ServerConfig, s *grpc.Server) {
	opts := reflection.ServerOptions{
		Services:           s,
		DescriptorResolver: resolvers{descriptors(cfg), protoregistry.GlobalFiles},
	}
	r := registrar{server: s, cfg: cfg}
	if !registered(cfg.Registry, reflectionpb.ServerReflection_ServiceDesc.ServiceName) {
		reflectionpb.RegisterServerReflectionServer(r, reflection.NewServerV1(opts))
	}
	if !registered(cfg.Registry, reflectionalphapb.ServerReflection_ServiceDesc.ServiceName) {
		reflectionalphapb.RegisterServerReflectionServer(r, reflection.NewServer(opts))
	}
}

// descriptors returns those of the registry's services. One that
// protobuf cannot describe, for instance for its name, is callable all the
// same: it is left out, and the log says why.
func descriptors(cfg *rpc.ServerConfig) protodesc.Resolver {
	all := describe.Services(cfg.Registry.Methods(), true)
	if set, err := schema.Files(all...); err == nil {
		return set.Files
	}
	var good []schema.ServiceDesc
	files := new(protoregistry.Files)
	for _, sd := range all {
		set, err := schema.Files(append(good[:len(good):len(good)], sd)...)
		if err != nil {
			cfg.Logger.Warn("gRPC reflection cannot describe a service", slog.String("service", sd.Name), slog.Any("error", err))
			continue
		}
		good, files = append(good, sd), set.Files
	}
	return files
}

// resolvers asks each in turn.
type resolvers []protodesc.Resolver

func (rs resolvers) FindFileByPath(path string) (fd protoreflect.FileDescriptor, err error) {
	for _, r := range rs {
		if fd, err = r.FindFileByPath(path); err == nil {
			return fd, nil
		}
	}
	return nil, err
}

func (rs resolvers) FindDescriptorByName(name protoreflect.FullName) (d protoreflect.Descriptor, err error) {
	for _, r := range rs {
		if d, err = r.FindDescriptorByName(name); err == nil {
			return d, nil
		}
	}
	return nil, err
}
