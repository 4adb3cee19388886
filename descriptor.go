package everywire

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
)

// MethodsOf describes the methods of a service by its descriptor alone, such as
// one that was read from a file. Documents can be made of them; they cannot be
// called, and [schema.Message.New] has no type to make.
func MethodsOf(service protoreflect.ServiceDescriptor) []*Method {
	all := make([]*Method, service.Methods().Len())
	for i := range all {
		d := service.Methods().Get(i)
		m := &Method{
			Service: string(service.FullName()), Name: string(d.Name()),
			Input:  &schema.Message{Name: d.Input().FullName(), Desc: d.Input(), Unknown: -1},
			Output: &schema.Message{Name: d.Output().FullName(), Desc: d.Output(), Unknown: -1},
		}
		if d.IsStreamingClient() || d.IsStreamingServer() {
			m.Kind = kindOf(d.IsStreamingClient(), d.IsStreamingServer())
		}
		m.describe(d)
		all[i] = m
	}
	return all
}
