//go:build !unix

package safefile

import "os"

func keepOwner(*os.File, string) error { return nil }

// SyncDir does nothing: folders cannot be synced here.
func SyncDir(string) error { return nil }

// Lock does nothing here: two processes must not change a file at the same time.
func Lock(string) (unlock func(), err error) { return func() {}, nil }

// Private is true: who may read a file is not in its mode here.
func Private(os.FileInfo) bool { return true }
