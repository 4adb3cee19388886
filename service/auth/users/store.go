package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// A Store keeps accounts. Its methods may be called by any number of goroutines;
// those that read take no lock.
type Store struct {
	options Options
	gate    *gate
	hashes  atomic.Uint64
	trace   func(form) // for tests: told of each hash
	file    backend    // nil: in memory

	table atomic.Pointer[table] // exchanged whole when a file is read again
	mu    sync.Mutex            // of changes
	said  string                // the error that was logged last
}

// A backend keeps a store's accounts outside of the process.
type backend interface {
	// changed reports whether load may find something new. It takes no lock.
	changed() bool
	// load returns what others have made of the file since the last time, or nil
	// if that is nothing. It and what follows are called by one goroutine at a time.
	load() (*table, error)
	// begin keeps other processes' changes out until end.
	begin() (end func(), err error)
	// save keeps a change: next is nil if the account is gone. The table has it.
	save(t *table, name string, next *account) error
	close() error
}

// New makes a store in memory, for tests.
func New(o Options) (*Store, error) { return newStore(o, nil) }

// Open opens the accounts in a file: one that ends in .csv is a table as the
// published services had it, one that ends in .db is an embedded database. A file
// that is not there is made by the first change; its folder must be there.
func Open(path string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	var file backend
	switch filepath.Ext(path) {
	case ".csv":
		file = openCSV(path)
	case ".db":
		file, err = openDB(path)
	default:
		err = fmt.Errorf("%s ends neither in .csv nor in .db", path)
	}
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	s, err := newStore(o, file)
	if err != nil {
		return nil, errors.Join(err, file.close())
	}
	return s, nil
}

func newStore(o Options, file backend) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, gate: newGate(o.Hashes, o.Queue), file: file}
	first := newTable()
	if file != nil {
		read, err := file.load()
		if err != nil {
			return nil, fmt.Errorf("users: %w", err)
		}
		if read != nil {
			first = read
		}
	}
	s.table.Store(first)
	return s, nil
}

// Close gives up the file.
func (s *Store) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.close()
}

// current is the table that holds now, read again if its file has changed.
func (s *Store) current() *table {
	if s.file != nil && s.file.changed() && s.mu.TryLock() { // else somebody is at it
		s.reload()
		s.mu.Unlock()
	}
	return s.table.Load()
}

// reload takes over what others have made of the file. If that is broken, what was
// there before stays in force.
func (s *Store) reload() {
	t, err := s.file.load()
	if t != nil {
		s.table.Store(t)
		s.said = ""
	}
	if err != nil && err.Error() != s.said {
		s.said = err.Error()
		s.options.Logger.Error("a file of users cannot be used: what it held before stays in force", slog.Any("error", err))
	}
}

// Get returns an account.
func (s *Store) Get(name string) (User, bool) {
	a := s.current().get(name)
	if a == nil {
		return User{}, false
	}
	return a.user(), true
}

// List returns all accounts, in the order of their names.
func (s *Store) List() []User {
	var all []User
	s.current().each(func(a *account) { all = append(all, a.user()) })
	slices.SortFunc(all, func(a, b User) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Put makes an account, or changes the one that has the name. An empty password
// keeps the one that is there; an account without one is logged in to by claims
// alone. HasPassword and Hash are not looked at.
func (s *Store) Put(ctx context.Context, u User, password string) error {
	if err := validate(&u); err != nil {
		return err
	}
	var fresh *digest
	if password != "" {
		if n := len(password); n < s.options.MinPassword || n > s.options.MaxPassword {
			return fmt.Errorf("%w: the password has %d bytes, and must have %d to %d", ErrInvalid, n, s.options.MinPassword, s.options.MaxPassword)
		}
		if err := s.gate.enter(ctx); err != nil {
			return err
		}
		fresh = s.newDigest(s.wanted(), u.Name, password)
		s.gate.leave()
	}
	return s.change(u.Name, func(old *account) (*account, error) {
		next := newAccount(u, fresh)
		if old != nil {
			next.position = old.position
			if fresh == nil {
				next.digest = old.digest
			}
		}
		return next, nil
	})
}

// Delete removes an account.
func (s *Store) Delete(name string) error {
	return s.change(name, func(old *account) (*account, error) {
		if old == nil {
			return nil, ErrNotFound
		}
		return nil, nil // nothing is what is left of it
	})
}

// SetEnabled lets an account log in, or not.
func (s *Store) SetEnabled(name string, enabled bool) error {
	return s.edit(name, func(u *User) { u.Enabled = enabled })
}

// SetRoles exchanges an account's roles. Tokens that were issued keep theirs.
func (s *Store) SetRoles(name string, roles []string) error {
	return s.edit(name, func(u *User) { u.Roles = roles })
}

func (s *Store) edit(name string, edit func(*User)) error {
	return s.change(name, func(old *account) (*account, error) {
		if old == nil {
			return nil, ErrNotFound
		}
		u := old.user()
		edit(&u)
		if err := validate(&u); err != nil {
			return nil, err
		}
		next := newAccount(u, old.digest)
		next.position = old.position
		return next, nil
	})
}

// errNoChange ends a change that has nothing to do.
var errNoChange = errors.New("nothing to change")

// change exchanges an account: after what others have changed in the file, and
// kept there before anybody sees it.
func (s *Store) change(name string, next func(old *account) (*account, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		end, err := s.file.begin()
		if err != nil {
			return fmt.Errorf("users: %w", err)
		}
		defer end()
		switch t, err := s.file.load(); {
		case err != nil:
			return fmt.Errorf("users: %w", err)
		case t != nil:
			s.table.Store(t)
		}
	}
	t := s.table.Load()
	old := t.get(name)
	a, err := next(old)
	if errors.Is(err, errNoChange) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.file == nil {
		t.set(name, a)
		return nil
	}
	// A file is written from a table, so it has the change first; nobody else
	// changes it meanwhile, and what a reader sees too early it would have seen a
	// moment later, unless the file cannot be written.
	t.set(name, a)
	if err := s.file.save(t, name, a); err != nil {
		t.set(name, old)
		return fmt.Errorf("users: %w", err)
	}
	return nil
}
