// Package plain has what the codecs share whose messages are plain structs and
// nothing else, since a schema of their own says what a message looks like:
// plans of types, errors with the path to the value, and values that have no
// counterpart in those schemas, such as times, texts and documents.
package plain

import (
	"fmt"
	"reflect"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/schema"
)

// Plans holds what a codec has worked out about types of messages, once for
// each, or why it cannot carry them. The zero value is empty.
type Plans[P any] struct {
	made sync.Map // reflect.Type of the struct -> *made[P]
}

type made[P any] struct {
	plan *P
	err  error
}

// A Compiler works out the plan of a message and of all that it refers to. It
// gets plain structs and [schema.Document] alone.
type Compiler[P any] func(m *schema.Message) (*P, error)

// For returns the plan of what msg points at, and that.
func (s *Plans[P]) For(msg any, compile Compiler[P]) (*P, reflect.Value, error) {
	v, err := members.Pointee(msg)
	if err != nil {
		return nil, v, err
	}
	if found, ok := s.made.Load(v.Type()); ok {
		return found.(*made[P]).plan, v, found.(*made[P]).err
	}
	m, err := schema.Of(v.Type())
	if err != nil {
		return nil, v, err
	}
	if m.Type != v.Type() {
		return nil, v, fmt.Errorf("%T is not a pointer to a message", msg)
	}
	p, err := s.Of(m, compile)
	return p, v, err
}

// Of returns the plan of a message, as [Plans.For] does.
func (s *Plans[P]) Of(m *schema.Message, compile Compiler[P]) (*P, error) {
	found, ok := s.made.Load(m.Type)
	if !ok {
		one := new(made[P])
		if m.Desc != nil {
			one.err = Generated(m.Desc.FullName())
		} else {
			one.plan, one.err = compile(m)
		}
		found, _ = s.made.LoadOrStore(m.Type, one) // of two that were made at once, either will do
	}
	return found.(*made[P]).plan, found.(*made[P]).err
}

// Generated is the error for a message that was generated from a .proto file:
// it has protobuf's own rules, which other schemas cannot say.
func Generated(name protoreflect.FullName) error {
	return fmt.Errorf("%s is generated from a .proto file and has no form here: use a plain struct", name)
}
