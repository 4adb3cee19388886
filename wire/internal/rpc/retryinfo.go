package rpc

import (
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// WithRetryInfo adds to a status when the call may be made again, as the
// server said it outside of the status: in a header or a trailer. A negative
// time is that it must not be. What the status says itself holds.
func WithRetryInfo(s *status.Status, wait time.Duration) *status.Status {
	told := s.Proto() // a copy
	for _, d := range told.GetDetails() {
		if d.MessageIs((*errdetails.RetryInfo)(nil)) {
			return s
		}
	}
	detail, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	if err != nil {
		return s // never: a duration can be encoded
	}
	told.Details = append(told.Details, detail)
	return status.FromProto(told)
}

// ParsePushback reads grpc-retry-pushback-ms, a number of milliseconds. One
// that is negative or no number asks not to try again (gRFC A6), and so do
// several.
func ParsePushback(values []string) (wait time.Duration, ok bool) {
	if len(values) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(values[0], 10, 32)
	if err != nil || n < 0 || len(values) > 1 {
		return -1, true
	}
	return time.Duration(n) * time.Millisecond, true
}
