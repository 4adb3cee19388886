package employees

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/employees/outbox"
)

// email queues an e-mail. That it was delivered nobody can say here.
func (s *Service) email(_ context.Context, in *EmailRequest) (*EmailReply, error) {
	var bad violations
	if in.Text == "" {
		bad.add("text", "is empty")
	} else if len(in.Text) > maxText {
		bad.add("text", "has %d bytes, more than %d", len(in.Text), maxText)
	}
	bad.line("subject", in.Subject, maxSubject)
	if err := bad.err(); err != nil {
		return nil, err
	}
	e, err := s.store.get(in.UserID)
	if err != nil {
		return nil, err
	}
	if s.outbox == nil {
		return nil, status.Error(codes.FailedPrecondition, "this server has no outbox, so it sends no e-mail")
	}
	id, err := s.outbox.Add(outbox.Message{
		To: outbox.Address{Name: e.Name, Address: e.Email}, Subject: in.Subject, Text: in.Text,
	})
	switch {
	case errors.Is(err, outbox.ErrFull):
		return nil, status.Error(codes.ResourceExhausted, "too many e-mails wait to be delivered")
	case errors.Is(err, outbox.ErrClosed):
		return nil, status.Error(codes.Unavailable, "the server is being stopped")
	case err != nil:
		return nil, status.Errorf(codes.InvalidArgument, "the e-mail to employee %d: %v", e.ID, err)
	}
	return &EmailReply{MessageID: id}, nil
}
