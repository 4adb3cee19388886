package resilience

import (
	"errors"
	"reflect"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// errPanicked stands for an attempt that panicked: nothing of the server.
var errPanicked = status.Error(codes.Canceled, "the attempt panicked")

func isOpen(err error) bool {
	var open *OpenError
	return errors.As(err, &open)
}

// onFinish takes out the functions that the caller wants to be called once, when
// the call is over: each attempt would call them.
func onFinish(opts []grpc.CallOption) (rest []grpc.CallOption, finish []func(error)) {
	for i, o := range opts {
		if f, ok := o.(grpc.OnFinishCallOption); ok {
			if finish == nil {
				rest = append(make([]grpc.CallOption, 0, len(opts)), opts[:i]...)
			}
			finish = append(finish, f.OnFinish)
		} else if finish != nil {
			rest = append(rest, o)
		}
	}
	if finish == nil {
		return opts, nil
	}
	return rest, finish
}

// What an attempt gives beside its reply, apart from those of others that are
// under way at the same time.
type side struct {
	header, trailer metadata.MD
	peer            peer.Peer
}

// apart is the caller's options with places of their own for what comes back.
func (s *side) apart(opts []grpc.CallOption) []grpc.CallOption {
	own := make([]grpc.CallOption, len(opts))
	for i, o := range opts {
		switch o.(type) {
		case grpc.HeaderCallOption:
			o = grpc.Header(&s.header)
		case grpc.TrailerCallOption:
			o = grpc.Trailer(&s.trailer)
		case grpc.PeerCallOption:
			o = grpc.Peer(&s.peer)
		}
		own[i] = o
	}
	return own
}

// deliver gives the caller what came back.
func (s *side) deliver(opts []grpc.CallOption) {
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = s.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = s.trailer
		case grpc.PeerCallOption:
			*o.PeerAddr = s.peer
		}
	}
}

// alike is an empty reply of the type of another, nil if none can be made.
func alike(reply any) any {
	if m, ok := reply.(proto.Message); ok {
		return m.ProtoReflect().New().Interface()
	}
	if v := reflect.ValueOf(reply); v.Kind() == reflect.Pointer && !v.IsNil() {
		return reflect.New(v.Type().Elem()).Interface()
	}
	return nil
}

// assign makes one reply what another of its type is. The other is not used any
// more.
func assign(to, from any) {
	m, ok := to.(proto.Message)
	if !ok {
		reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from).Elem())
		return
	}
	proto.Reset(m)
	dst, src := m.ProtoReflect(), from.(proto.Message).ProtoReflect()
	src.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		dst.Set(f, v)
		return true
	})
	dst.SetUnknown(src.GetUnknown())
}
