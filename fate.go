package everywire

import (
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
)

// MayHaveRun reports whether the handler of a call that ended with err may have
// begun, on whichever wire. It is false only if that is known: nothing was
// sent, or the server refused the call before it ran. In doubt it is true, and
// so it is without an error.
//
// A call that has not run may be made again whatever it does; another one only
// if its method says so, see [IdempotencyOf]. An error of another package says
// it by a method MayHaveRun() bool. docs/spec/resilience.md lists what each wire
// can know.
func MayHaveRun(err error) bool {
	var knows interface{ MayHaveRun() bool }
	if errors.As(err, &knows) {
		return knows.MayHaveRun()
	}
	s, ok := status.FromError(err)
	return !ok || markOf(s) < 0
}

// NotRun marks the end of a call whose handler did not begin. It is for what
// refuses calls at the server: wires, and interceptors such as one that limits
// a rate. The mark is a detail of the status, so that every wire carries it. Of
// an error that comes from a handler it is taken away: what a handler could not
// do elsewhere says nothing about what it has done itself.
func NotRun(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil || markOf(s) >= 0 {
		return err
	}
	marked := s.Proto()
	marked.Details = append(marked.Details, notRun)
	return status.ErrorProto(marked)
}

// WithoutMark is the status without the mark of [NotRun]; marked says whether it
// had one.
func WithoutMark(s *status.Status) (_ *status.Status, marked bool) {
	i := markOf(s)
	if i < 0 {
		return s, false
	}
	bare := s.Proto() // a copy
	bare.Details = append(bare.Details[:i], bare.Details[i+1:]...)
	return status.FromProto(bare), true
}

// The mark is a google.rpc.ErrorInfo: a reason within a domain, which is how
// gRPC tells a program what a code cannot.
const (
	markReason = "CALL_NOT_RUN"
	markDomain = "everywire"
)

var notRun = func() *anypb.Any {
	detail, err := anypb.New(&errdetails.ErrorInfo{Reason: markReason, Domain: markDomain})
	if err != nil {
		panic(err) // a message of two strings can be encoded
	}
	return detail
}()

// markOf is the index of the mark among the details, or -1.
func markOf(s *status.Status) int {
	details := s.Proto().GetDetails()
	if len(details) == 0 {
		return -1
	}
	for i, d := range details {
		var info errdetails.ErrorInfo
		if d.MessageIs(&info) && d.UnmarshalTo(&info) == nil && info.GetReason() == markReason && info.GetDomain() == markDomain {
			return i
		}
	}
	return -1
}

// ofHandler is the error of a handler that has begun.
func ofHandler(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	bare, marked := WithoutMark(s)
	if !marked {
		return err
	}
	return bare.Err()
}

// MayRepeat reports whether a call may run twice.
func (i Idempotency) MayRepeat() bool { return i != IdempotencyUnknown }

// IdempotencyOf returns what is known of the method "/arith.Arith/Sum": what
// reg says, which may be nil, or else the descriptor of a generated client. Of
// a method that neither knows nothing is known.
func IdempotencyOf(reg *Registry, path string) Idempotency {
	if reg != nil {
		if m, ok := reg.Lookup(path); ok {
			return m.Idempotency
		}
	}
	// A generated client knows its method without having been told.
	name := strings.Replace(strings.TrimPrefix(path, "/"), "/", ".", 1)
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return IdempotencyUnknown
	}
	options, ok := d.Options().(*descriptorpb.MethodOptions)
	if !ok {
		return IdempotencyUnknown
	}
	return idempotencyOf(options)
}

func idempotencyOf(options *descriptorpb.MethodOptions) Idempotency {
	switch options.GetIdempotencyLevel() {
	case descriptorpb.MethodOptions_NO_SIDE_EFFECTS:
		return NoSideEffects
	case descriptorpb.MethodOptions_IDEMPOTENT:
		return Idempotent
	}
	return IdempotencyUnknown
}
