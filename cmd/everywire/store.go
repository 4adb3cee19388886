package main

import (
	"errors"
	"slices"

	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/disk"
)

// openStore makes kv's store, on disk if the flags say so. Without the service
// there is none.
func (c *serveCmd) openStore() (err error) {
	if !slices.Contains(c.Services, "kv") {
		if c.Data != "" || c.MaxBytes != 0 {
			return usagef("--data and --max-bytes are for the service kv")
		}
		return nil
	}
	opts := kv.Options{ReadDelay: c.ReadDelay, WriteDelay: c.WriteDelay, MaxBytes: int64(c.MaxBytes)}
	if c.Data == "" {
		c.store = kv.New(opts)
		return nil
	}
	db, err := disk.Open(c.Data)
	if err != nil {
		return err
	}
	if c.store, err = kv.Open(opts, db); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// closeStore closes it when no call uses it any more.
func (c *serveCmd) closeStore() error {
	if c.store == nil {
		return nil
	}
	return c.store.Close()
}
