package auth_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/auth"
	"github.com/everywire/everywire/service/auth/token"
	"github.com/everywire/everywire/service/auth/users"
	"github.com/everywire/everywire/service/auth/web"
	"github.com/everywire/everywire/wire"
)

// A lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A fixture is a service with some users, and what it is made from.
type fixture struct {
	service *auth.Service
	users   *users.Store
	tokens  *token.Issuer
	keys    *token.Keys
	log     *lockedBuffer
	logger  *slog.Logger
}

// little are parameters that cost nothing: what is tested is not their strength.
var little = users.Argon2{Memory: 8, Time: 1, Threads: 1}

// newFixture makes a service. The user test, with the password secret, is that of the
// published services; its hash and theirs are the same if pbkdf2 is set.
func newFixture(t testing.TB, pbkdf2 bool, o auth.Options) *fixture {
	t.Helper()
	f := &fixture{log: new(lockedBuffer)}
	f.logger = slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	uo := users.Options{Argon2: little, MinPassword: 1, Logger: f.logger}
	if pbkdf2 {
		uo.Hash = users.PBKDF2
	}
	var err error
	if f.users, err = users.New(uo); err != nil {
		t.Fatal(err)
	}
	for _, u := range []struct {
		users.User
		password string
	}{
		{users.User{Name: "test", Enabled: true, Roles: []string{"user"}, Claims: []string{"8f0daa02-claim", "d70e6e06-claim"}}, "secret"},
		{users.User{Name: "root", Enabled: true, Roles: []string{"user", "admin"}}, "toor-passphrase"},
		{users.User{Name: "off", Roles: []string{"user"}, Claims: []string{"off-claim"}}, "secret"},
	} {
		if err := f.users.Put(t.Context(), u.User, u.password); err != nil {
			t.Fatal(err)
		}
	}
	key, err := token.NewKey(token.HS256)
	if err != nil {
		t.Fatal(err)
	}
	if f.keys, err = token.NewKeys(key); err != nil {
		t.Fatal(err)
	}
	if f.tokens, err = token.NewIssuer(token.Config{Keys: f.keys, Logger: f.logger}); err != nil {
		t.Fatal(err)
	}
	o.Users, o.Tokens, o.Logger, o.Worker, o.Version = f.users, f.tokens, f.logger, "w1", "v2"
	if f.service, err = auth.New(o); err != nil {
		t.Fatal(err)
	}
	return f
}

// registry has the service's methods.
func (f *fixture) registry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(f.logger))
	f.service.Register(reg)
	return reg
}

// serve serves the service, and returns the targets by what was asked for.
func (f *fixture) serve(t testing.TB, targets ...string) map[string]wire.Target {
	t.Helper()
	around, err := web.Around(f.service)
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.Serve(context.WithoutCancel(t.Context()), f.registry(), targets, wire.WithLogger(f.logger), wire.WithHTTP(around))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	out := map[string]wire.Target{}
	for i, target := range s.Targets() {
		out[targets[i]] = target
	}
	return out
}
