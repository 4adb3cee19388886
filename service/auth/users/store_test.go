package users

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func openTest(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{Argon2: little, MinPassword: 1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return s
}

// Accounts outlive the store, in a table and in a database, and mean the same.
func TestStores(t *testing.T) {
	for _, name := range []string{"users.csv", "users.db"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := Open(path, Options{Argon2: little, MinPassword: 1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		ada := User{Name: "ada", Enabled: true, Roles: []string{"admin", "staff"}, Claims: []string{"a,\"b\"", "c"}}
		if err := errors.Join(
			s.Put(t.Context(), ada, "secret"),
			s.Put(t.Context(), User{Name: "bob", Claims: []string{"x"}}, ""),
			s.Put(t.Context(), User{Name: "gone", Enabled: true}, "p"),
			s.Delete("gone"),
			s.SetEnabled("bob", true),
			s.SetRoles("bob", []string{"r"}),
		); err != nil {
			t.Fatal(err)
		}
		for err, got := range map[error]error{
			ErrNotFound: errors.Join(s.Delete("gone")), ErrInvalid: s.SetRoles("bob", []string{"a:b"}),
		} {
			if !errors.Is(got, err) {
				t.Errorf("%s: %v, want %v", name, got, err)
			}
		}
		if err := s.SetEnabled("nobody", true); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: permissions %v, %v", name, info.Mode(), err)
		}
		data, err := os.ReadFile(path)
		if err != nil || bytes.Contains(data, []byte("secret")) {
			t.Errorf("%s: a password stands in the file, %v", name, err)
		}
		s = openTest(t, path)
		if got := fmt.Sprintf("%+v", s.List()); got != "[{Name:ada Enabled:true Roles:[admin staff] Claims:[a,\"b\" c] HasPassword:true Hash:argon2id} {Name:bob Enabled:true Roles:[r] Claims:[x] HasPassword:false Hash:argon2id}]" {
			t.Errorf("%s: %s", name, got)
		}
		if _, err := s.Verify(t.Context(), "ada", "secret"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A hash that is upgraded at a login is on the disk.
func TestUpgradeIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(path, []byte(oldFile), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openTest(t, path).Verify(t.Context(), "test", "secret"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(data, []byte("test,\"$argon2id$")) || !bytes.Contains(data, []byte("off,"+vector+",false,\n")) {
		t.Errorf("the file is\n%s%v", data, err)
	}
	if _, err := openTest(t, path).Verify(t.Context(), "test", "secret"); err != nil {
		t.Error(err)
	}
}

// Several stores, as those of several processes, change one file at once: nothing is
// lost, and nobody reads half a file.
func TestOneFileManyStores(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are not locked there")
	}
	path := filepath.Join(t.TempDir(), "users.csv")
	var wg sync.WaitGroup
	const stores, each = 4, 10
	for n := range stores {
		s := openTest(t, path)
		wg.Go(func() {
			for i := range each {
				if err := s.Put(t.Context(), User{Name: fmt.Sprintf("user-%d-%d", n, i), Enabled: true}, "p"); err != nil {
					t.Error(err)
				}
				if _, err := s.Verify(t.Context(), fmt.Sprintf("user-%d-%d", n, i), "p"); err != nil {
					t.Errorf("store %d, user %d: %v", n, i, err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(openTest(t, path).List()); n != stores*each {
		t.Errorf("%d users are in the file, want %d", n, stores*each)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that others have changed is read again; one that is broken is not, is
// complained of once, and is not written over.
func TestFileOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.csv")
	var log bytes.Buffer
	if err := os.WriteFile(path, []byte(oldFile), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, Options{Argon2: little, MinPassword: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s has not come about", what)
			}
		}
	}
	has := func(name string) bool { _, there := s.Get(name); return there }
	if err := os.WriteFile(path, []byte(oldFile+"new,"+vector+",true,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until("the new user", func() bool { return has("new") })
	const broken = "username,password,enabled,roles\nx,hunter2,true,\n"
	if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	until("the complaint", func() bool { s.Get("x"); return log.Len() > 0 })
	if !has("test") || !has("new") || has("x") {
		t.Error("what was there before is not in force")
	}
	if err := s.Put(t.Context(), User{Name: "more"}, "p"); err == nil || !strings.Contains(err.Error(), "users.csv:2:3: the password is neither") {
		t.Errorf("a change of a broken file: %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != broken {
		t.Errorf("the broken file was written over: %q, %v", data, err)
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || strings.Contains(log.String(), "hunter2") {
		t.Errorf("%d complaints: %s", n, log.String())
	}
}

func TestOpenFaults(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	openTest(t, filepath.Join(dir, "used.db"))
	for path, want := range map[string]string{
		filepath.Join(dir, "users.txt"):       "ends neither in .csv nor in .db",
		file("bad.csv", "a,b,c,d\n"):          `bad.csv:1:1: column 1 is "a"`,
		file("bad.db", "this is no database"): "cannot be opened",
		filepath.Join(dir, "used.db"):         "is in use by another process",
	} {
		s, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", path, s, err, want)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.csv"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "dir.csv"), Options{}); err == nil {
		t.Error("a folder is opened as a table")
	}
	if _, err := Open(filepath.Join(dir, "none", "users.db"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	for _, o := range []Options{{Hash: 7}, {MinPassword: 10, MaxPassword: 9}, {MaxPassword: 1 << 20}, {Hashes: -1}, {Queue: -1}, {Argon2: Argon2{Memory: 1}}, {Argon2: Argon2{Memory: 1 << 30, Time: 1, Threads: 1}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// A record that has decayed is not taken for an account.
func TestDamagedDatabase(t *testing.T) {
	a := newAccount(User{Name: "ada", Enabled: true}, nil)
	value, err := encodeRecord(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeRecord("ada", value); err != nil {
		t.Error(err)
	}
	if _, err := decodeRecord("bob", value); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another name: %v", err)
	}
	for i := range value {
		bad := bytes.Clone(value)
		bad[i] ^= 1
		if _, err := decodeRecord("ada", bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("with byte %d altered: %v", i, err)
		}
	}
}

func TestValidate(t *testing.T) {
	s := newTestStore(t, Options{})
	for _, u := range []User{
		{}, {Name: " a"}, {Name: "a\n"}, {Name: "\xff"}, {Name: strings.Repeat("n", 257)}, {Name: "a", Roles: []string{""}}, {Name: "a", Roles: []string{"x:y"}},
		{Name: "a", Claims: []string{""}}, {Name: "a", Roles: make([]string, MaxRoles+1)}, {Name: "a", Claims: make([]string, MaxClaims+1)},
	} {
		if err := s.Put(t.Context(), u, "p"); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", u, err)
		}
	}
	if err := s.Put(t.Context(), User{Name: "a", Claims: []string{"tell\x00tale"}}, "p"); err == nil || strings.Contains(err.Error(), "tale") {
		t.Errorf("a claim is shown: %v", err)
	}
	if n := len(s.List()); n != 0 {
		t.Errorf("%d users are there", n)
	}
}
