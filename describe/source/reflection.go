package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
)

// The two versions of the service, whose messages are the same.
var reflectionPaths = []string{
	"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// A Server is one that is asked by its reflection what it has.
type Server struct {
	stream grpc.ClientStream
	files  map[string]*descriptorpb.FileDescriptorProto // what came
	set    *protoregistry.Files                         // what is built
	names  []string
}

// Reflect asks the server at the other end of a connection. ctx is for the Server, too:
// it ends when ctx does.
func Reflect(ctx context.Context, conn grpc.ClientConnInterface) (*Server, error) {
	for i, path := range reflectionPaths {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path)
		if err != nil {
			return nil, refused(err)
		}
		s := &Server{stream: stream, files: map[string]*descriptorpb.FileDescriptorProto{}, set: new(protoregistry.Files)}
		reply, err := s.ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		if status.Code(err) == codes.Unimplemented && i < len(reflectionPaths)-1 {
			continue
		}
		if err != nil {
			return nil, refused(err)
		}
		for _, service := range reply.GetListServicesResponse().GetService() {
			s.names = append(s.names, service.GetName())
		}
		slices.Sort(s.names)
		return s, nil
	}
	panic("the last version returns")
}

// refused tells a status by the name that gRPC's specification gives its code.
func refused(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	text := s.Message()
	if s.Code() == codes.Unimplemented {
		text += ": the server has no reflection"
	}
	return fmt.Errorf("%s: %s", codepb.Code(s.Code()), text) //nolint:gosec // 17 codes
}

// Services are the names of all services, but for those that every gRPC server may
// have, grpc.*.
func (s *Server) Services() []string {
	return slices.DeleteFunc(slices.Clone(s.names), func(name string) bool { return strings.HasPrefix(name, "grpc.") })
}

// Methods are those of [Server.Services].
func (s *Server) Methods() ([]*everywire.Method, error) {
	var methods []*everywire.Method
	for _, name := range s.Services() {
		service, err := s.Service(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		methods = append(methods, everywire.MethodsOf(service)...)
	}
	return methods, nil
}

// Service returns a service by its name.
func (s *Server) Service(name string) (protoreflect.ServiceDescriptor, error) {
	reply, err := s.ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	})
	if err != nil {
		return nil, refused(err)
	}
	for _, text := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, f); err != nil {
			return nil, err
		}
		if err := s.build(f.GetName(), nil); err != nil {
			return nil, err
		}
	}
	d, err := s.set.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	service, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("the server lists %s as a service, which it is not", name)
	}
	return service, nil
}

func (s *Server) ask(request *reflectionpb.ServerReflectionRequest) (*reflectionpb.ServerReflectionResponse, error) {
	reply := new(reflectionpb.ServerReflectionResponse)
	if err := s.stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) { // of which RecvMsg knows the reason
		return nil, err
	}
	if err := s.stream.RecvMsg(reply); err != nil {
		return nil, err
	}
	if e := reply.GetErrorResponse(); e != nil {
		return nil, fmt.Errorf("the server's reflection says: %s", e.GetErrorMessage())
	}
	for _, text := range reply.GetFileDescriptorResponse().GetFileDescriptorProto() {
		f := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, f); err != nil {
			return nil, fmt.Errorf("the server's reflection sent what is no file: %w", err)
		}
		s.files[f.GetName()] = f
	}
	return reply, nil
}

// build builds a file behind those that it imports, which it asks for where
// they have not come with it.
func (s *Server) build(path string, via []string) error {
	if _, err := s.set.FindFileByPath(path); err == nil {
		return nil
	}
	if slices.Contains(via, path) {
		return fmt.Errorf("the files %s import each other", strings.Join(append(via, path), ", "))
	}
	f := s.files[path]
	if f == nil {
		_, err := s.ask(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: path},
		})
		if err != nil {
			return refused(err)
		}
		if f = s.files[path]; f == nil {
			return fmt.Errorf("the server's reflection does not have %s", path)
		}
	}
	for _, dependency := range f.GetDependency() {
		if err := s.build(dependency, append(via, path)); err != nil {
			return err
		}
	}
	made, err := protodesc.NewFile(f, s.set)
	if err != nil {
		return err
	}
	return s.set.RegisterFile(made)
}
