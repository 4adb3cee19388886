package members

// Ordinals is a set of small numbers: the fields of one message that have been
// read.
type Ordinals struct {
	low  uint64
	high []uint64
}

// Add reports whether n is new.
func (s *Ordinals) Add(n int) bool {
	word := &s.low
	if n >= 64 {
		i := n/64 - 1
		for len(s.high) <= i {
			s.high = append(s.high, 0)
		}
		word = &s.high[i]
	}
	bit := uint64(1) << (n % 64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

// few is how many names are looked through one by one.
const few = 16

// Names is the set of the names of one message that nobody knows.
type Names struct {
	few  []string
	many map[string]struct{}
}

// Add reports whether the name is new.
func (s *Names) Add(name []byte) bool {
	if s.many != nil {
		if _, dup := s.many[string(name)]; dup {
			return false
		}
		s.many[string(name)] = struct{}{}
		return true
	}
	for _, n := range s.few {
		if n == string(name) {
			return false
		}
	}
	s.few = append(s.few, string(name))
	if len(s.few) > few {
		s.many = make(map[string]struct{}, 2*len(s.few))
		for _, n := range s.few {
			s.many[n] = struct{}{}
		}
	}
	return true
}
