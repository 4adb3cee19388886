package flogo

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// method finds a method of a .proto file, and declares it with its messages.
func (r *reader) method(proto, service, method *node) (string, protoreflect.MethodDescriptor) {
	file, ok := r.constText(proto)
	if !ok {
		return "", nil
	}
	file = strings.TrimSuffix(file, ".proto")
	services, known := r.protos[file]
	if !known {
		var err error
		if r.options.Proto == nil {
			err = fmt.Errorf("there is nobody to read %s.proto", file)
		} else {
			services, err = r.options.Proto(file)
		}
		if err != nil {
			r.bad(proto.at, "the types of the service are needed: %v", err)
		}
		r.protos[file] = services
	}
	name, ok := r.constText(service)
	if !ok || services == nil {
		return "", nil
	}
	i := slices.IndexFunc(services, func(s protoreflect.ServiceDescriptor) bool {
		return string(s.Name()) == name || string(s.FullName()) == name
	})
	if i < 0 {
		e := r.bad(service.at, "%s.proto has no service %s", file, shown(name))
		for _, s := range services {
			e.Allowed = append(e.Allowed, string(s.Name()))
		}
		return "", nil
	}
	call, ok := r.constText(method)
	if !ok {
		return "", nil
	}
	m := services[i].Methods().ByName(protoreflect.Name(call))
	switch {
	case m == nil:
		e := r.bad(method.at, "the service %s has no method %s", name, shown(call))
		for i := range services[i].Methods().Len() {
			e.Allowed = append(e.Allowed, string(services[i].Methods().Get(i).Name()))
		}
		return "", nil
	case m.IsStreamingClient() || m.IsStreamingServer():
		r.bad(method.at, "%s is a stream: flows have calls with one request and one reply", shown(call))
		return "", nil
	}
	full := string(m.Parent().FullName()) + "/" + string(m.Name())
	if !r.declared[full] {
		r.declared[full] = true
		def := obj(method.at)
		for _, part := range []struct {
			key string
			msg protoreflect.MessageDescriptor
		}{{"request", m.Input()}, {"reply", m.Output()}} {
			if part.msg.FullName() != "google.protobuf.Value" {
				def.put(part.key, method.at, say(method.at, r.protoMessage(part.msg, method.at)))
			}
		}
		r.methods.put(full, method.at, def)
	}
	return full, m
}

// scalars are the types of fields that flows have.
var scalars = map[protoreflect.Kind]string{
	protoreflect.BoolKind: "bool", protoreflect.Int32Kind: "int32", protoreflect.Int64Kind: "int64", protoreflect.Uint32Kind: "uint32", protoreflect.Uint64Kind: "uint64",
	protoreflect.FloatKind: "float", protoreflect.DoubleKind: "double", protoreflect.StringKind: "string", protoreflect.BytesKind: "bytes",
}

// wellKnown are messages that flows have as single values.
var wellKnown = map[protoreflect.FullName]string{
	"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "google.protobuf.Value": "any",
}

// protoMessage declares a message and those in it, and returns its name.
func (r *reader) protoMessage(m protoreflect.MessageDescriptor, at int) string {
	name := string(m.FullName())
	if r.declared[name] {
		return name
	}
	r.declared[name] = true
	fields := obj(at)
	r.messages.put(name, at, fields)
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		of, label := f, ""
		switch {
		case f.IsMap():
			of = f.MapValue()
			if f.MapKey().Kind() != protoreflect.StringKind {
				r.bad(at, "%s: a map whose keys are no texts is not read", f.FullName())
				continue
			}
		case f.IsList():
			label = "repeated "
		case f.HasOptionalKeyword():
			label = "optional "
		case f.ContainingOneof() != nil:
			r.bad(at, "%s is in a oneof, which flows do not have", f.FullName())
			continue
		}
		word := scalars[of.Kind()]
		if of.Kind() == protoreflect.MessageKind {
			if word = wellKnown[of.Message().FullName()]; word == "" {
				word = r.protoMessage(of.Message(), at)
			}
		}
		if word == "" {
			r.bad(at, "%s: a field of the type %v is not read", f.FullName(), of.Kind())
			continue
		}
		if f.IsMap() {
			word = "map<string, " + word + ">"
		}
		fields.put(string(f.Name()), at, say(at, label+word+" = "+strconv.Itoa(int(f.Number()))))
	}
	return name
}

// grpc makes a trigger that serves a method of a .proto file.
func (h *handler) grpc() *made {
	r, settings := h.r, h.trigger.get("settings")
	if settings == nil || !r.fields(settings, "a gRPC trigger", []string{"port", "protoName", "serviceName", "enableTLS", "serverCert", "serverKey"}, []string{"protoFile"}) {
		r.bad(h.trigger.at, "a gRPC trigger needs settings")
		return nil
	}
	r.fields(h.settings, "a handler of a gRPC trigger", []string{"methodName", "serviceName"}, []string{"autoIdReply", "useReplyHandler"})
	service := h.settings.get("serviceName")
	if service == nil {
		service = settings.get("serviceName")
	}
	parts := map[string]*node{"protoName": settings.get("protoName"), "serviceName": service, "methodName": h.settings.get("methodName")}
	if !r.all(parts, h.n.at) {
		return nil
	}
	method, m := r.method(parts["protoName"], parts["serviceName"], parts["methodName"])
	if m == nil {
		return nil
	}
	with := h.with(func(ref ref) (term, *problem) {
		if ref.resolver != "" {
			return r.common(ref, "$.content.…", "$.params.…")
		}
		if len(ref.path) == 0 || ref.path[0].name != "content" && ref.path[0].name != "params" {
			err := wrong(ref.at, "of what a gRPC trigger gives, this is not read")
			err.allowed = []string{"content", "params"}
			return term{}, err
		}
		return requestOf(m.Input(), ref.path[1:])
	})
	h.starts(&reply{out: h.action.get("output")})
	return obj(h.n.at).put("on", h.n.at, h.on("grpc", "serverCert", "serverKey")).put("method", parts["methodName"].at, say(parts["methodName"].at, method)).
		put("flow", h.action.at, h.flowName()).put("with", h.action.at, with)
}

// all notes which of some settings are missing.
func (r *reader) all(parts map[string]*node, at int) bool {
	good := true
	for _, key := range []string{"protoName", "serviceName", "methodName", "hosturl"} {
		if v, asked := parts[key]; asked && (v == nil || empty(v)) {
			r.bad(at, "%q is missing", key)
			good = false
		}
	}
	return good
}

// requestOf is a path into a request. Generated Go names of fields are understood too.
func requestOf(m protoreflect.MessageDescriptor, path []segment) (term, *problem) {
	text, t := "trigger.request", anyType
	for i, s := range path {
		var f protoreflect.FieldDescriptor
		for j := range m.Fields().Len() {
			c := m.Fields().Get(j)
			if string(c.Name()) == s.name || c.JSONName() == s.name || camel(string(c.Name())) == s.name {
				f = c
				break
			}
		}
		if f == nil {
			err := wrong(s.at, "%s has no field %s", m.FullName(), shown(s.name))
			for j := range m.Fields().Len() {
				err.allowed = append(err.allowed, string(m.Fields().Get(j).Name()))
			}
			return term{}, err
		}
		text += "." + string(f.Name())
		if f.IsList() || f.IsMap() || f.Message() == nil || wellKnown[f.Message().FullName()] != "" {
			if i == len(path)-1 && !f.IsList() && !f.IsMap() {
				t = kindTypes[f.Kind()]
			}
			out := atom(text+pathText(path[i+1:]), t)
			out.sure = t != anyType && !f.HasOptionalKeyword()
			return out, nil
		}
		m = f.Message()
	}
	return atom(text, anyType), nil
}

var kindTypes = map[protoreflect.Kind]typ{
	protoreflect.BoolKind: boolType, protoreflect.Int32Kind: intType, protoreflect.Int64Kind: intType, protoreflect.Uint32Kind: intType, protoreflect.Uint64Kind: intType,
	protoreflect.FloatKind: floatType, protoreflect.DoubleKind: floatType, protoreflect.StringKind: stringType,
}

// grpc makes an invoke of a gRPC activity.
func (s *flowScope) grpc(t *task, settings, in *node) *made {
	r := s.r
	r.fields(settings, "a gRPC activity", []string{"operatingMode", "hosturl", "enableTLS", "clientCert"}, nil)
	r.fields(in, "a gRPC activity", []string{"protoName", "serviceName", "methodName", "content", "params", "queryParams", "pathParams", "grpcMthdParamtrs", "header"}, nil)
	parts := map[string]*node{
		"protoName": in.get("protoName"), "serviceName": in.get("serviceName"), "methodName": in.get("methodName"), "hosturl": settings.get("hosturl"),
	}
	if !r.all(parts, t.activity.at) {
		return nil
	}
	host, ok := r.constText(parts["hosturl"])
	if !ok {
		return nil
	}
	method, m := r.method(parts["protoName"], parts["serviceName"], parts["methodName"])
	if m == nil {
		return nil
	}
	target := "grpc://" + host
	if r.flag(settings, "enableTLS") {
		target = "grpc+tls://" + host
		if ca, ok := r.constText(settings.get("clientCert")); ok {
			target += "?ca=" + url.QueryEscape(ca)
		}
	}
	members := obj(in.at)
	for _, key := range []string{"pathParams", "queryParams", "params", "grpcMthdParamtrs"} {
		for _, p := range r.mapped(in.get(key), key) {
			if v, ok := r.term(p.value, s.scope); ok {
				members.put(p.key, p.at, emit(v, p.value.at))
			}
		}
	}
	at := t.activity.at
	out := obj(at).put("target", at, say(parts["hosturl"].at, target)).put("method", at, say(parts["methodName"].at, method))
	if md := s.metadata(in.get("header")); len(md.members) > 0 {
		out.put("metadata", md.at, md)
	}
	if c := in.get("content"); c != nil {
		v, ok := r.term(c, s.scope)
		switch {
		case !ok:
		case v.whole != nil && v.whole.kind == object:
			members.members = append(members.members, v.whole.members...)
		case len(members.members) > 0:
			r.bad(c.at, "a content that is no object of mappings cannot go with parameters: map its members")
		default:
			return out.put("request", c.at, emit(v, c.at))
		}
	}
	return out.put("request", in.at, members)
}
