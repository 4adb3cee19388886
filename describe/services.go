package describe

import (
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// Services turns methods, those of a service one after another, into what
// [schema.Files] makes descriptors of: with their documentation, their
// idempotency and, if routes is set, their HTTP routes as google.api.http.
// Generated services stay as they were generated.
func Services(methods []*everywire.Method, routes bool) []schema.ServiceDesc {
	var all []schema.ServiceDesc
	for _, m := range methods {
		if len(all) == 0 || all[len(all)-1].Name != m.Service {
			all = append(all, schema.ServiceDesc{Name: m.Service})
		}
		sd := &all[len(all)-1]
		if m.Desc != nil {
			sd.Desc = m.Desc.Parent().(protoreflect.ServiceDescriptor)
		}
		sd.Methods = append(sd.Methods, schema.MethodDesc{
			Name:            m.Name,
			Input:           m.Input,
			Output:          m.Output,
			ClientStreaming: m.Kind == everywire.ClientStream || m.Kind == everywire.BidiStream,
			ServerStreaming: m.Kind == everywire.ServerStream || m.Kind == everywire.BidiStream,
			Options:         optionsOf(m, routes),
			Doc:             m.Doc,
		})
	}
	return all
}

// optionsOf says in protobuf's options what a plain method declares.
func optionsOf(m *everywire.Method, routes bool) *descriptorpb.MethodOptions {
	routes = routes && len(m.Routes) > 0
	if m.Idempotency == everywire.IdempotencyUnknown && !routes {
		return nil
	}
	options := new(descriptorpb.MethodOptions)
	if m.Idempotency != everywire.IdempotencyUnknown {
		options.IdempotencyLevel = descriptorpb.MethodOptions_IdempotencyLevel(m.Idempotency).Enum()
	}
	if routes {
		rule := httpRule(m.Routes[0])
		for _, r := range m.Routes[1:] {
			rule.AdditionalBindings = append(rule.AdditionalBindings, httpRule(r))
		}
		proto.SetExtension(options, annotations.E_Http, rule)
	}
	return options
}

// httpRule is a route as google.api.http has it, which has no word for Created.
func httpRule(r everywire.Route) *annotations.HttpRule {
	rule := &annotations.HttpRule{Body: r.Body, ResponseBody: r.ResponseBody}
	switch r.Verb {
	case "GET":
		rule.Pattern = &annotations.HttpRule_Get{Get: r.Pattern}
	case "PUT":
		rule.Pattern = &annotations.HttpRule_Put{Put: r.Pattern}
	case "POST":
		rule.Pattern = &annotations.HttpRule_Post{Post: r.Pattern}
	case "DELETE":
		rule.Pattern = &annotations.HttpRule_Delete{Delete: r.Pattern}
	case "PATCH":
		rule.Pattern = &annotations.HttpRule_Patch{Patch: r.Pattern}
	default:
		rule.Pattern = &annotations.HttpRule_Custom{Custom: &annotations.CustomHttpPattern{Kind: r.Verb, Path: r.Pattern}}
	}
	return rule
}
