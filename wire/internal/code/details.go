package code

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	spb "google.golang.org/genproto/googleapis/rpc/status"
)

// A Detail is one detail message of a status in the form that every wire but
// gRPC sends: the message's full name and its protobuf bytes. So a detail
// passes through peers that do not know its type, and comes out the same.
type Detail struct {
	// Type is the message's full name, such as google.rpc.ErrorInfo.
	Type string `json:"type"`
	// Value is the message in protobuf; base64 in JSON.
	Value []byte `json:"value"`
}

const typePrefix = "type.googleapis.com/"

// Details returns the details of s, nil if it has none.
func Details(s *status.Status) []Detail {
	anys := s.Proto().GetDetails()
	if len(anys) == 0 {
		return nil
	}
	ds := make([]Detail, 0, len(anys))
	for _, a := range anys {
		ds = append(ds, Detail{Type: string(a.MessageName()), Value: a.GetValue()})
	}
	return ds
}

// Status makes a status of its parts. A code of OK is not an error and becomes
// Unknown, for a peer that sent an error said that it failed.
func Status(c codes.Code, message string, details []Detail) *status.Status {
	if c == codes.OK {
		c = codes.Unknown
	}
	p := &spb.Status{Code: int32(c), Message: message}
	for _, d := range details {
		p.Details = append(p.Details, &anypb.Any{TypeUrl: typePrefix + d.Type, Value: d.Value})
	}
	return status.FromProto(p)
}
