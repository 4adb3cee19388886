package json

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/everywire/everywire/codec/internal/members"
	"github.com/everywire/everywire/codec/internal/text"
)

// google.protobuf.Any is an object with the member @type, and either the
// members of the message inside, or its special form as the member "value".
const (
	anyTypeKey  = "@type"
	anyValueKey = "value"
)

// inValue reports whether Any holds the message type as the member "value".
func inValue(desc protoreflect.MessageDescriptor, p *protoPlan) bool {
	return p.known != nil || desc.FullName() == "google.protobuf.Empty"
}

func appendAnyMessage(e *encoder, b []byte, a *anypb.Any) ([]byte, error) {
	if a.GetTypeUrl() == "" && len(a.GetValue()) == 0 {
		return append(b, "{}"...), nil
	}
	if err := e.enter(); err != nil {
		return b, err
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByURL(a.GetTypeUrl())
	if err != nil {
		return b, within(errorf("no message type is known for %q", text.Short(a.GetTypeUrl())), anyTypeKey)
	}
	m := mt.New()
	if err := proto.Unmarshal(a.GetValue(), m.Interface()); err != nil {
		return b, within(protoError(0, err), anyValueKey)
	}
	b = append(b, `{"`+anyTypeKey+`":`...)
	if b, err = appendString(b, a.GetTypeUrl()); err != nil {
		return b, within(err, anyTypeKey)
	}
	p := protoPlanOf(m.Descriptor())
	if inValue(m.Descriptor(), p) {
		b = append(b, `,"`+anyValueKey+`":`...)
		if b, err = p.append(e, b, m); err != nil {
			return b, within(err, anyValueKey)
		}
	} else if b, err = p.appendFields(e, b, m, false); err != nil {
		return b, err
	}
	e.depth--
	return append(b, '}'), nil
}

func readAnyMessage(d *decoder, a *anypb.Any) error {
	if d.peek() != '{' {
		return d.mismatch("an object")
	}
	start, depth := d.pos, d.depth
	url, empty, err := d.anyType()
	if err != nil {
		return err
	}
	if url == "" {
		if empty {
			return nil
		}
		return d.errorf(start, "google.protobuf.Any has no member %s", anyTypeKey)
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil {
		return within(d.errorf(start, "no message type is known for %q", text.Short(url)), anyTypeKey)
	}
	// The type may be the last member: read all again, now that it is known.
	if err := d.moreOfAny(start, d.pos-start); err != nil {
		return err
	}
	d.pos, d.depth = start, depth
	m := mt.New()
	p := protoPlanOf(m.Descriptor())
	if inValue(m.Descriptor(), p) {
		err = d.anyValue(p, m)
	} else {
		err = p.readFields(d, m, anyTypeKey)
	}
	if err != nil {
		return err
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	if err != nil {
		return protoError(start, err)
	}
	a.TypeUrl, a.Value = url, data
	return d.moreOfAny(start, len(data))
}

// moreOfAny counts bytes that are read again to find an Any's @type, or copied
// to be its value. An Any inside another has that done once more for each level,
// which would be quadratic: it is bounded.
func (d *decoder) moreOfAny(start, n int) error {
	if d.reread += n; d.reread > 16*len(d.data) {
		return d.errorf(start, "too many google.protobuf.Any inside each other")
	}
	return nil
}

// anyType reads an object up to its @type and returns that. It returns "" if
// it has none; empty is true if there are no members at all.
func (d *decoder) anyType() (url string, empty bool, err error) {
	if err := d.enter('{', "an object"); err != nil {
		return "", false, err
	}
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if err != nil || !ok {
			return "", first, err
		}
		if string(name) != anyTypeKey {
			if err := d.skip(); err != nil {
				return "", false, err
			}
			continue
		}
		s, err := d.text("a type's URL")
		if err == nil && len(s) == 0 {
			err = d.errorf(d.pos, "an empty type URL")
		}
		if err != nil {
			return "", false, within(err, anyTypeKey)
		}
		return string(s), false, nil
	}
}

// anyValue reads an object whose member "value" is the special form of m.
func (d *decoder) anyValue(p *protoPlan, m protoreflect.Message) error {
	if err := d.enter('{', "an object"); err != nil {
		return err
	}
	var seen members.Names
	found := m.Descriptor().FullName() == "google.protobuf.Empty"
	for first := true; ; first = false {
		name, ok, err := d.member(first)
		if err != nil {
			return err
		}
		if !ok {
			if !found {
				return d.errorf(d.pos, "google.protobuf.Any of %s has no member %s", m.Descriptor().FullName(), anyValueKey)
			}
			return nil
		}
		if string(name) != anyValueKey {
			if err := d.skipMember(&seen, name); err != nil {
				return err
			}
			continue
		}
		if !seen.Add(name) {
			return d.duplicate(name)
		}
		found = true
		if err := p.read(d, m); err != nil {
			return within(err, anyValueKey)
		}
	}
}
