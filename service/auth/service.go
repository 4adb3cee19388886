package auth

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/auth/token"
	"github.com/everywire/everywire/service/auth/users"
)

// Options are what a [Service] is made from.
type Options struct {
	// Users and Tokens are needed.
	Users  *users.Store
	Tokens *token.Issuer
	// Compat gives the originals' texts of errors, which tell whether a name is known
	// and whether it is disabled; and JSON-RPC's session.Validate is false where it is
	// an error else.
	Compat bool
	// Limit bounds the logins that fail.
	Limit Limit
	// Admin is the role that may revoke others' tokens and make tokens for programs.
	// Default "admin".
	Admin string
	// Worker and Version are what replies say of who made them.
	Worker, Version string
	// Logger gets a record of each login, and of each token that was made or revoked.
	// The default is slog.Default().
	Logger *slog.Logger
}

// A Service authenticates. [New] makes it.
type Service struct {
	users   *users.Store
	tokens  *token.Issuer
	compat  bool
	limiter *limiter
	counts  *counts
	guard   *Guard
	admin   string
	worker  string
	version string
	audit   *slog.Logger
}

// New makes a service.
func New(o Options) (*Service, error) {
	if o.Users == nil || o.Tokens == nil {
		return nil, errors.New("auth: Options need Users and Tokens")
	}
	if o.Admin == "" {
		o.Admin = "admin"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Service{
		users: o.Users, tokens: o.Tokens, compat: o.Compat, limiter: newLimiter(o.Limit),
		counts: &counts{started: time.Now()}, admin: o.Admin,
		worker: o.Worker, version: o.Version, audit: o.Logger.With(slog.String("service", "auth")),
	}
	s.guard = Require(o.Tokens)
	s.guard.counts, s.guard.compat = s.counts, o.Compat
	return s, nil
}

// Snapshot is what the service has done so far.
func (s *Service) Snapshot() Snapshot {
	n := s.counts.read()
	n.Hashes = s.users.Hashes()
	return n
}

// The paths of the originals.
const (
	pathV1      = "/api/v1/authentication"
	pathSession = "/api/v1/session"
	pathAdmin   = "/api/v1/authentication/admin"
	pathV2      = "/api/v2/authentication"
)

// Register adds the service's methods to reg. s may be nil if only their description
// is wanted.
func (s *Service) Register(reg *everywire.Registry) {
	object := func(name, path string) everywire.MethodOption {
		return everywire.WithJSONRPC(everywire.JSONRPCForm{Name: name, Params: everywire.ParamsObject, Path: path})
	}
	handle(reg, s, Authenticate, s.authenticate,
		everywire.WithDoc("Gives a token to who shows a password, or a claim."),
		everywire.WithRoute("POST", pathV2, "*"),
		object("authentication.Authenticate", pathV1))
	handle(reg, s, Verify, s.verify,
		everywire.WithDoc("Verifies the token of the call's metadata. Without an error it is valid."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", pathV2+"/session", "", everywire.EmptyOK()),
		everywire.WithRoute("GET", "/api/v2/session", "", everywire.EmptyOK()))
	handle(reg, s, Validate, s.validate,
		everywire.WithDoc("Tells whether a token is valid."),
		everywire.WithIdempotency(everywire.Idempotent), // a GET would have the token in its URL
		everywire.WithJSONRPC(everywire.JSONRPCForm{
			Name: "session.Validate", Params: everywire.ParamsScalar, Field: "token", Result: "valid", Path: pathSession,
		}))
	handle(reg, s, Details, s.details,
		everywire.WithDoc("Tells what a valid token says."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", pathV2+"/session/decoder", ""),
		everywire.WithRoute("GET", "/api/v2/session/decoder", ""),
		object("session.Details", pathSession))
	handle(reg, s, Revoke, s.revoke,
		everywire.WithDoc("Makes a token invalid before it expires: the caller's own or, for administrators, any."),
		everywire.WithIdempotency(everywire.Idempotent),
		everywire.WithRoute("POST", pathV2+"/session:revoke", "*"),
		object("session.Revoke", pathSession))
	handle(reg, s, CreateToken, s.createToken,
		everywire.WithDoc("Makes a token for a program. For administrators."),
		everywire.WithRoute("POST", pathV2+"/tokens", "*"),
		object("tokens.Create", pathAdmin))
	handle(reg, s, Stats, s.stats,
		everywire.WithDoc("Gives numbers of what the service has done."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", pathV2+"/metrics", ""),
		everywire.WithRoute("GET", "/metrics", ""),
		everywire.WithRoute("GET", pathV2+"/statistics", ""),
		object("stats.Status", pathAdmin))
	handle(reg, s, Health, s.health,
		everywire.WithDoc("Tells that the service answers."),
		everywire.WithIdempotency(everywire.NoSideEffects),
		everywire.WithRoute("GET", "/health", ""),
		everywire.WithRoute("GET", pathV2+"/health", ""),
		object("health.Status", pathAdmin))
}

// handle registers a method. Its replies may be about secrets, which no cache shall
// keep (RFC 9111, section 5.2.2.5), and they say who made them.
func handle[In, Out any](reg *everywire.Registry, s *Service, name string, fn func(context.Context, *In) (*Out, error), opts ...everywire.MethodOption) {
	everywire.Handle(reg, name, func(ctx context.Context, in *In) (*Out, error) {
		md := metadata.Pairs("cache-control", "no-store")
		if !isMarked(ctx) {
			md.Set("x-worker", s.worker)
			md.Set("x-worker-version", s.version)
		}
		_ = grpc.SetHeader(ctx, md) // it fails only outside of a server, where nobody reads it
		return fn(ctx, in)
	}, opts...)
}

// Worker is what replies say of who made them: the metadata x-worker and
// x-worker-version.
func (s *Service) Worker() (name, version string) { return s.worker, s.version }

type markedKey struct{}

// Marked is a context of calls whose replies say elsewhere who made them: over HTTP
// every response does, also those that no method made.
func Marked(ctx context.Context) context.Context { return context.WithValue(ctx, markedKey{}, true) }

func isMarked(ctx context.Context) bool { return ctx.Value(markedKey{}) != nil }

func (s *Service) health(context.Context, *Empty) (*Status, error) { return &Status{Status: "up"}, nil }

func (s *Service) stats(context.Context, *Empty) (*Statistics, error) {
	n := s.Snapshot()
	out := &Statistics{
		Worker: s.worker, Version: s.version, Started: n.Started, UptimeSeconds: time.Since(n.Started).Seconds(),
		LoginsInFlight: n.InFlight, Revoked: n.Revoked, Hashes: n.Hashes,
	}
	for i := range n.Logins {
		out.Logins = append(out.Logins, outcome(LoginResult(i).String(), &n.Logins[i]))
	}
	for i := range n.Verifies {
		out.Verifies = append(out.Verifies, outcome(VerifyResult(i).String(), &n.Verifies[i]))
	}
	return out, nil
}

func outcome(result string, d *Durations) Outcome {
	o := Outcome{Result: result, Count: d.Count()}
	if o.Count > 0 {
		o.AverageSeconds = d.Sum.Seconds() / float64(o.Count)
	}
	return o
}
