//go:build !unix

package disk

import (
	"os"
	"syscall"
)

// noSpace are the errors of a disk that is full: Windows' ERROR_HANDLE_DISK_FULL
// and ERROR_DISK_FULL.
var noSpace = []error{syscall.Errno(39), syscall.Errno(112)}

// syncDir does nothing: a folder cannot be synced there.
func syncDir(string) error { return nil }

// unlock does nothing: the lock ends with the file's handle.
func unlock(*os.File) error { return nil }
