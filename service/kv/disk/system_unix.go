//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// noSpace are the errors of a disk, or a user's share of it, that is full, and of
// a file that must not grow.
var noSpace = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}

// syncDir makes a new file's name outlive the system: the file's own sync does
// not.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the user names the folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// unlock gives up bbolt's lock.
func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
