package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/auth/token"
)

// verify is Verify: without an error the call's token is valid.
func (s *Service) verify(ctx context.Context, _ *Empty) (*Empty, error) {
	if _, err := s.guard.session(ctx); err != nil {
		return nil, err
	}
	return new(Empty), nil
}

// validate is Validate. An invalid token is an error, so that a caller which only
// looks for errors sees it; the original said false.
func (s *Service) validate(ctx context.Context, in *Token) (*Validity, error) {
	if s.compat {
		_, result := s.guard.look(in.Token)
		return &Validity{Valid: result == VerifyOK}, nil
	}
	if _, err := s.guard.sessionOf(ctx, in.Token); err != nil {
		return nil, err
	}
	return &Validity{Valid: true}, nil
}

// details is Details. The originals' clients send the caller's token with or
// without "Bearer " before it.
func (s *Service) details(ctx context.Context, in *DetailsRequest) (*Session, error) {
	credentials := in.Authorization
	if text := bearer(credentials); text != "" {
		credentials = text
	}
	if credentials == "" {
		credentials = bearerOf(ctx)
	}
	if credentials == "" && in.Token != "" {
		credentials = in.Token // whoever has a token may know what is in it
	}
	session, err := s.guard.sessionOf(ctx, credentials)
	about := credentials
	if err == nil && in.Token != "" && in.Token != credentials {
		about = in.Token
		session, err = s.guard.sessionOf(ctx, about)
	}
	if err == nil && s.compat {
		session.ID = about // a session of the originals is known by its token
	}
	return session, err
}

func sessionOf(c *token.Claims) *Session {
	return &Session{ID: c.ID, User: c.Subject, Expires: c.Expires.Unix(), Roles: c.Roles}
}

// revoke is Revoke. A token may be taken back by whoever has it, as it is theirs or
// has been stolen; by its id by administrators only.
func (s *Service) revoke(ctx context.Context, in *Revocation) (*Empty, error) {
	if in.ID != "" {
		return s.revokeID(ctx, in)
	}
	text := in.Token
	if text == "" {
		text = bearerOf(ctx)
	}
	session, err := s.guard.sessionOf(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.revoked(ctx, session.User, session.ID, session.Expires)
}

func (s *Service) revokeID(ctx context.Context, in *Revocation) (*Empty, error) {
	if in.Token != "" {
		return nil, status.Error(codes.InvalidArgument, "a revocation names a token or an id, not both")
	}
	by, err := s.administrator(ctx)
	if err != nil {
		return nil, err
	}
	return s.revoked(ctx, by.User, in.ID, in.Expires)
}

// revoked takes a token back that lives until expires, in seconds since 1970; 0 is
// not known.
func (s *Service) revoked(ctx context.Context, by, id string, expires int64) (*Empty, error) {
	var until time.Time
	if expires != 0 {
		until = time.Unix(expires, 0)
	}
	err := s.tokens.RevokeID(id, until)
	switch {
	case errors.Is(err, token.ErrInvalid):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, token.ErrFull):
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	case err != nil:
		s.audit.LogAttrs(ctx, slog.LevelError, "a token could not be revoked", slog.String("token_id", id), slog.Any("error", err))
		return nil, status.Error(codes.Internal, "the revocation cannot be kept")
	}
	s.counts.revoked.Add(1)
	s.audit.LogAttrs(ctx, slog.LevelInfo, "token revoked", slog.String("user", by), slog.String("from", peerAddress(ctx)), slog.String("token_id", id))
	return new(Empty), nil
}

// administrator is who calls, if they may do what administrators may.
func (s *Service) administrator(ctx context.Context) (*Session, error) {
	guard := *s.guard
	guard.roles = []string{s.admin}
	return guard.session(ctx)
}

// createToken is CreateToken.
func (s *Service) createToken(ctx context.Context, in *TokenRequest) (*Token, error) {
	by, err := s.administrator(ctx)
	if err != nil {
		return nil, err
	}
	if in.For <= 0 {
		return nil, status.Error(codes.InvalidArgument, "for says how long the token is to be good: it must be more than nothing, such as 2592000s")
	}
	text, made, err := s.tokens.MakeAPI(token.APISpec{Name: in.Name, User: in.User, Roles: in.Roles, TTL: in.For})
	switch {
	case errors.Is(err, token.ErrInvalid):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, token.ErrFull):
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	case err != nil:
		s.audit.LogAttrs(ctx, slog.LevelError, "a token could not be made", slog.Any("error", err))
		return nil, status.Error(codes.Internal, "the token cannot be made")
	}
	s.audit.LogAttrs(ctx, slog.LevelInfo, "token made", slog.String("user", by.User), slog.String("from", peerAddress(ctx)),
		slog.String("for", in.User), slog.Any("roles", in.Roles), slog.Time("expires", made.Expires), slog.String("token_id", made.ID))
	return &Token{Token: text}, nil
}
