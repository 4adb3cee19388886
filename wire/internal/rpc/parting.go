package rpc

import (
	"bytes"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/everywire/everywire"
)

// The mark of a refusal that ends its connection is a google.rpc.ErrorInfo, as
// that of [everywire.NotRun] is.
const (
	partingReason = "CONNECTION_CLOSING"
	partingDomain = "everywire"
)

// Parting marks the answer to a request that cannot be read, behind which the
// server reads nothing more and closes the connection: neither that request has
// run nor any that was sent after it. On a wire whose answers have ids nothing else
// would tell the client, whose next request may be on its way before it sees the
// end of the connection.
func Parting(s *status.Status) *status.Status {
	detail, err := anypb.New(&errdetails.ErrorInfo{Reason: partingReason, Domain: partingDomain})
	if err != nil {
		return s // never: two strings can be encoded
	}
	marked := status.Convert(everywire.NotRun(s.Err())).Proto()
	marked.Details = append(marked.Details, detail)
	return status.FromProto(marked)
}

// MayPart reports whether an error as it came may be one of [Parting]: whether it is
// worth to read it.
func MayPart(raw []byte) bool { return bytes.Contains(raw, []byte(partingReason)) }

// IsParting reports whether a status has the mark of [Parting].
func IsParting(s *status.Status) bool {
	for _, d := range s.Proto().GetDetails() {
		var info errdetails.ErrorInfo
		if d.MessageIs(&info) && d.UnmarshalTo(&info) == nil && info.GetReason() == partingReason && info.GetDomain() == partingDomain {
			return true
		}
	}
	return false
}
