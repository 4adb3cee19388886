package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/auth/token"
	"github.com/everywire/everywire/service/auth/users"
)

// busyWait is what a client is told to wait when too many log in at once: some
// hashes' time.
const busyWait = time.Second

// authenticate gives a token to who shows why they should get it.
func (s *Service) authenticate(ctx context.Context, in *Login) (*Token, error) {
	begin := time.Now()
	s.counts.inFlight.Add(1)
	defer s.counts.inFlight.Add(-1)
	from := peerAddress(ctx)
	user, result, reason, err := s.login(ctx, in, from)
	out := new(Token)
	id := ""
	if err == nil {
		var claims token.Claims
		if out.Token, claims, err = s.tokens.Issue(user.Name, user.Roles); err != nil {
			result, reason = LoginFailed, err.Error()
			err = status.Error(codes.Internal, "the token cannot be made")
		}
		id = claims.ID
	}
	s.counts.logins[result].add(time.Since(begin))
	s.auditLogin(ctx, in, from, result, reason, id)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// login finds out whether a login is good. An error is what the caller is told,
// and reason what the log is.
func (s *Service) login(ctx context.Context, in *Login, from string) (user users.User, result LoginResult, reason string, err error) {
	if err := s.malformed(ctx, in); err != nil {
		return user, LoginRefused, "malformed", err
	}
	source := s.limiter.source(in.Username, from)
	if wait := s.limiter.try(source, time.Now()); wait > 0 {
		return user, LoginLimited, "", exhausted(ctx, textAttempts, wait)
	}
	if in.Password != "" {
		user, err = s.users.Verify(ctx, in.Username, in.Password)
	} else {
		user, err = s.users.LoginByClaims(ctx, in.Username, in.Claims)
	}
	switch {
	case err == nil:
		s.limiter.giveBack(source)
		return user, LoginOK, "", nil
	case errors.Is(err, users.ErrDenied):
		return user, LoginRefused, reasonOf(err), s.refused(ctx, in.Username, err)
	case errors.Is(err, users.ErrBusy):
		s.limiter.giveBack(source)
		return user, LoginTooBusy, "", exhausted(ctx, textBusy, busyWait)
	case ctx.Err() != nil:
		return user, LoginFailed, ctx.Err().Error(), status.FromContextError(ctx.Err()).Err()
	}
	return user, LoginFailed, err.Error(), status.Error(codes.Internal, "the accounts cannot be read")
}

// malformed refuses what is no login. The originals knew no such thing: there what
// lacks everything was a login that fails, and a password counted before claims.
func (s *Service) malformed(ctx context.Context, in *Login) error {
	nothing := in.Username == "" || in.Password == "" && len(in.Claims) == 0
	switch {
	case nothing && s.compat:
		return unauthenticated(ctx, challenge, compatDenied)
	case nothing || in.Password != "" && len(in.Claims) > 0 && !s.compat:
		return status.Error(codes.InvalidArgument, "a login needs username, and either password or claims")
	}
	return nil
}

// reasonOf is a word for why a login was refused, for the log alone.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, users.ErrUnknown):
		return "unknown user"
	case errors.Is(err, users.ErrDisabled):
		return "disabled"
	case errors.Is(err, users.ErrPassword):
		return "wrong password"
	case errors.Is(err, users.ErrClaims):
		return "no claim matches"
	}
	return "too long"
}

// auditLogin writes a login down. Of names, the log has only those that exist: what
// is typed where a name belongs may be a password. What is limited is not looked
// up, and counted only: an attack must not fill the log.
func (s *Service) auditLogin(ctx context.Context, in *Login, from string, result LoginResult, reason, id string) {
	if result == LoginLimited || result == LoginTooBusy {
		return
	}
	level := slog.LevelInfo
	attrs := []slog.Attr{slog.String("result", result.String()), slog.String("from", from)}
	if _, known := s.users.Get(in.Username); known {
		attrs = append(attrs, slog.String("user", in.Username))
	}
	if reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	if id != "" {
		attrs = append(attrs, slog.String("token_id", id))
	}
	switch result {
	case LoginRefused:
		level = slog.LevelWarn
	case LoginFailed:
		level = slog.LevelError
	}
	s.audit.LogAttrs(ctx, level, "login", attrs...)
}

// peerAddress is what the caller's address counts as.
func peerAddress(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	return addressOf(p.Addr)
}
