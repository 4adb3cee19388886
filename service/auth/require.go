package auth

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/auth/token"
)

// A Guard lets calls through that have a valid token. Its methods Unary and Stream
// are interceptors, for every wire:
//
//	guard := auth.Require(tokens, "staff", "admin")
//	reg := everywire.NewRegistry(everywire.ChainUnary(guard.Unary), everywire.ChainStream(guard.Stream))
//
// A call without a valid token is UNAUTHENTICATED, 401 over HTTP, and one whose token
// lacks the role PERMISSION_DENIED, 403. The handler finds who calls by [Caller].
type Guard struct {
	tokens   *token.Issuer
	roles    []string
	services []string // nil: all
	compat   bool
	counts   *counts
}

// Require makes a guard that asks for a valid token with one of the roles, or with
// any if none is given.
func Require(tokens *token.Issuer, roles ...string) *Guard {
	return &Guard{tokens: tokens, roles: roles, counts: new(counts)}
}

// On returns a guard that looks at the calls of these services only, such as
// "kv.KV", and lets the others' through.
func (g *Guard) On(services ...string) *Guard {
	one := *g
	one.services = services
	return &one
}

// Unary is a grpc.UnaryServerInterceptor.
func (g *Guard) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, err := g.enter(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// Stream is a grpc.StreamServerInterceptor. A stream that is open stays open when its
// token expires.
func (g *Guard) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, err := g.enter(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return handler(srv, &guardedStream{ss, ctx})
}

type guardedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // the stream's own
}

func (s *guardedStream) Context() context.Context { return s.ctx }

func (g *Guard) enter(ctx context.Context, method string) (context.Context, error) {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if g.services != nil && !slices.Contains(g.services, service) {
		return ctx, nil
	}
	session, err := g.session(ctx)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, callerKey{}, session), nil
}

type callerKey struct{}

// Caller returns who calls, in a handler behind a [Guard].
func Caller(ctx context.Context) (*Session, bool) {
	session, ok := ctx.Value(callerKey{}).(*Session)
	return session, ok
}

// session is that of the token in the call's metadata, if that has a role of g's.
func (g *Guard) session(ctx context.Context) (*Session, error) {
	return g.sessionOf(ctx, bearerOf(ctx))
}

func (g *Guard) sessionOf(ctx context.Context, text string) (*Session, error) {
	session, result := g.look(text)
	switch result {
	case VerifyOK:
		return session, nil
	case VerifyMissing:
		return nil, unauthenticated(ctx, challenge, g.text(textNoToken))
	case VerifyForbidden:
		setHeader(ctx, "www-authenticate", challengeScope)
		return nil, status.Error(codes.PermissionDenied, textForbidden)
	}
	// Which it is, is not told: whoever made the token knows better.
	return nil, unauthenticated(ctx, challengeInvalid, g.text(textToken))
}

// look counts what it finds. The session is nil unless the result is VerifyOK.
func (g *Guard) look(text string) (*Session, VerifyResult) {
	begin := time.Now()
	session, result := g.verify(text)
	g.counts.verifies[result].add(time.Since(begin))
	return session, result
}

func (g *Guard) verify(text string) (*Session, VerifyResult) {
	if text == "" {
		return nil, VerifyMissing
	}
	claims, err := g.tokens.Verify(text)
	if err != nil {
		return nil, refusedFor(err)
	}
	session := sessionOf(&claims)
	if len(g.roles) > 0 && !slices.ContainsFunc(g.roles, func(r string) bool { return slices.Contains(session.Roles, r) }) {
		return nil, VerifyForbidden
	}
	return session, VerifyOK
}

func (g *Guard) text(ours string) string {
	if g.compat {
		return compatDenied
	}
	return ours
}

// bearerOf is the token in the metadata authorization, or "": if there is none, if
// there are several, of which nobody knows which counts, or if it is another kind of
// credentials.
func bearerOf(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	values := md["authorization"]
	if len(values) != 1 {
		return ""
	}
	return bearer(values[0])
}

// bearer is the token of credentials (RFC 6750, section 2.1). The scheme is compared
// without regard to case (RFC 9110, section 11.1).
func bearer(credentials string) string {
	scheme, text, ok := strings.Cut(credentials, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.Trim(text, " ")
}
