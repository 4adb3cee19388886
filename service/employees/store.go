package employees

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A store holds the list. Employees in it are replaced and never changed, so
// that replies may share them.
type store struct {
	max int

	mu     sync.RWMutex
	all    []*Employee // in the order of their IDs
	lastID int64
}

// publish tells of a change. It is called under the lock, so that events have
// the order of the changes.
type publish func(kind string, e *Employee)

func (s *store) add(e Employee) *Employee {
	s.lastID++
	e.ID, e.Version = s.lastID, 1
	s.all = append(s.all, &e)
	return &e
}

// page returns some of those with the language, and how many these are.
func (s *store) page(language string, offset, perPage int64) (page []*Employee, total int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.all {
		if !speaks(e, language) {
			continue
		}
		if total >= offset && total-offset < perPage {
			page = append(page, e)
		}
		total++
	}
	return page, total
}

// speaks reports whether the employee has the language; all have "".
func speaks(e *Employee, language string) bool {
	return language == "" || strings.EqualFold(e.Language, language)
}

// find returns the index of an employee. It is called under the lock.
func (s *store) find(id int64) (int, error) {
	i, ok := slices.BinarySearchFunc(s.all, id, func(e *Employee, id int64) int { return cmp.Compare(e.ID, id) })
	if !ok {
		return 0, status.Errorf(codes.NotFound, "there is no employee %d", id)
	}
	return i, nil
}

func (s *store) get(id int64) (*Employee, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i, err := s.find(id)
	if err != nil {
		return nil, err
	}
	return s.all[i], nil
}

func (s *store) create(e Employee, tell publish) (*Employee, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) >= s.max {
		return nil, status.Errorf(codes.ResourceExhausted, "the list is full: it has %d employees", len(s.all))
	}
	for _, other := range s.all {
		if strings.EqualFold(other.Email, e.Email) {
			return nil, status.Errorf(codes.AlreadyExists, "email: %s is employee %d's", e.Email, other.ID)
		}
	}
	added := s.add(e)
	tell("created", added)
	return added, nil
}

func (s *store) rename(id int64, name string, match versions, tell publish) (*Employee, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.find(id)
	if err != nil {
		return nil, err
	}
	old := s.all[i]
	if old.Name == name {
		// A call that is sent again finds its work done. What it was to change
		// need not match then (RFC 9110, section 13.1.1).
		return old, nil
	}
	if err := match.check(old); err != nil {
		return nil, err
	}
	e := *old
	e.Name = name
	e.Version++
	s.all[i] = &e
	tell("renamed", &e)
	return &e, nil
}

// fire removes an employee. One who was there once is gone as is asked.
func (s *store) fire(id int64, match versions, tell publish) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.find(id)
	if err != nil {
		if id >= 1 && id <= s.lastID {
			return nil
		}
		return err
	}
	e := s.all[i]
	if err := match.check(e); err != nil {
		return err
	}
	s.all = slices.Delete(s.all, i, i+1)
	tell("fired", e)
	return nil
}
