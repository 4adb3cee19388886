// Package stores compares the embedded engines that could keep what kv's store
// holds, on its workload: groups of changes, each group on disk before the next.
// A module of its own: the one that lost is nobody's dependency.
//
//	go -C bench/stores test -bench . -benchmem
package stores

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	bolt "go.etcd.io/bbolt"
)

// A change stores a value, or removes the key if it is nil.
type change struct{ key, value []byte }

// A store keeps groups of changes.
type store interface {
	commit([]change) error
	get(key []byte) ([]byte, error)
	size() int64
	close() error
}

type boltStore struct {
	db   *bolt.DB
	path string
}

var bucket = []byte("items")

func openBolt(dir string) (store, error) {
	path := filepath.Join(dir, "kv.db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		return nil, err
	}
	return &boltStore{db, path}, db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucket)
		return err
	})
}

func (s *boltStore) commit(group []change) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		items := tx.Bucket(bucket)
		for _, c := range group {
			var err error
			if c.value == nil {
				err = items.Delete(c.key)
			} else {
				err = items.Put(c.key, c.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *boltStore) get(key []byte) (value []byte, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		value = append(value, tx.Bucket(bucket).Get(key)...)
		return nil
	})
	return value, err
}

func (s *boltStore) size() int64 {
	info, err := os.Stat(s.path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (s *boltStore) close() error { return s.db.Close() }

type pebbleStore struct{ db *pebble.DB }

func openPebble(dir string) (store, error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}})
	if err != nil {
		return nil, err
	}
	return &pebbleStore{db}, nil
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (s *pebbleStore) commit(group []change) error {
	b := s.db.NewBatch()
	for _, c := range group {
		var err error
		if c.value == nil {
			err = b.Delete(c.key, nil)
		} else {
			err = b.Set(c.key, c.value, nil)
		}
		if err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

func (s *pebbleStore) get(key []byte) ([]byte, error) {
	value, closer, err := s.db.Get(key)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), value...), closer.Close()
}

func (s *pebbleStore) size() int64  { return int64(s.db.Metrics().DiskSpaceUsage()) }
func (s *pebbleStore) close() error { return s.db.Close() }

var engines = []struct {
	name string
	open func(dir string) (store, error)
}{{"bbolt", openBolt}, {"pebble", openPebble}}

// load makes kv's changes: as many that create as that update and that delete, on
// keys and values with exponential sizes.
type load struct {
	rand  *rand.Rand
	pool  []byte
	known [][]byte
	made  uint64
}

func newLoad() *load {
	l := &load{rand: rand.New(rand.NewPCG(1, 1)), pool: make([]byte, 2<<20)}
	_, _ = rand.NewChaCha8([32]byte{}).Read(l.pool)
	return l
}

func (l *load) part(mean float64) []byte {
	n := min(1+int(l.rand.ExpFloat64()*mean), 1<<20)
	at := l.rand.IntN(len(l.pool) - n)
	return l.pool[at : at+n]
}

func (l *load) next() change {
	op := l.rand.IntN(3)
	if len(l.known) == 0 || op == 0 && len(l.known) < 1000 {
		l.made++
		key := append(binary.AppendUvarint(nil, l.made), l.part(64)...)
		l.known = append(l.known, key)
		return change{key, l.part(64 << 10)}
	}
	i := l.rand.IntN(len(l.known))
	key := l.known[i]
	if op == 1 {
		return change{key, l.part(64 << 10)}
	}
	l.known[i] = l.known[len(l.known)-1]
	l.known = l.known[:len(l.known)-1]
	return change{key, nil}
}

// One operation is a group, on disk.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		for _, e := range engines {
			b.Run(fmt.Sprintf("group=%d/%s", n, e.name), func(b *testing.B) {
				s, err := e.open(b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				l := newLoad()
				group := make([]change, n)
				stored := int64(0)
				for b.Loop() {
					for i := range group {
						group[i] = l.next()
						stored += int64(len(group[i].value))
					}
					if err := s.commit(group); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(s.size())/float64(max(stored, 1)), "disk/stored")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/change")
				if err := s.close(); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			s, err := e.open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			l := newLoad()
			for range 20 {
				group := make([]change, 64)
				for i := range group {
					group[i] = l.next()
				}
				if err := s.commit(group); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, err := s.get(l.known[l.rand.IntN(len(l.known))]); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// Both keep what was committed.
func TestEngines(t *testing.T) {
	for _, e := range engines {
		dir := t.TempDir()
		s, err := e.open(dir)
		if err != nil {
			t.Fatal(err)
		}
		want := errors.Join(s.commit([]change{{[]byte("a"), []byte("1")}, {[]byte("b"), []byte("2")}}), s.commit([]change{{[]byte("a"), nil}}), s.close())
		if want != nil {
			t.Fatalf("%s: %v", e.name, want)
		}
		if s, err = e.open(dir); err != nil {
			t.Fatal(err)
		}
		if b, err := s.get([]byte("b")); err != nil || string(b) != "2" {
			t.Errorf("%s: b is %q, %v", e.name, b, err)
		}
		if a, _ := s.get([]byte("a")); len(a) != 0 {
			t.Errorf("%s: a is %q", e.name, a)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
