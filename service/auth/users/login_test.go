package users

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var quiet = slog.New(slog.DiscardHandler)

func newTestStore(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Argon2 == (Argon2{}) {
		o.Argon2 = little
	}
	o.MinPassword, o.Logger = 1, quiet
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// addOld adds an account with a hash in a form of its own.
func addOld(s *Store, name, password string, enabled bool, f form) {
	s.table.Load().set(name, newAccount(User{Name: name, Enabled: enabled, Roles: []string{"r"}}, f.newDigest(name, password)))
}

func TestVerify(t *testing.T) {
	s := newTestStore(t, Options{})
	put := func(u User, password string) {
		if err := s.Put(t.Context(), u, password); err != nil {
			t.Fatal(err)
		}
	}
	put(User{Name: "ada", Enabled: true, Roles: []string{"admin"}}, "right")
	put(User{Name: "off"}, "right")
	put(User{Name: "claims", Enabled: true, Claims: []string{"c"}}, "")
	addOld(s, "old", "right", true, form{hash: PBKDF2})
	for _, c := range []struct {
		name, password string
		want           error
	}{
		{"ada", "right", nil},
		{"old", "right", nil},
		{"ada", "Right", ErrPassword},
		{"ada", "", ErrPassword},
		{"ada", "right\x00", ErrPassword},
		{"Ada", "right", ErrUnknown},
		{"", "right", ErrUnknown},
		{"off", "right", ErrDisabled},
		{"off", "wrong", ErrPassword}, // that it is disabled is told to who knows the password
		{"claims", "", ErrPassword},
		{"claims", "c", ErrPassword},
		{strings.Repeat("n", MaxName+1), "right", ErrTooLong},
		{"ada", strings.Repeat("p", 1025), ErrTooLong},
	} {
		u, err := s.Verify(t.Context(), c.name, c.password)
		if !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, ErrDenied) || (err == nil) != (u.Name == c.name && c.want == nil) {
			t.Errorf("%q with %q: %+v, %v, want %v", c.name, c.password, u, err, c.want)
		}
	}
}

// Whatever is in a store, a login computes the same hashes for every name: those that
// are there, those that are not, those without a password, those that are disabled,
// with the right password and with a wrong one.
func TestEqualWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		forms := []form{{hash: PBKDF2}, {hash: Argon2id, argon2: little}, {hash: Argon2id, argon2: Argon2{Memory: 16, Time: 1, Threads: 1}}, {hash: Argon2id, argon2: Argon2{Memory: 8, Time: 2, Threads: 1}}}
		o := Options{Argon2: rapid.SampledFrom(forms[1:]).Draw(t, "wanted").argon2, MinPassword: 1, Logger: quiet,
			Hash: rapid.SampledFrom([]Hash{Argon2id, PBKDF2}).Draw(t, "hash")}
		s, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[form]bool{s.wanted(): true}
		names := []string{"nobody", "no password", ""}
		if err := s.Put(context.Background(), User{Name: "no password", Enabled: true}, ""); err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "accounts") {
			f := rapid.SampledFrom(forms).Draw(t, "form")
			kinds[f] = true
			name := fmt.Sprint("user", i)
			names = append(names, name)
			addOld(s, name, "right", rapid.Bool().Draw(t, "enabled"), f)
		}
		work := func(name, password string) map[form]int {
			var done []form
			s.trace = func(f form) { done = append(done, f) }
			before := s.Hashes()
			_, _, _ = s.compute(name, password) // without the upgrade, which would change the store
			if n := s.Hashes() - before; n != uint64(len(done)) {
				t.Fatalf("%d hashes are counted, and %d were computed", n, len(done))
			}
			got := map[form]int{}
			for _, f := range done {
				got[f]++
			}
			return got
		}
		name := rapid.SampledFrom(names).Draw(t, "name")
		password := rapid.SampledFrom([]string{"right", "wrong", ""}).Draw(t, "password")
		got := work(name, password)
		if len(got) != len(kinds) {
			t.Fatalf("hashes in %d forms, want %d", len(got), len(kinds))
		}
		for f, n := range got {
			if n != 1 || !kinds[f] {
				t.Fatalf("%d hashes in the form %v, want one in each form", n, f)
			}
		}
	})
}

func TestUpgrade(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		old     form
		want    form
	}{
		{"pbkdf2", Options{}, form{hash: PBKDF2}, form{hash: Argon2id, argon2: little}},
		{"weaker", Options{Argon2: Argon2{Memory: 16, Time: 2, Threads: 1}}, form{hash: Argon2id, argon2: little}, form{hash: Argon2id, argon2: Argon2{Memory: 16, Time: 2, Threads: 1}}},
		{"as strong", Options{Argon2: Argon2{Memory: 16, Time: 1, Threads: 1}}, form{hash: Argon2id, argon2: Argon2{Memory: 8, Time: 2, Threads: 1}}, form{hash: Argon2id, argon2: Argon2{Memory: 8, Time: 2, Threads: 1}}},
		{"stronger", Options{}, form{hash: Argon2id, argon2: Argon2{Memory: 64, Time: 2, Threads: 1}}, form{hash: Argon2id, argon2: Argon2{Memory: 64, Time: 2, Threads: 1}}},
		{"kept", Options{Hash: PBKDF2}, form{hash: PBKDF2}, form{hash: PBKDF2}},
	} {
		s := newTestStore(t, c.options)
		addOld(s, "test", "secret", true, c.old)
		addOld(s, "off", "secret", false, c.old)
		_, _ = s.Verify(t.Context(), "test", "wrong")
		if got := s.current().get("test").digest.form; got != c.old {
			t.Errorf("%s: a wrong password has made it %v", c.name, got)
		}
		for range 2 {
			if _, err := s.Verify(t.Context(), "test", "secret"); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if got := s.current().get("test").digest.form; got != c.want {
			t.Errorf("%s: it is %v, want %v", c.name, got, c.want)
		}
		if _, err := s.Verify(t.Context(), "off", "secret"); !errors.Is(err, ErrDisabled) || s.current().get("off").digest.form != c.old {
			t.Errorf("%s: of a disabled account: %v", c.name, err)
		}
	}
}

// Many log in at once while their hash is being exchanged: none is refused.
func TestUpgradeAtOnce(t *testing.T) {
	for range 5 {
		s := newTestStore(t, Options{Hashes: 8})
		addOld(s, "test", "secret", true, form{hash: PBKDF2})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, err := s.Verify(t.Context(), "test", "secret"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// No more hashes than allowed are computed at once, no more logins wait, and whoever
// gives up waits no longer.
func TestGate(t *testing.T) {
	s := newTestStore(t, Options{Hashes: 1, Queue: 1})
	if err := s.gate.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := s.Verify(ctx, "a", "p")
		waits <- err
	}()
	for s.gate.waiting.Load() == 0 {
		runtime.Gosched()
	}
	if _, err := s.Verify(t.Context(), "b", "p"); !errors.Is(err, ErrBusy) {
		t.Errorf("the second that waits: %v", err)
	}
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
	if n := s.Hashes(); n != 0 {
		t.Errorf("%d hashes were computed", n)
	}
	s.gate.leave()
	if _, err := s.Verify(t.Context(), "b", "p"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

func TestLoginByClaims(t *testing.T) {
	s := newTestStore(t, Options{})
	for _, u := range []User{{Name: "ada", Enabled: true, Claims: []string{"one", "two"}}, {Name: "off", Claims: []string{"one"}}, {Name: "none", Enabled: true}} {
		if err := s.Put(t.Context(), u, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		claims []string
		want   error
	}{
		{"ada", []string{"one"}, nil},
		{"ada", []string{"x", "two", "y"}, nil},
		{"ada", []string{"on", "onee", "One"}, ErrClaims},
		{"ada", []string{""}, ErrClaims},
		{"ada", nil, ErrClaims},
		{"none", []string{""}, ErrClaims},
		{"off", []string{"one"}, ErrDisabled},
		{"off", []string{"two"}, ErrClaims},
		{"nobody", []string{"", "one"}, ErrUnknown},
		{"ada", make([]string, MaxClaims+1), ErrTooLong},
		{"ada", []string{strings.Repeat("c", MaxName+1)}, ErrTooLong},
	} {
		u, err := s.LoginByClaims(t.Context(), c.name, c.claims)
		if !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, ErrDenied) || (err == nil) != (c.want == nil && u.Name == c.name) {
			t.Errorf("%s with %q: %+v, %v, want %v", c.name, c.claims, u, err, c.want)
		}
	}
}
