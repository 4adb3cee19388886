// Package safefile reads and writes small files that hold secrets: written whole or
// not at all, readable by their owner alone, and read again when somebody else has
// changed them. docs/spec/auth.md, section "Files", has the rules.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Write makes a file hold data, in one step that a crash cannot cut in two, with
// the permissions 0600 and the owner that it had.
func Write(path string, data []byte) (err error) {
	path, err = Resolve(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // which makes it 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = keepOwner(f, path)
	}
	if err == nil {
		err = f.Sync() // the name must not be on the disk before the content
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Resolve follows symbolic links, so that a file behind one is exchanged and not
// the link. A file that is not there is itself.
func Resolve(path string) (string, error) {
	file, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return file, err
}

// Read reads a file of at most limit bytes, and tells which version it was.
func Read(path string, limit int64) (data []byte, info os.FileInfo, err error) {
	f, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err = f.Stat(); err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, info, err
}

// A Watch tells when a file may have been changed by others. To ask costs a look
// at the clock; the file is looked at every Interval.
type Watch struct {
	path string
	next atomic.Int64 // of the clock, when to look again
	seen atomic.Pointer[version]
}

// Interval is how long a change may go unnoticed.
const Interval = 250 * time.Millisecond

// freshness is how long a file may be written without a change of its time, which
// has the steps of the system's clock or, on some file systems, of seconds.
const freshness = 2 * time.Second

// A version of a file is what its stat says; nil is no file.
type version struct {
	info  os.FileInfo
	fresh bool // it may change once more and look the same
}

// NewWatch watches a file, of which nothing is known yet.
func NewWatch(path string) *Watch { return &Watch{path: path} }

// Changed reports whether the file may be another than the last one that Saw was
// told of. It is true for one caller an Interval.
func (w *Watch) Changed() bool {
	now := time.Now().UnixNano()
	next := w.next.Load()
	if now < next || !w.next.CompareAndSwap(next, now+int64(Interval)) {
		return false
	}
	return w.Differs()
}

// Differs is Changed at once, for whoever is about to write.
func (w *Watch) Differs() bool {
	seen := w.seen.Load()
	if seen == nil {
		return true
	}
	info, err := os.Stat(w.path)
	if err != nil {
		return seen.info != nil
	}
	return seen.fresh || seen.info == nil || !info.ModTime().Equal(seen.info.ModTime()) ||
		info.Size() != seen.info.Size() || !os.SameFile(info, seen.info)
}

// Saw takes note of the version that was read or written, well or not; nil is no
// file.
func (w *Watch) Saw(info os.FileInfo) {
	w.seen.Store(&version{info: info, fresh: info != nil && time.Since(info.ModTime()).Abs() < freshness})
}
