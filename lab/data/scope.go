package data

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
)

// A Scope is the names that templates may use: columns of a table, variables. The
// zero value is empty. It must not change once callers run.
type Scope struct {
	names []string
}

// Declare adds a name, if it is not there, and returns its slot.
func (s *Scope) Declare(name string) int {
	if i := slices.Index(s.names, name); i >= 0 {
		return i
	}
	s.names = append(s.names, name)
	return len(s.names) - 1
}

// Slot returns a name's slot.
func (s *Scope) Slot(name string) (slot int, ok bool) {
	if s == nil {
		return 0, false
	}
	i := slices.Index(s.names, name)
	return i, i >= 0
}

// list names all of them for an error.
func (s *Scope) list() string {
	if s == nil || len(s.names) == 0 {
		return "there are none: --data, --set and a mix file's extract make them"
	}
	return "there are " + strings.Join(s.names, ", ")
}

// A Counter is what {{seq}} counts with: one for all callers of a load. Its zero
// value is ready.
type Counter struct{ last atomic.Int64 }

// A State is the values that one caller's templates see. One goroutine uses it.
type State struct {
	rand    *rand.Rand
	counter *Counter
	caller  int
	call    int64
	values  []Value
	scratch []byte
}

// NewState makes the state of a caller, which is counted from 0. Random values
// follow from the seed and the caller.
func NewState(names *Scope, counter *Counter, seed uint64, caller int) *State {
	s := &State{rand: rand.New(rand.NewPCG(seed, uint64(caller))), counter: counter, caller: caller} //nolint:gosec // values to send, not secrets
	if names != nil {
		s.values = make([]Value, len(names.names))
	}
	return s
}

// Rand is the state's source of random numbers.
func (s *State) Rand() *rand.Rand { return s.rand }

// BeginCall counts a call of this caller.
func (s *State) BeginCall() { s.call++ }

// Set gives the name of a slot a value.
func (s *State) Set(slot int, v Value) { s.values[slot] = v }

// Get is the value of a slot; it is zero if none has been set.
func (s *State) Get(slot int) Value { return s.values[slot] }
