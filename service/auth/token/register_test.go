package token

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

func openTestRegister(t testing.TB, path string) *Register {
	t.Helper()
	r, err := OpenRegister(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRevocation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register")
	key, err := NewKey(HS256)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := NewKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	one, now := newTestIssuer(t, HS256, Config{Keys: keys, Register: openTestRegister(t, path)})
	two, _ := newTestIssuer(t, HS256, Config{Keys: keys, Register: openTestRegister(t, path)})
	text, c, err := one.Issue("ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := one.Issue("ada", nil)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, two, "before", text, 0)
	if err := one.Revoke(c); err != nil {
		t.Fatal(err)
	}
	wants(t, one, "revoked here", text, Revoked)
	eventually(t, "the revocation of another process", func() bool { _, err := two.Verify(text); return ReasonOf(err) == Revoked })
	three, _ := newTestIssuer(t, HS256, Config{Keys: keys, Register: openTestRegister(t, path)})
	wants(t, three, "after a restart", text, Revoked)
	wants(t, three, "another token", kept, 0)
	for id, want := range map[string]error{"": ErrInvalid, strings.Repeat("x", 257): ErrInvalid} {
		if err := one.RevokeID(id, time.Time{}); !errors.Is(err, want) {
			t.Errorf("an id of %d bytes: %v", len(id), err)
		}
	}
	if err := one.RevokeID("over", now.Add(-time.Hour)); err != nil || len(one.config.Register.gone) != 1 {
		t.Errorf("what is over is remembered: %v", err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
}

// What is remembered is what can still matter: in memory and in the file.
func TestRegisterForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register")
	i, now := newTestIssuer(t, HS256, Config{Register: openTestRegister(t, path)})
	r := i.config.Register
	r.prune, r.spare = 16, 16
	for n := range 500 {
		if err := i.RevokeID(fmt.Sprint("id", n), now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Second)
	}
	if n := len(r.gone); n > 200 {
		t.Errorf("%d revocations are remembered of which 71 matter", n)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Count(data, []byte("\n")) > 400 {
		t.Errorf("the file has %d lines, %v", bytes.Count(data, []byte("\n")), err)
	}
	again := openTestRegister(t, path)
	if _, gone := again.gone["id499"]; !gone {
		t.Error("the last is forgotten")
	}
}

func TestRegisterIsBounded(t *testing.T) {
	r := NewRegister()
	r.most = 10
	for n := range 10 {
		if err := r.revoke(strconv.Itoa(n), epoch.Add(time.Minute), epoch); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := r.revoke("one more", epoch.Add(time.Hour), epoch); !errors.Is(err, ErrFull) {
			t.Errorf("got %v", err)
		}
	}
	if err := r.revoke("later", epoch.Add(2*time.Hour), epoch.Add(time.Hour)); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
}

func TestAPITokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register")
	i, now := newTestIssuer(t, HS256, Config{Register: openTestRegister(t, path)})
	text, made, err := i.MakeAPI(APISpec{Name: "backup", User: "robot", Roles: []string{"reader"}, TTL: 1000 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	c, err := i.Verify(text)
	if err != nil || c.Subject != "robot" || c.ID != made.ID || !c.API || len(c.Roles) != 1 || !c.Expires.Equal(epoch.Add(1000*time.Hour)) {
		t.Errorf("%+v, %v", c, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || bytes.Contains(data, []byte(text[4:])) || bytes.Contains(data, []byte(text[4:20])) {
		t.Errorf("the file has the token: %v", err)
	}
	if list := i.APITokens(); len(list) != 1 || list[0].Name != "backup" || !list[0].LastUsed.Equal(epoch) {
		t.Errorf("the list is %+v", list)
	}
	for n := range text {
		for _, b := range []byte("a7A=") {
			bad := text[:n] + string(b) + text[n+1:]
			if _, err := i.Verify(bad); bad != text && err == nil {
				t.Fatalf("with byte %d altered it is taken", n)
			}
		}
	}
	other, _ := newTestIssuer(t, HS256, Config{})
	wants(t, other, "another register's", text, UnknownKey)
	*now = epoch.Add(1000 * time.Hour)
	wants(t, i, "expired", text, Expired)
	*now = epoch
	if err := i.DeleteAPI(made.ID); err != nil {
		t.Fatal(err)
	}
	wants(t, i, "deleted", text, UnknownKey)
	if err := i.DeleteAPI(made.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	wants(t, func() *Issuer { j, _ := newTestIssuer(t, HS256, Config{Register: openTestRegister(t, path)}); return j }(), "after a restart", text, UnknownKey)
	second, made2, err := i.MakeAPI(APISpec{User: "robot"})
	if err != nil {
		t.Fatal(err)
	}
	if err := i.RevokeID(made2.ID, made2.Expires); err != nil {
		t.Fatal(err)
	}
	wants(t, i, "revoked like any other", second, Revoked)
	for _, s := range []APISpec{{}, {User: "u", TTL: time.Millisecond}, {User: "u", TTL: 100 * 365 * 24 * time.Hour}, {User: "\xff"}, {User: "u", Name: strings.Repeat("n", 257)}} {
		if _, _, err := i.MakeAPI(s); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// Several processes revoke at once: nothing is lost.
func TestOneRegisterManyProcesses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked there")
	}
	path := filepath.Join(t.TempDir(), "register")
	var wg sync.WaitGroup
	const processes, each = 4, 25
	for n := range processes {
		r := openTestRegister(t, path)
		wg.Go(func() {
			for k := range each {
				now := time.Now()
				if err := r.revoke(fmt.Sprintf("%d-%d", n, k), now.Add(time.Hour), now); err != nil {
					t.Error(err)
				}
				if !r.revoked(fmt.Sprintf("%d-%d", n, k)) {
					t.Error("what was revoked is not")
				}
			}
		})
	}
	wg.Wait()
	if n := len(openTestRegister(t, path).gone); n != processes*each {
		t.Errorf("%d are in the file, want %d", n, processes*each)
	}
}

// A crash may cut off the last line, and nothing else.
func TestTornRegister(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register")
	r := openTestRegister(t, path)
	now := time.Now()
	for _, id := range []string{"a", "b"} {
		if err := r.revoke(id, now.Add(time.Hour), now); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		r := openTestRegister(t, path)
		if !r.revoked("a") || r.revoked("b") {
			t.Fatalf("cut at %d of %d: %v", cut, len(whole), r.gone)
		}
		if cut%7 != 0 {
			continue
		}
		if err := r.revoke("c", now.Add(time.Hour), now); err != nil {
			t.Fatal(err)
		}
		if again := openTestRegister(t, path); !again.revoked("a") || !again.revoked("c") {
			t.Fatalf("cut at %d, and another revoked: %v", cut, again.gone)
		}
	}
	for _, bad := range []string{"no register\n", strings.Replace(string(whole), `"version":1`, `"version":2`, 1), string(whole) + "{}\n", string(whole) + `{"revoke":7}` + "\n", string(whole) + `{"what":"x"}` + "\n"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenRegister(path, quiet); err == nil || !strings.Contains(err.Error(), "register:") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A file that was written anew is known as such, even where it looks like the one
// before.
func TestRegisterWrittenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "register")
	now := time.Now()
	make1 := func(id string) []byte {
		r := openTestRegister(t, path)
		if err := r.revoke(id, now.Add(time.Hour), now); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || os.Remove(path) != nil {
			t.Fatal(err)
		}
		return data
	}
	first, second := make1(uuid.NewString()), make1(uuid.NewString())
	if err := os.WriteFile(path, first, 0o600); err != nil {
		t.Fatal(err)
	}
	r := openTestRegister(t, path)
	if err := os.WriteFile(path, second, 0o600); err != nil { // the same inode and size
		t.Fatal(err)
	}
	id := strings.Split(string(second), `"revoke":"`)[1][:36]
	eventually(t, "the other file", func() bool { return r.revoked(id) })
	if len(r.gone) != 1 {
		t.Errorf("it has %v", r.gone)
	}
}
