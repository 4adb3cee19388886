package disk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/service/kv"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child(os.Getenv(childEnv))
		return
	}
	goleak.VerifyTestMain(m)
}

// open returns a store on the folder, closed when the test ends.
func open(t testing.TB, dir string) *kv.Store {
	t.Helper()
	db, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := kv.Open(kv.Options{}, db)
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func create(t testing.TB, s *kv.Store, key, value string) {
	t.Helper()
	if _, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte(key), Value: []byte(value)}); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, s *kv.Store, key string) string {
	t.Helper()
	out, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte(key)})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Value)
}

// A folder is made; the file is for its owner alone; one store at a time has it.
func TestOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	s := open(t, dir)
	create(t, s, "k", "v")
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	_, err = Open(dir)
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), FileName) {
		t.Errorf("while it is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, open(t, dir), "k"); got != "v" {
		t.Errorf("after it was closed: %q", got)
	}
}

func TestOpenWhatCannotBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "cannot be made") {
		t.Errorf("a folder that is a file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "cannot be opened") {
		t.Errorf("a file that is a folder: %v", err)
	}
}

// A file that is none of a store's, or not any more, is refused with what is
// wrong, wherever the damage is. It is left as it is.
func TestDamage(t *testing.T) {
	whole := filledFile(t)
	edit := func(f func(*bolt.Tx) error) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := bolt.Open(path, 0o600, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.Update(f), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(f func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, f(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(*testing.T, string)
		want   string
	}{
		{"text", write(func([]byte) []byte { return bytes.Repeat([]byte("no database\n"), 3000) }), "is damaged, or is no file of a store"},
		{"short", write(func(b []byte) []byte { return b[:1000] }), "is damaged, or is no file of a store"},
		{"zeros", write(func(b []byte) []byte { clear(b); return b }), "is damaged, or is no file of a store"},
		{"cut off", write(func(b []byte) []byte { return b[:3*os.Getpagesize()] }), "is damaged"},
		{"a value has changed", write(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("value-17-"), []byte("value-16-")) }), `is damaged: the record of key "key-17" has the checksum`},
		{"a key has changed", write(func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("key-17"), []byte("key-1:")) }), `is damaged: the record of key "key-1:" has the checksum`},
		{"both roots are damaged", write(func(b []byte) []byte {
			b[40] ^= 1
			b[os.Getpagesize()+40] ^= 1
			return b
		}), "is damaged, or is no file of a store"},
		{"pages of zeros", write(func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b }), "is damaged"},
		{"no format", edit(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Delete(formatKey) }), "is damaged: it has no format"},
		{"a later format", edit(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(formatKey, []byte{7: 2}) }), "has format 2, and this program knows 1 only"},
		{"no version", edit(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Delete(versionKey) }), "is damaged: it has no version"},
		{"a version of the past", edit(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(versionKey, []byte{7: 2}) }), "and the last one is 2"},
		{"no items", edit(func(tx *bolt.Tx) error { return tx.DeleteBucket(itemsBucket) }), `it has no "meta" or no "items"`},
		{"no meta", edit(func(tx *bolt.Tx) error { return tx.DeleteBucket(metaBucket) }), `it has no "meta" or no "items"`},
		{"a record that is too short", edit(func(tx *bolt.Tx) error { return tx.Bucket(itemsBucket).Put([]byte("k"), []byte("short")) }), `the record of key "k" has 5 bytes`},
		{"a bucket among the items", edit(func(tx *bolt.Tx) error {
			_, err := tx.Bucket(itemsBucket).CreateBucket([]byte("k"))
			return err
		}), `the record of key "k" has 0 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			c.damage(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			db, err := Open(dir)
			if err == nil {
				_, err = kv.Open(kv.Options{}, db)
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file is another now: %v", err)
			}
		})
	}
}

// filledFile is a file with some items.
func filledFile(t *testing.T) []byte {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 30 {
		create(t, s, fmt.Sprintf("key-%02d", i), fmt.Sprintf("value-%02d-%s", i, strings.Repeat("v", 2000)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

// Whatever bytes are damaged, opening never crashes, and what it lets pass is
// what was stored.
func TestRandomDamage(t *testing.T) {
	whole := filledFile(t)
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := bytes.Clone(whole)
		for range rapid.IntRange(1, 4).Draw(rt, "places") {
			at := rapid.IntRange(0, len(b)-1).Draw(rt, "at")
			if rapid.Bool().Draw(rt, "near a page's head") {
				at -= at % os.Getpagesize()
				at += rapid.IntRange(0, 79).Draw(rt, "offset")
			}
			copy(b[at:], rapid.SliceOfN(rapid.Byte(), 1, 16).Draw(rt, "bytes"))
		}
		b = b[:len(b)-rapid.IntRange(0, 1).Draw(rt, "cut")*rapid.IntRange(0, len(b)).Draw(rt, "off")]
		if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o600); err != nil {
			rt.Fatal(err)
		}
		db, err := Open(dir)
		if errors.Is(err, ErrInUse) {
			rt.Fatal("the last Open has left the file open")
		}
		if err != nil {
			return
		}
		defer func() {
			if err := db.Close(); err != nil {
				rt.Error(err)
			}
		}()
		_, err = db.Load(func(it *kv.Item) {
			n := strings.TrimPrefix(string(it.Key), "key-")
			if !strings.HasPrefix(string(it.Value), "value-"+n+"-") || len(it.Value) != 2009 {
				rt.Errorf("%q is %.20q of %d bytes", it.Key, it.Value, len(it.Value))
			}
		})
		if err != nil && !errors.Is(err, ErrDamaged) {
			rt.Errorf("not said to be damaged: %v", err)
		}
	})
}
