//go:build unix

package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// keepOwner gives a new file the owner of the one that it is to replace.
func keepOwner(f *os.File, path string) error {
	old, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	was, ok1 := old.Sys().(*syscall.Stat_t)
	is, ok2 := mine.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Uid == is.Uid {
		return nil
	}
	return f.Chown(int(was.Uid), int(was.Gid))
}

// SyncDir makes a new name in a folder outlive the system.
func SyncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the user names the folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Lock keeps other processes that lock from changing the files in a file's folder.
// The lock is on the folder, as the file itself is exchanged.
func Lock(path string) (unlock func(), err error) {
	path, err = Resolve(path)
	if err != nil {
		return nil, err
	}
	d, err := os.Open(filepath.Dir(path)) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", filepath.Dir(path), err), d.Close())
	}
	return func() { _ = d.Close() }, nil
}

// Private reports whether others than the owner may read a file.
func Private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
