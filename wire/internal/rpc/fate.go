package rpc

import (
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// A fateError is an error of a call of which is known whether it may have run,
// see [everywire.MayHaveRun]. It is told to the caller alone: the status has
// nothing of it, so a handler that returns the error says nothing about itself.
type fateError struct {
	error
	mayHaveRun bool
}

func (e *fateError) Unwrap() error    { return e.error }
func (e *fateError) MayHaveRun() bool { return e.mayHaveRun }

// GRPCStatus is that of the error as it was: package status would put the text
// of an error that wraps another in the place of the message.
func (e *fateError) GRPCStatus() *status.Status { return StatusOf(e.error) }

// NotSent is err as the end of a call of which nothing was sent.
func NotSent(err error) error {
	if err == nil {
		return nil
	}
	return &fateError{err, false}
}

// After is err as the end of a call that an earlier attempt may have run. Without
// an earlier error, or with one that tells that it did not run, err stays as it
// is.
func After(earlier, err error) error {
	if err == nil || earlier == nil || !everywire.MayHaveRun(earlier) || everywire.MayHaveRun(err) {
		return err
	}
	return &fateError{err, true}
}

// withFate is a status error that says whether the call may have run. The
// server's mark, if it has one, has been read and ends here.
func withFate(err error, mayHaveRun bool) error {
	if mayHaveRun {
		return err
	}
	s, _ := everywire.WithoutMark(status.Convert(err))
	return &fateError{s.Err(), false}
}

// Fate is an error that grpc-go returned, for which attempted says whether it
// has begun to send the call. What the server says is in the status.
func Fate(err error, attempted bool) error {
	if err == nil {
		return nil
	}
	return withFate(err, attempted && everywire.MayHaveRun(err))
}
