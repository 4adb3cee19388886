package infer

import (
	"math"

	"github.com/everywire/everywire/schema"
)

// A shape is what all values at one place of the documents have in common.
type shape struct {
	null  bool // there was a null
	seen  int  // values that were not null
	kinds kinds

	// Of integers.
	least   int64
	most    uint64
	inexact bool // one that no double holds

	members map[string]*shape // of objects
	items   *shape            // of lists
}

// kinds is a set.
type kinds uint8

const (
	isBool kinds = 1 << iota
	isInt
	isFloat
	isString
	isObject
	isList
	isOther // what only a document holds: integers beyond 64 bits
)

// add takes in one value of a document.
func (s *shape) add(v any) {
	if v == nil {
		s.null = true
		return
	}
	s.seen++
	switch v := v.(type) {
	case bool:
		s.kinds |= isBool
	case int64:
		s.addInt(min(v, 0), uint64(max(v, 0)))
	case uint64:
		s.addInt(0, v)
	case float64:
		s.kinds |= isFloat
	case string:
		s.kinds |= isString
	case []any:
		s.kinds |= isList
		if s.items == nil {
			s.items = new(shape)
		}
		for _, item := range v {
			s.items.add(item)
		}
	case map[string]any:
		s.kinds |= isObject
		if s.members == nil {
			s.members = map[string]*shape{}
		}
		for name, member := range v {
			m := s.members[name]
			if m == nil {
				m = new(shape)
				s.members[name] = m
			}
			m.add(member)
		}
	case schema.Number:
		s.kinds |= isOther
	default:
		s.kinds |= isOther
	}
}

func (s *shape) addInt(least int64, most uint64) {
	s.kinds |= isInt
	s.least, s.most = min(s.least, least), max(s.most, most)
	const exact = 1 << 53
	s.inexact = s.inexact || least < -exact || most > exact
}

// merge takes in what another shape has.
func (s *shape) merge(o *shape) {
	s.null = s.null || o.null
	s.seen += o.seen
	s.kinds |= o.kinds
	s.least, s.most, s.inexact = min(s.least, o.least), max(s.most, o.most), s.inexact || o.inexact
	if o.items != nil {
		if s.items == nil {
			s.items = new(shape)
		}
		s.items.merge(o.items)
	}
	for name, member := range o.members {
		if s.members == nil {
			s.members = map[string]*shape{}
		}
		if s.members[name] == nil {
			s.members[name] = new(shape)
		}
		s.members[name].merge(member)
	}
}

// wide reports whether there are integers both below int64's and above.
func (s *shape) wide() bool { return s.least < 0 && s.most > math.MaxInt64 }
