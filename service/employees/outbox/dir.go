package outbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Dir delivers into a folder: each message becomes a file of its own, whose
// name begins with the date and ends in .eml. It is there whole or not at all.
type Dir string

// Deliver implements [Transport].
func (d Dir) Deliver(_ context.Context, m *Mail) (err error) {
	f, err := os.CreateTemp(string(d), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(m.Data)
	if err == nil {
		err = f.Sync() // the name must not be on the disk before the content
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	// The ID's first part is random letters and digits.
	id, _, _ := strings.Cut(m.ID, "@")
	return os.Rename(f.Name(), filepath.Join(string(d), m.Date.UTC().Format("20060102T150405Z")+"-"+id+".eml"))
}
