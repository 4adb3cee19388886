package users

import (
	"slices"
	"sync"
	"sync/atomic"
)

// An account is never changed once it is in a table.
type account struct {
	name     string
	enabled  bool
	roles    []string
	claims   []string
	digest   *digest // nil: no password
	position int     // among the file's rows
}

func newAccount(u User, d *digest) *account {
	return &account{name: u.Name, enabled: u.Enabled, roles: slices.Clone(u.Roles), claims: slices.Clone(u.Claims), digest: d}
}

func (a *account) user() User {
	u := User{Name: a.name, Enabled: a.enabled, Roles: slices.Clone(a.roles), Claims: slices.Clone(a.claims), HasPassword: a.digest != nil}
	if a.digest != nil {
		u.Hash = a.digest.form.hash
	}
	return u
}

// A table holds accounts by name. Readers take no lock.
type table struct {
	accounts sync.Map // of *account, by name
	// forms are those of the hashes in it: a login computes one of each.
	forms atomic.Pointer[[]form]

	counts map[form]int // for changes, which come one at a time
	last   int          // position
}

func newTable() *table {
	t := &table{counts: map[form]int{}}
	t.forms.Store(&[]form{})
	return t
}

func (t *table) get(name string) *account {
	if a, ok := t.accounts.Load(name); ok {
		return a.(*account)
	}
	return nil
}

func (t *table) each(f func(*account)) {
	t.accounts.Range(func(_, a any) bool {
		f(a.(*account))
		return true
	})
}

// set exchanges an account; nil removes it.
func (t *table) set(name string, a *account) {
	old := t.get(name)
	if a == nil {
		t.accounts.Delete(name)
	} else {
		if a.position == 0 {
			t.last++
			a.position = t.last
		}
		t.last = max(t.last, a.position)
		t.accounts.Store(name, a)
	}
	t.count(a, 1)
	t.count(old, -1)
}

func (t *table) count(a *account, n int) {
	if a == nil || a.digest == nil {
		return
	}
	f := a.digest.form
	before := t.counts[f]
	if t.counts[f] += n; t.counts[f] == 0 {
		delete(t.counts, f)
	}
	if before > 0 && t.counts[f] > 0 {
		return
	}
	forms := make([]form, 0, len(t.counts))
	for f := range t.counts {
		forms = append(forms, f)
	}
	t.forms.Store(&forms)
}

// rows are the accounts in the order of the file.
func (t *table) rows() []*account {
	var all []*account
	t.each(func(a *account) { all = append(all, a) })
	slices.SortFunc(all, func(a, b *account) int { return a.position - b.position })
	return all
}
