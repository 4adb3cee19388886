package auth

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire/service/auth/users"
)

// The texts of errors. Those of the originals are for their clients, which may
// compare them, and tell more than one should.
const (
	textLogin     = "the name or the password is wrong, or the user may not log in"
	textToken     = "the token is not valid"
	textNoToken   = "no token: send the metadata authorization, which over HTTP is the header, with \"Bearer \" and the token"
	textForbidden = "the token is valid, and lacks the role for this"
	textAttempts  = "too many logins have failed: try again later"
	textBusy      = "too many logins at once: try again later"

	compatUnknown = "401 User Not Allowed"
	compatDenied  = "401 Not Allowed"
)

func compatDisabled(name string) string { return "403 User '" + name + "' Disabled" }

// setHeader adds metadata to the reply. It fails only outside of a server, where
// nobody reads it.
func setHeader(ctx context.Context, key, value string) {
	_ = grpc.SetHeader(ctx, metadata.Pairs(key, value))
}

// unauthenticated is 401, which has to say how one authenticates (RFC 9110, section
// 15.5.2).
func unauthenticated(ctx context.Context, challenge, text string) error {
	setHeader(ctx, "www-authenticate", challenge)
	return status.Error(codes.Unauthenticated, text)
}

// The challenges of RFC 6750, section 3. It has no word for a login that failed: its
// body has the name and the password, and no scheme of HTTP's is expected.
const (
	challenge        = `Bearer realm="everywire"`
	challengeInvalid = challenge + `, error="invalid_token"`
	challengeScope   = challenge + `, error="insufficient_scope"`
)

// exhausted is RESOURCE_EXHAUSTED with the time after which one may try again, also
// as HTTP's header, which counts whole seconds (RFC 9110, section 10.2.3).
func exhausted(ctx context.Context, text string, wait time.Duration) error {
	setHeader(ctx, "retry-after", strconv.FormatFloat(math.Ceil(wait.Seconds()), 'f', 0, 64))
	s := status.New(codes.ResourceExhausted, text)
	if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil { // it fails for OK only
		s = detailed
	}
	return s.Err()
}

// refused is what is answered to a login that was refused, and why it goes into the
// log. Without compat the answer is the same for all.
func (s *Service) refused(ctx context.Context, name string, err error) error {
	switch {
	case !s.compat:
		return unauthenticated(ctx, challenge, textLogin)
	case errors.Is(err, users.ErrDisabled):
		// Not 403, which the REST service did not have.
		return unauthenticated(ctx, challenge, compatDisabled(name))
	case errors.Is(err, users.ErrUnknown):
		return unauthenticated(ctx, challenge, compatUnknown)
	}
	return unauthenticated(ctx, challenge, compatDenied)
}
