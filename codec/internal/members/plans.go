package members

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/everywire/everywire/schema"
)

// Plans holds what a codec has worked out about types of plain structs, once
// for each. P is the codec's plan of one type. The zero value is empty.
type Plans[P any] struct {
	made sync.Map   // reflect.Type of the struct -> *P
	mu   sync.Mutex // held while a plan and all that it refers to are made
}

// A Compiler works out the plan p of the message m. It gets the plans of the
// messages that m refers to from plan; they may not be complete yet, since
// types can be recursive.
type Compiler[P any] func(p *P, m *schema.Message, plan func(*schema.Message) *P)

// For returns the plan of the plain struct that msg points at, and the struct.
// It takes the compiler here, and not when Plans is made, because compilers
// refer to what uses Plans.
func (s *Plans[P]) For(msg any, compile Compiler[P]) (*P, reflect.Value, error) {
	v, err := Pointee(msg)
	if err != nil {
		return nil, v, err
	}
	if p, ok := s.made.Load(v.Type()); ok {
		return p.(*P), v, nil
	}
	m, err := schema.Of(v.Type())
	if err != nil {
		return nil, v, err
	}
	if m.Type != v.Type() || m.Desc != nil || m.Document {
		return nil, v, fmt.Errorf("%T is not a pointer to a plain struct", msg)
	}
	return s.of(m, compile), v, nil
}

// Pointee is what a message points at.
func Pointee(msg any) (reflect.Value, error) {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Pointer {
		return v, fmt.Errorf("%T is not a pointer to a message", msg)
	}
	if v.IsNil() {
		return v, fmt.Errorf("the message is a nil %T", msg)
	}
	return v.Elem(), nil
}

func (s *Plans[P]) of(m *schema.Message, compile Compiler[P]) *P {
	s.mu.Lock()
	defer s.mu.Unlock()
	graph := map[reflect.Type]*P{}
	var plan func(m *schema.Message) *P
	plan = func(m *schema.Message) *P {
		if p, ok := s.made.Load(m.Type); ok {
			return p.(*P)
		}
		if p := graph[m.Type]; p != nil {
			return p
		}
		p := new(P)
		graph[m.Type] = p
		compile(p, m, plan)
		return p
	}
	p := plan(m)
	for t, p := range graph { // others may see whole graphs only
		s.made.Store(t, p)
	}
	return p
}
