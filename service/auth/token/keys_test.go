package token

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// eventually waits until ok: for files that are looked at now and then.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has not come about", what)
		}
	}
}

// A server that has a file of keys open takes over what another process makes of it:
// a rotation at once, as a token names the new key; a removal soon.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	admin, err := CreateKeys(path, HS256)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CreateKeys(path, HS256); err == nil || !strings.Contains(err.Error(), "is there already: rotate") {
		t.Errorf("made twice: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	open := func() *Issuer {
		keys, err := LoadKeys(path)
		if err != nil {
			t.Fatal(err)
		}
		i, err := NewIssuer(Config{Keys: keys, Logger: quiet, Leeway: -1})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	server, first := open(), admin.List()[0]
	old, oldClaims, err := server.Issue("ada", nil)
	if err != nil || oldClaims.KeyID != first.ID || oldClaims.Alg != HS256 {
		t.Fatal(oldClaims, err)
	}
	second, err := admin.Rotate(EdDSA, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	other := open()
	fresh, freshClaims, err := other.Issue("bob", nil)
	if err != nil || freshClaims.KeyID != second.ID || freshClaims.Alg != EdDSA {
		t.Fatal(freshClaims, err)
	}
	wants(t, server, "of the new key, which it has not looked for yet", fresh, 0)
	wants(t, server, "of the old key", old, 0)
	wants(t, other, "of the old key", old, 0)
	if list := server.config.Keys.List(); len(list) != 2 || fmt.Sprintf("%+v", list) == "" || strings.Contains(fmt.Sprintf("%#v", list[0]), "secret:[]byte{0x") {
		t.Errorf("the list shows %#v", list)
	}
	if err := admin.Remove(second.ID); err == nil || !strings.Contains(err.Error(), "rotate first") {
		t.Errorf("the active key can be removed: %v", err)
	}
	if err := admin.Remove("nothing"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := admin.Remove(first.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the removed key", func() bool { _, err := server.Verify(old); return ReasonOf(err) == UnknownKey })
	wants(t, server, "of the key that is left", fresh, 0)
}

// A retired key verifies for as long as its tokens live, also those that live longer
// than most, and no longer.
func TestRetiredKeys(t *testing.T) {
	key, err := NewKey(HS256)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	i, err := NewIssuer(Config{Keys: keys, Now: func() time.Time { return now }, Logger: quiet, Leeway: -1})
	if err != nil {
		t.Fatal(err)
	}
	long, _, err := i.Make(Spec{Subject: "robot", TTL: 48 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Rotate(HS256, time.Hour); err != nil {
		t.Fatal(err)
	}
	wants(t, i, "a long-lived token after the rotation", long, 0)
	now = now.Add(47 * time.Hour)
	wants(t, i, "a long-lived token near its end", long, 0)
	// The key's own time is over, whatever its tokens say.
	forged := signHS(key.secret, `{"alg":"HS256","kid":"`+key.ID+`"}`, fmt.Sprintf(`{"sub":"mallory","jti":"x","exp":%d}`, now.Add(1000*time.Hour).Unix()))
	wants(t, i, "made with the old secret", forged, 0) // within its time nobody can tell
	now = now.Add(2 * time.Hour)
	wants(t, i, "made with the old secret, when that is over", forged, UnknownKey)
}

func TestKeysFileFaults(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.json")
	if _, err := CreateKeys(path, HS256); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	secret := string(good[bytes.Index(good, []byte(`"secret": "`))+11:][:43])
	for old, c := range map[string]struct{ put, want string }{
		`"version": 1`:      {`"version": 2`, "it has version 2"},
		`"kid"`:             {`"key"`, "unknown field"},
		`"active"`:          {`"retired"`, "does not say until when"},
		`"alg": "HS256"`:    {`"alg": "none"`, `there is no algorithm "none"`},
		secret:              {secret[:20], "its secret has 15 bytes, and must have 32"},
		`"secret": "`:       {`"secret": "!`, "is not base64url"},
		"\"keys\": [":       {"\"keys\": [], \"x\": [", "unknown field"},
		`"state": "active"`: {`"state": "sleeping"`, `its state is "sleeping"`},
		"\n}\n":             {"\n}\n{}", "something follows"},
		// A secret in the wrong place is not shown either.
		`"active",`:            {`"` + secret + `",`, "its state is (43 bytes that may be a secret)"},
		`"HS256"`:              {`"` + secret + `"`, "there is no algorithm (43 bytes that may be a secret)"},
		`"created": "`:         {`"created": "` + secret, "a time in it is not of the form"},
		`"keys"`:               {`"` + secret + `"`, "unknown field (43 bytes that may be a secret)"},
		`"version": 1,`:        {`"version": "` + secret + `",`, `its member "version" has a value of the wrong kind`},
		`"version": 1,` + "\n": {`"version": ` + secret, "it is not JSON, from byte"},
	} {
		if err := os.WriteFile(path, bytes.Replace(good, []byte(old), []byte(c.put), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeys(path); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s for %s: %v, want %q", c.put, old, err, c.want)
		}
	}
	if runtime.GOOS != "windows" {
		if err := errors.Join(os.WriteFile(path, good, 0o600), os.Chmod(path, 0o640)); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeys(path); err == nil || !strings.Contains(err.Error(), "has the permissions 0640: it must be readable by its owner alone: chmod 600") {
			t.Errorf("a file that others can read: %v", err)
		}
	}
}

// A broken file leaves the keys in force that were there, and is complained of once.
func TestBrokenKeysFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys, err := CreateKeys(path, HS256)
	if err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	i, err := NewIssuer(Config{Keys: keys, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := i.Issue("ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the complaint", func() bool { wants(t, i, "a token of the keys before", text, 0); return log.String() != "" })
	for range 100 {
		if _, _, err := i.Issue("ada", nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "a file of keys cannot be used"); n != 1 {
		t.Errorf("%d complaints: %s", n, log.String())
	}
	if _, err := keys.Rotate(HS256, time.Hour); err == nil {
		t.Error("a broken file was written over")
	}
}

// There is no default key, and none that is weak without being asked for.
func TestNoDefaultSecret(t *testing.T) {
	key, err := NewKey(HS256)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "there are no default ones"},
		{Config{Keys: new(Keys)}, "no key"},
		{Config{Keys: keys, Legacy: []byte{}}, "is empty"},
		{Config{Keys: keys, Legacy: []byte("secret")}, "has 6 bytes, and must have 32"},
		{Config{Legacy: []byte("0123456789abcdef0123456789abcdef")}, "only verifies"},
		{Config{Keys: keys, TTL: time.Millisecond}, "must be 1 s or more"},
		{Config{Keys: keys, MaxSize: 10}, "it must be 256 to"},
	} {
		c.config.Logger = quiet
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%+v: panics: %v", c.config, r)
				}
			}()
			if _, err := NewIssuer(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.config, err, c.want)
			}
		}()
	}
}

// Tokens of the published services: HS256 with a shared secret, sub, exp, jid and
// roles, and no kid.
func TestLegacyTokens(t *testing.T) {
	secret := []byte("secret")
	legacy := fmt.Sprintf(`{"exp":%d,"jid":"3fa8","roles":["user"],"sub":"test"}`, epoch.Add(time.Hour).Unix())
	text := signHS(secret, `{"alg":"HS256","typ":"JWT"}`, legacy)
	i, now := newTestIssuer(t, EdDSA, Config{Legacy: secret, Compat: true, Issuer: "here", Audience: "us"})
	c, err := i.Verify(text)
	if err != nil || c.Subject != "test" || c.ID != "3fa8" || len(c.Roles) != 1 || c.Roles[0] != "user" || c.KeyID != "" {
		t.Errorf("%+v, %v", c, err)
	}
	wants(t, i, "with another iss", signHS(secret, `{"alg":"HS256","typ":"JWT"}`, strings.Replace(legacy, `"sub"`, `"iss":"there","sub"`, 1)), WrongIssuer)
	wants(t, i, "with another secret", signHS([]byte("Secret"), `{"alg":"HS256","typ":"JWT"}`, legacy), BadSignature)
	wants(t, i, "with the legacy secret under a key's name", signHS(secret, `{"alg":"HS256","kid":"`+i.signer().ID+`"}`, legacy), BadSignature)
	wants(t, i, "none", b64(`{"alg":"none","typ":"JWT"}`)+"."+b64(legacy)+".AA", BadSignature)
	if err := i.Revoke(c); err != nil {
		t.Fatal(err)
	}
	wants(t, i, "revoked", text, Revoked)
	*now = now.Add(2 * time.Hour)
	wants(t, i, "expired", text, Expired)
	// Without keys they are made as well: what they hold is what the services' hold.
	old, err := NewIssuer(Config{Legacy: secret, Compat: true, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := old.Issue("test", []string{"user"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := Decode(made)
	if err != nil || string(u.Header) != `{"alg":"HS256","typ":"JWT"}` || strings.Count(string(u.Body), ":") != 4 {
		t.Errorf("%s %s, %v", u.Header, u.Body, err)
	}
}

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
