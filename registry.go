package everywire

import (
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/everywire/everywire/schema"
)

// A Registry holds the methods that a server serves. It is a
// grpc.ServiceRegistrar, so generated Register functions take it. It is safe
// for concurrent use; methods registered after a gRPC server started are not
// seen by that server, as in grpc-go.
type Registry struct {
	chainUnary  []grpc.UnaryServerInterceptor
	chainStream []grpc.StreamServerInterceptor
	logger      *slog.Logger
	maxCallTime time.Duration
	// maxStreamTime is 0 or less if there is no bound.
	maxStreamTime time.Duration

	mu       sync.RWMutex
	methods  map[string]*Method // by path: "/arith.Arith/Sum"
	services map[string]*serviceEntry
}

type serviceEntry struct {
	metadata any // of the grpc.ServiceDesc: the .proto file's name
	methods  []*Method
}

// DefaultMaxCallTime bounds every unary call at the server unless
// [MaxCallTime] says otherwise.
const DefaultMaxCallTime = 10 * time.Minute

// A RegistryOption sets up a [Registry].
type RegistryOption func(*Registry)

// ChainUnary adds interceptors around unary methods; the first is outermost.
// They run once, inside the method's handler, so they hold on every wire and
// also when the registry is mounted on a *grpc.Server by [Registry.RegisterTo].
func ChainUnary(interceptors ...grpc.UnaryServerInterceptor) RegistryOption {
	return func(r *Registry) { r.chainUnary = append(r.chainUnary, interceptors...) }
}

// ChainStream adds interceptors around streaming methods, as [ChainUnary] does
// around unary ones.
func ChainStream(interceptors ...grpc.StreamServerInterceptor) RegistryOption {
	return func(r *Registry) { r.chainStream = append(r.chainStream, interceptors...) }
}

// WithLogger sets where panics in handlers are logged. The default is
// slog.Default().
func WithLogger(l *slog.Logger) RegistryOption {
	return func(r *Registry) { r.logger = l }
}

// MaxCallTime clamps the deadline of unary calls at the server: a handler's
// context never ends later than d after the call came in, whatever the client
// asked for. The default is [DefaultMaxCallTime]; a d of 0 or less removes the
// bound. Streams have [MaxStreamTime].
func MaxCallTime(d time.Duration) RegistryOption {
	return func(r *Registry) { r.maxCallTime = d }
}

// MaxStreamTime clamps the deadline of streams at the server, as [MaxCallTime] does
// that of unary calls. By default they have no bound: many are meant to stay open.
func MaxStreamTime(d time.Duration) RegistryOption {
	return func(r *Registry) { r.maxStreamTime = d }
}

// NewRegistry returns an empty registry.
func NewRegistry(opts ...RegistryOption) *Registry {
	r := &Registry{
		maxCallTime: DefaultMaxCallTime,
		methods:     map[string]*Method{},
		services:    map[string]*serviceEntry{},
	}
	for _, o := range opts {
		o(r)
	}
	if r.logger == nil {
		r.logger = slog.Default()
	}
	return r
}

// RegisterService adds a generated or hand-written service. It panics on a
// mistake of the program, as http.ServeMux does: a method registered twice, or
// an implementation that lacks methods. Nothing of the service is added then.
//
// Messages, routes and idempotency are known if the service's .proto file is
// in the protobuf registry, as that of every linked-in generated service is.
func (r *Registry) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if impl != nil && desc.HandlerType != nil {
		want := reflect.TypeOf(desc.HandlerType).Elem()
		if got := reflect.TypeOf(impl); !got.Implements(want) {
			panic(fmt.Sprintf("everywire: %s: %v does not implement %v", desc.ServiceName, got, want))
		}
	}
	var sd protoreflect.ServiceDescriptor
	if d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(desc.ServiceName)); err == nil {
		sd, _ = d.(protoreflect.ServiceDescriptor)
	}
	var methods []*Method
	for _, md := range desc.Methods {
		m := &Method{Service: desc.ServiceName, Name: md.MethodName}
		m.handler = methodHandler{reg: r, impl: impl, unary: md.Handler}
		methods = append(methods, m)
	}
	for _, d := range desc.Streams {
		m := &Method{Service: desc.ServiceName, Name: d.StreamName, Kind: kindOf(d.ClientStreams, d.ServerStreams)}
		m.handler = methodHandler{reg: r, impl: impl, stream: d.Handler}
		methods = append(methods, m)
	}
	for _, m := range methods {
		if sd == nil {
			continue
		}
		if d := sd.Methods().ByName(protoreflect.Name(m.Name)); d != nil {
			m.describe(d)
			m.Input, m.Output = generated(d.Input()), generated(d.Output())
		}
	}
	r.add(desc.ServiceName, desc.Metadata, methods...)
}

func kindOf(client, server bool) StreamKind {
	switch {
	case client && server:
		return BidiStream
	case client:
		return ClientStream
	default:
		return ServerStream
	}
}

// generated finds the Go type that was generated for a message.
func generated(d protoreflect.MessageDescriptor) *schema.Message {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil
	}
	m, err := schema.For(mt.Zero().Interface())
	if err != nil {
		return nil
	}
	return m
}

func (r *Registry) add(service string, metadata any, methods ...*Method) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := map[string]*Method{} // all or, on a panic, none
	for _, m := range methods {
		m.path = m.Path()
		if r.methods[m.path] != nil || added[m.path] != nil {
			panic(fmt.Sprintf("everywire: method %s is registered twice", m.FullName()))
		}
		added[m.path] = m
	}
	maps.Copy(r.methods, added)
	s := r.services[service]
	if s == nil {
		s = &serviceEntry{metadata: metadata}
		r.services[service] = s
	}
	s.methods = append(s.methods, methods...)
}

// Lookup finds a method by its path "/arith.Arith/Sum", with the leading slash.
func (r *Registry) Lookup(path string) (*Method, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	m, ok := r.methods[path]
	return m, ok
}

// Services returns the names of the registered services, sorted.
func (r *Registry) Services() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.services))
}

// Methods returns all methods, sorted by service, in order of registration
// within one.
func (r *Registry) Methods() []*Method {
	var all []*Method
	for _, s := range r.Services() {
		r.mu.RLock()
		all = append(all, r.services[s].methods...)
		r.mu.RUnlock()
	}
	return all
}

// GetServiceInfo describes the services as grpc.Server does; gRPC reflection
// reads it.
func (r *Registry) GetServiceInfo() map[string]grpc.ServiceInfo {
	r.mu.RLock()
	defer r.mu.RUnlock()
	infos := map[string]grpc.ServiceInfo{}
	for name, s := range r.services {
		info := grpc.ServiceInfo{Metadata: s.metadata}
		for _, m := range s.methods {
			info.Methods = append(info.Methods, grpc.MethodInfo{
				Name:           m.Name,
				IsClientStream: m.Kind == ClientStream || m.Kind == BidiStream,
				IsServerStream: m.Kind == ServerStream || m.Kind == BidiStream,
			})
		}
		infos[name] = info
	}
	return infos
}

// RegisterTo registers every service with s, such as a *grpc.Server of the
// caller's own. Plain-struct methods need a codec that knows them there: the
// grpc wire brings one.
func (r *Registry) RegisterTo(s grpc.ServiceRegistrar) {
	for _, name := range r.Services() {
		r.mu.RLock()
		entry := r.services[name]
		desc := &grpc.ServiceDesc{ServiceName: name, Metadata: entry.metadata}
		for _, m := range entry.methods {
			if m.Kind == Unary {
				desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: m.Name, Handler: m.grpcUnary})
				continue
			}
			desc.Streams = append(desc.Streams, grpc.StreamDesc{
				StreamName:    m.Name,
				Handler:       m.grpcStream,
				ClientStreams: m.Kind != ServerStream,
				ServerStreams: m.Kind != ClientStream,
			})
		}
		r.mu.RUnlock()
		s.RegisterService(desc, nil)
	}
}
