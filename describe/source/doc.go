// Package source reads methods from where others keep them: .proto files, sets of
// descriptors (google.protobuf.FileDescriptorSet), and gRPC servers by their
// reflection (grpc.reflection.v1, and v1alpha of older ones; see
// https://github.com/grpc/grpc/blob/master/doc/server-reflection.md). What it
// returns has descriptors: documents can be made of it, and it can be called with
// dynamic messages.
package source

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
)

// A Mistake is that of who named the source: what is there is no such thing.
type Mistake struct{ Text string }

func (m *Mistake) Error() string { return m.Text }

func mistake(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }

func methodsOf(files []protoreflect.FileDescriptor) ([]*everywire.Method, error) {
	var methods []*everywire.Method
	for _, f := range files {
		for i := range f.Services().Len() {
			methods = append(methods, everywire.MethodsOf(f.Services().Get(i))...)
		}
	}
	if len(methods) == 0 {
		return nil, mistake("it has no services")
	}
	return methods, nil
}
