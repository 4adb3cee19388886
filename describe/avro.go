package describe

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/schema/avsc"
)

// Avro writes the messages of methods as one .avsc file, in which they are the
// branches of a union, as the codec avro writes them. Given to avro.New, a file
// that was written earlier makes a codec read the messages of that time.
//
// A method whose messages Avro cannot carry, or whose types are not known, is
// left out, and the error says so; the file is good without it.
func Avro(methods []*everywire.Method, _ Options) ([]byte, error) {
	var errs []error
	c := carrier{claimed: map[protoreflect.FullName]*schema.Message{}, check: func(*schema.Field) error { return nil }}
	seen := map[*schema.Message]bool{}
	types := []json.RawMessage{}
	w := avsc.NewWriter()
	for _, m := range methods {
		if err := c.method(m); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, message := range []*schema.Message{m.Input, m.Output} {
			if seen[message] {
				continue
			}
			seen[message] = true
			t, err := avsc.Of(message)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", m.FullName(), err))
				continue
			}
			types = append(types, w.Type(t))
		}
	}
	text, err := json.Marshal(types)
	return text, errors.Join(append(errs, err)...)
}
