package users

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// A database is a store's file of bbolt. It has two buckets: "users", with the
// CRC-32C of the name and the rest, and an account as JSON, by name; and "meta"
// with "format". Only one process can have it open.
type database struct {
	bolt  *bolt.DB
	first *table // until it is taken
}

// lockTimeout is how long it is waited for a process that is just ending.
const lockTimeout = time.Second

const format = 1

var (
	usersBucket = []byte("users")
	metaBucket  = []byte("meta")
	formatKey   = []byte("format")
)

// A record is an account in the database.
type record struct {
	Enabled  bool     `json:"enabled"`
	Password string   `json:"password,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	Claims   []string `json:"claims,omitempty"`
}

func openDB(path string) (*database, error) {
	b, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, FreelistType: bolt.FreelistMapType, NoStatistics: true})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("%s %w", path, ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("%s cannot be opened: %w", path, err)
	}
	db := &database{bolt: b, first: newTable()}
	if err := b.Update(db.begin1); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", path, err), b.Close())
	}
	return db, nil
}

func (db *database) begin1(tx *bolt.Tx) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	users, err := tx.CreateBucketIfNotExists(usersBucket)
	if err != nil {
		return err
	}
	switch got := meta.Get(formatKey); {
	case got == nil:
		if err := meta.Put(formatKey, []byte{format}); err != nil {
			return err
		}
	case len(got) != 1 || got[0] != format:
		return fmt.Errorf("has the format %v, and this program knows %d only", got, format)
	}
	return users.ForEach(func(name, value []byte) error {
		a, err := decodeRecord(string(name), value)
		if err != nil {
			return err
		}
		db.first.set(a.name, a)
		return nil
	})
}

func (*database) changed() bool                  { return false }
func (*database) begin() (end func(), err error) { return func() {}, nil }
func (db *database) close() error                { return db.bolt.Close() }

func (db *database) load() (*table, error) {
	t := db.first
	db.first = nil
	return t, nil
}

func (db *database) save(_ *table, name string, next *account) error {
	return db.bolt.Update(func(tx *bolt.Tx) error {
		users := tx.Bucket(usersBucket)
		if next == nil {
			return users.Delete([]byte(name))
		}
		value, err := encodeRecord(next)
		if err != nil {
			return err
		}
		return users.Put([]byte(name), value)
	})
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRecord(a *account) ([]byte, error) {
	text, err := json.Marshal(record{Enabled: a.enabled, Password: a.digest.String(), Roles: a.roles, Claims: a.claims})
	return append(binary.BigEndian.AppendUint32(nil, checksum(a.name, text)), text...), err
}

func decodeRecord(name string, value []byte) (*account, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(name, value[4:]) {
		return nil, fmt.Errorf("%w: the record of user %q has another checksum", ErrDamaged, name)
	}
	var r record
	if err := json.Unmarshal(value[4:], &r); err != nil {
		return nil, fmt.Errorf("%w: the record of user %q: %w", ErrDamaged, name, err)
	}
	d, err := parseDigest(r.Password)
	if err != nil {
		return nil, fmt.Errorf("%w: the record of user %q: %w", ErrDamaged, name, err)
	}
	return newAccount(User{Name: name, Enabled: r.Enabled, Roles: r.Roles, Claims: r.Claims}, d), nil
}

func checksum(name string, text []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(name), castagnoli), castagnoli, text)
}
