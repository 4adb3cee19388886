package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"time"

	"github.com/everywire/everywire/lab/run"
	"github.com/everywire/everywire/service/auth"
	"github.com/everywire/everywire/service/auth/token"
	"github.com/everywire/everywire/service/auth/users"
	"github.com/everywire/everywire/service/auth/web"
	"github.com/everywire/everywire/wire"
)

// authFlags are those of the service auth.
type authFlags struct {
	Users      string        `placeholder:"FILE|DIR" help:"auth: the accounts: a .csv or .db file, or a folder that has users.csv or users.db."`
	Keys       string        `placeholder:"FILE" help:"auth: the keys that sign tokens, made by everywire auth keys new."`
	Register   string        `placeholder:"FILE" help:"auth: API tokens and revocations (default beside the keys, with .register at its end)."`
	Compat     bool          `help:"auth: give the published services' own texts of errors, which tell whether a name exists."`
	TTL        time.Duration `name:"ttl" placeholder:"1h" help:"auth: how long a login's token is good, up to 24h (default 1h)."`
	Issuer     string        `placeholder:"NAME" help:"auth: who issues tokens: their claim iss, which is then checked."`
	Audience   string        `placeholder:"NAME" help:"auth: whom tokens are for: their claim aud, which is then checked."`
	Legacy     string        `name:"legacy-secret" placeholder:"FILE" help:"auth: the secret of the published services; tokens that were signed with it are still good."`
	AdminRole  string        `placeholder:"ROLE" help:"auth: who may make tokens and revoke those of others (default admin)."`
	Worker     string        `placeholder:"NAME" help:"auth: what X-Worker says (default the machine's name)."`
	KeepHashes bool          `help:"auth: keep the published services' hashes, rather than make them anew at the next login."`
	NoLimit    bool          `name:"no-login-limit" help:"auth: let any number of logins fail: for measurements alone."`
}

// maxTTL is the longest --ttl: what keys rotate keeps a key for. What is to live longer
// is an API token.
const maxTTL = 24 * time.Hour

func (f *authFlags) check(services []string) error {
	switch {
	case !slices.Contains(services, "auth"):
		if *f != (authFlags{}) {
			return usagef("--users, --keys, --register, --compat, --ttl, --issuer, --audience, --legacy-secret, --admin-role, --worker, --keep-hashes and --no-login-limit are for the service auth")
		}
	case f.Users == "":
		return usagef("the service auth needs accounts: --users FILE (everywire auth --help tells how they are made)")
	case f.Keys == "":
		return usagef("the service auth needs keys: --keys FILE (everywire auth --help tells how they are made)")
	case f.TTL < 0 || f.TTL > maxTTL || f.TTL > 0 && f.TTL < time.Second:
		return usagef("--ttl %v: want 1s to %v; for longer there are API tokens (everywire auth token make)", f.TTL, maxTTL)
	}
	return nil
}

// An authServer is the service with its files. Its methods may be called on nil, which
// is a server without the service.
type authServer struct {
	users *users.Store
	auth  *auth.Service
}

// openAuth makes the service that the flags ask for, or nil.
func (f *authFlags) openAuth(services []string, logger *slog.Logger) (*authServer, error) {
	if err := f.check(services); err != nil || f.Users == "" {
		return nil, err
	}
	config := token.Config{TTL: f.TTL, Issuer: f.Issuer, Audience: f.Audience, Compat: f.Compat, Logger: logger}
	if f.Legacy != "" {
		secret, err := os.ReadFile(f.Legacy)
		if err != nil {
			return nil, usagef("--legacy-secret: %w", err)
		}
		config.Legacy = bytes.TrimRight(secret, "\r\n")
	}
	tokens, err := (&keysFlag{f.Keys, f.Register}).openIssuer(config)
	if err != nil {
		return nil, err
	}
	options := users.Options{Logger: logger}
	if f.KeepHashes {
		options.Hash = users.PBKDF2
	}
	accounts, err := openUsers(f.Users, true, options)
	if err != nil {
		return nil, err
	}
	worker := f.Worker
	if worker == "" {
		if worker, err = os.Hostname(); err != nil {
			worker = "everywire"
		}
	}
	service, err := auth.New(auth.Options{
		Users: accounts, Tokens: tokens, Compat: f.Compat, Limit: auth.Limit{Off: f.NoLimit}, Admin: f.AdminRole,
		Worker: worker, Version: run.Build().Version, Logger: logger,
	})
	if err != nil {
		return nil, errors.Join(err, accounts.Close())
	}
	return &authServer{accounts, service}, nil
}

// service is the service; nil if only its description is wanted.
func (s *authServer) service() *auth.Service {
	if s == nil {
		return nil
	}
	return s.auth
}

// options are what servers have for the service beyond its methods.
func (s *authServer) options(seen *observer) ([]wire.ServeOption, error) {
	if s == nil {
		return nil, nil
	}
	around, err := web.Around(s.auth)
	if err != nil {
		return nil, err
	}
	if seen.admin != nil {
		if err := seen.admin.registry.Register(web.Collector(s.auth)); err != nil {
			return nil, err
		}
	}
	return []wire.ServeOption{wire.WithHTTP(around)}, nil
}

// targets are those of a server. The published JSON-RPC service spoke version 1.0;
// a server of 1.0 answers both.
func (s *authServer) targets(on []string, logger *slog.Logger) []string {
	if s == nil {
		return on
	}
	on = slices.Clone(on)
	for i, text := range on {
		t, err := wire.ParseTarget(text)
		if err != nil {
			continue // Serve tells
		}
		if _, given := t.Options["version"]; !given && (t.Wire == "any" || t.Wire == "jsonrpc" && t.Transport == "http") {
			if t.Options == nil {
				t.Options = map[string]string{}
			}
			t.Options["version"] = "1.0"
			on[i] = t.String()
		}
		if !t.TLS && !isLocal(t) {
			logger.Warn("passwords and tokens travel in the clear: serve on a target with +tls, or behind something that has it", slog.String("on", fmt.Sprint(t)))
		}
	}
	return on
}

// isLocal reports whether a target can be reached from this machine alone.
func isLocal(t wire.Target) bool {
	if t.Transport == "unix" {
		return true
	}
	for _, addr := range t.Addrs {
		host, _, err := net.SplitHostPort(addr)
		ip := net.ParseIP(host)
		if err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// close gives up the files when no call uses them any more.
func (s *authServer) close() error {
	if s == nil {
		return nil
	}
	return s.users.Close()
}
