// Package disk keeps what a kv.Store holds in a file, by way of bbolt: a B+ tree
// whose pages are never overwritten while they are part of the last commit, so
// that a process or a system that stops in the middle of one leaves the state
// before it. docs/rfc/0020-kv.md says why bbolt.
//
// The file is DIR/kv.db. It has two buckets:
//
//	items  the key -> checksum, version, expiry, value
//	meta   "format" -> 1; "version" -> the version of the last change
//
// Numbers are 64 bits, the highest byte first. The checksum is the CRC-32C of
// the key and what follows the checksum: bbolt has one of its root only.
package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/everywire/everywire/service/kv"
)

// FileName is the name of the file in the folder.
const FileName = "kv.db"

// ErrInUse is what Open's error is if another process, or this one, has the
// file open.
var ErrInUse = errors.New("is in use by another process")

// ErrDamaged is what an error is if the file is not what this package has
// written.
var ErrDamaged = errors.New("is damaged")

// lockTimeout is how long Open waits for a process that is just ending.
const lockTimeout = time.Second

const format = 1

var (
	itemsBucket = []byte("items")
	metaBucket  = []byte("meta")
	formatKey   = []byte("format")
	versionKey  = []byte("version")
)

// A DB is an open file. It is a [kv.Durable].
type DB struct {
	path    string
	bolt    *bolt.DB
	version int64 // of the last change
}

var _ kv.Durable = (*DB)(nil)

// Open opens the file in a folder, and makes both if they are not there.
func Open(dir string) (db *DB, err error) {
	path := filepath.Join(dir, FileName)
	defer func() {
		if err != nil {
			err = fmt.Errorf("kv: %s %w", path, err)
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot be made: %w", err)
	}
	_, err = os.Stat(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	db = &DB{path: path}
	if err := db.open(); err != nil {
		return nil, err
	}
	if err := db.begin(); err != nil {
		return nil, errors.Join(err, db.bolt.Close())
	}
	if isNew {
		if err := syncDir(dir); err != nil {
			return nil, errors.Join(err, db.bolt.Close())
		}
	}
	return db, nil
}

func (db *DB) open() (err error) {
	var file *os.File // as long as nobody else will close it
	defer func() {
		if err != nil && file != nil {
			// If bbolt has panicked it has left the file open, and locked: its map
			// of the file would keep the lock beyond a Close.
			_ = unlock(file)
			_ = file.Close()
		}
	}()
	defer guard(&err)()
	db.bolt, err = bolt.Open(db.path, 0o600, &bolt.Options{
		Timeout:      lockTimeout,
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
		OpenFile: func(name string, flag int, perm os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, perm) //nolint:gosec // the user names the folder
			return file, err
		},
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		return ErrInUse
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return fmt.Errorf("%w, or is no file of a store: %w", ErrDamaged, err)
	}
	return fmt.Errorf("cannot be opened: %w", err)
}

// begin makes the buckets of a new file, and reads the version of an old one.
func (db *DB) begin() (err error) {
	defer guard(&err)()
	isNew := false
	err = db.bolt.View(func(tx *bolt.Tx) error {
		meta, items := tx.Bucket(metaBucket), tx.Bucket(itemsBucket)
		if meta == nil && items == nil {
			isNew = true
			return nil
		}
		if meta == nil || items == nil {
			return fmt.Errorf("%w: it has no %q or no %q", ErrDamaged, metaBucket, itemsBucket)
		}
		n, ok := number(meta.Get(formatKey))
		if !ok {
			return fmt.Errorf("%w: it has no format", ErrDamaged)
		}
		if n != format {
			return fmt.Errorf("has format %d, and this program knows %d only", n, format)
		}
		if db.version, ok = number(meta.Get(versionKey)); !ok {
			return fmt.Errorf("%w: it has no version", ErrDamaged)
		}
		return nil
	})
	if err == nil && isNew {
		err = db.bolt.Update(makeBuckets)
	}
	return err
}

func makeBuckets(tx *bolt.Tx) error {
	meta, err := tx.CreateBucket(metaBucket)
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucket(itemsBucket); err != nil {
		return err
	}
	return errors.Join(meta.Put(formatKey, binary.BigEndian.AppendUint64(nil, format)),
		meta.Put(versionKey, make([]byte, 8)))
}

// Load reads every item.
func (db *DB) Load(each func(*kv.Item)) (version int64, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("kv: %s %w", db.path, err)
		}
	}()
	defer guard(&err)()
	err = db.bolt.View(func(tx *bolt.Tx) error {
		return tx.Bucket(itemsBucket).ForEach(func(key, record []byte) error {
			it, err := decode(key, record)
			if err == nil && it.Version > db.version {
				err = fmt.Errorf("%w: key %q has version %d, and the last one is %d", ErrDamaged, key, it.Version, db.version)
			}
			if err != nil {
				return err
			}
			each(it)
			return nil
		})
	})
	return db.version, err
}

// Commit keeps changes.
func (db *DB) Commit(changes []kv.Change) error {
	version := changes[len(changes)-1].Item.Version
	if err := db.commit(changes, version); err != nil {
		return db.failed(err)
	}
	db.version = version
	return nil
}

func (db *DB) commit(changes []kv.Change, version int64) (err error) {
	defer guard(&err)()
	return db.bolt.Update(func(tx *bolt.Tx) error {
		items := tx.Bucket(itemsBucket)
		for _, c := range changes {
			var err error
			if c.Kind.Gone() {
				err = items.Delete(c.Item.Key)
			} else {
				err = items.Put(c.Item.Key, encode(c.Item))
			}
			if err != nil {
				return err
			}
		}
		return tx.Bucket(metaBucket).Put(versionKey, binary.BigEndian.AppendUint64(nil, uint64(version)))
	})
}

// failed tells a commit that changed nothing, because there was no room, from
// one of which that is not known.
func (db *DB) failed(cause error) error {
	if !isNoSpace(cause) {
		return cause
	}
	if version, err := db.storedVersion(); err != nil || version != db.version {
		return errors.Join(cause, err)
	}
	return fmt.Errorf("%w: %s: %w", kv.ErrNoSpace, db.path, cause)
}

func (db *DB) storedVersion() (version int64, err error) {
	defer guard(&err)()
	err = db.bolt.View(func(tx *bolt.Tx) error {
		version, _ = number(tx.Bucket(metaBucket).Get(versionKey))
		return nil
	})
	return version, err
}

// isNoSpace also reads the text: bbolt wraps some of its causes as text only.
func isNoSpace(err error) bool {
	for _, cause := range noSpace {
		if errors.Is(err, cause) || strings.Contains(err.Error(), cause.Error()) {
			return true
		}
	}
	return errors.Is(err, berrors.ErrMaxSizeReached)
}

// Close closes the file.
func (db *DB) Close() error { return db.bolt.Close() }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const headLen = 4 + 8 + 8

func encode(it *kv.Item) []byte {
	r := make([]byte, headLen, headLen+len(it.Value))
	binary.BigEndian.PutUint64(r[4:], uint64(it.Version))
	binary.BigEndian.PutUint64(r[12:], uint64(it.Expires))
	r = append(r, it.Value...)
	binary.BigEndian.PutUint32(r, checksum(it.Key, r))
	return r
}

func decode(key, record []byte) (*kv.Item, error) {
	if len(record) < headLen {
		return nil, fmt.Errorf("%w: the record of key %q has %d bytes", ErrDamaged, key, len(record))
	}
	if got, want := checksum(key, record), binary.BigEndian.Uint32(record); got != want {
		return nil, fmt.Errorf("%w: the record of key %q has the checksum %08x, want %08x", ErrDamaged, key, got, want)
	}
	version, expires := int64(binary.BigEndian.Uint64(record[4:])), int64(binary.BigEndian.Uint64(record[12:]))
	return kv.NewItem(key, record[headLen:], version, expires), nil
}

func checksum(key, record []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, record[4:])
}

func number(b []byte) (int64, bool) {
	if len(b) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(b)), true
}

// guard makes errors of what bbolt says by panics: it takes its pages as they
// are, so a damaged one is an impossible index, or an address where the file has
// nothing. What guard returns is deferred.
func guard(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if p := recover(); p != nil {
			*err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}
}
