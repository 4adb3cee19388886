package flow

import (
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// An inputError is an input that a flow cannot have.
type inputError struct{ error }

func (e *inputError) Unwrap() error { return e.error }

// An invokeError is the end of a call that a flow made.
type invokeError struct{ error }

func (e *invokeError) Unwrap() error { return e.error }

// clientError is what the client of a method learns of a run that failed, and whether
// the flow is at fault, or what it called. A return's error is meant for it and is
// passed on as it is. Of all else it learns the code and which step: what a called
// server says is for the flow's owner, and stands in the log.
func clientError(ctx context.Context, flow string, err error) (told error, fault bool) {
	step := asError[*stepError](err)
	if input := asError[*inputError](err); input != nil && step == nil {
		return status.Error(codes.InvalidArgument, input.Error()), false
	}
	if ctx.Err() != nil { // the client has gone, or its deadline has passed
		return status.FromContextError(ctx.Err()).Err(), false
	}
	where := "the flow " + flow + " failed"
	if step != nil {
		where += " in the step " + step.step
	}
	if called := asError[*invokeError](err); called != nil {
		c := upstream(status.Code(called.error))
		return status.Error(c, where+": "+codeName(c)), true
	}
	var returned interface{ GRPCStatus() *status.Status }
	if errors.As(err, &returned) {
		return returned.GRPCStatus().Err(), false
	}
	return status.Error(codes.Internal, where), true
}

// upstream is the code that a client is told if a call ended with another one, that
// its own call led to. Those that say something about the request are passed on; who
// the flow is to those whom it calls, and whether they work, is not its client's
// matter.
func upstream(c codes.Code) codes.Code {
	switch c { //nolint:exhaustive // the others become Internal
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted, codes.OutOfRange, codes.DeadlineExceeded:
		return c
	case codes.Unavailable, codes.ResourceExhausted, codes.Canceled:
		return codes.Unavailable
	}
	return codes.Internal
}

// codeName is a code as flow files have it.
func codeName(c codes.Code) string { return code.Code(c).String() } //nolint:gosec // of seventeen

// asError finds an error of a type, or returns nil.
func asError[E error](err error) (found E) {
	errors.As(err, &found)
	return found
}
