package describe

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
)

// A carrier finds out whether an encoding that plain structs alone have can carry
// the messages of methods.
type carrier struct {
	claimed map[protoreflect.FullName]*schema.Message // by whom a name is taken
	check   func(*schema.Field) error                 // what the encoding demands of fields
}

// method says why the method's messages have no form.
func (c *carrier) method(m *everywire.Method) error {
	if m.Input == nil || m.Output == nil {
		return fmt.Errorf("the message types of %s are not known", m.FullName())
	}
	seen := map[*schema.Message]bool{}
	for _, message := range []*schema.Message{m.Input, m.Output} {
		if err := c.message(message, seen); err != nil {
			return fmt.Errorf("%s: %w", m.FullName(), err)
		}
	}
	return nil
}

func (c *carrier) message(m *schema.Message, seen map[*schema.Message]bool) error {
	if m.Desc != nil {
		return fmt.Errorf("%s is generated from a .proto file, which only protobuf, JSON, MessagePack and CBOR carry", m.Name)
	}
	if seen[m] {
		return nil
	}
	seen[m] = true
	if other := c.claimed[m.Name]; other != nil && other != m {
		return fmt.Errorf("the Go types %s and %s both have the name %s", other.Type, m.Type, m.Name)
	}
	c.claimed[m.Name] = m
	for _, f := range m.Fields {
		err := c.check(f)
		if err == nil && f.Message != nil {
			err = c.message(f.Message, seen)
		}
		if err != nil {
			return fmt.Errorf("%s.%s: %w", m.Name, f.Name, err)
		}
	}
	return nil
}
