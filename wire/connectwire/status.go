package connectwire

import (
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// connectError is a status as connect-go takes it; nil if it is OK. The codes
// of Connect are names, and there are sixteen: under it any other is Unknown.
// gRPC-Web has numbers for all.
func connectError(s *status.Status, protocol string) error {
	c := s.Code()
	if c == codes.OK {
		return nil
	}
	if protocol == connect.ProtocolConnect && !code.Known(c) {
		c = codes.Unknown
	}
	err := connect.NewError(connect.Code(c), errors.New(s.Message()))
	for _, detail := range s.Proto().GetDetails() {
		if d, failed := connect.NewErrorDetail(detail); failed == nil { // of an Any it does not
			err.AddDetail(d)
		}
	}
	return err
}

// answered is the status of an error that a server sent, with what it says of
// another try.
func answered(err error) *status.Status {
	s := statusOf(err)
	var e *connect.Error
	if errors.As(err, &e) {
		s = httpmeta.RetryAfter(s, e.Meta())
	}
	return s
}

// statusOf is the status of an error of connect-go.
func statusOf(err error) *status.Status {
	var e *connect.Error
	if !errors.As(err, &e) {
		return rpc.StatusOf(err)
	}
	s := status.New(codes.Code(e.Code()), e.Message()).Proto()
	for _, d := range e.Details() {
		s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
	}
	if s.GetCode() == int32(codes.OK) { // an error that says OK is none
		s.Code = int32(codes.Unknown)
	}
	return status.FromProto(s)
}
