package msgpack

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/everywire/everywire/codec/internal/members"
)

// As in ProtoJSON, google.protobuf.Any is a map with the key @type, and either
// the keys of the message inside or its special form under the key "value".
const (
	anyTypeKey  = "@type"
	anyValueKey = "value"
)

// inValue reports whether Any holds the message type under the key "value".
func inValue(desc protoreflect.MessageDescriptor, p *protoPlan) bool {
	return p.known != nil || desc.FullName() == "google.protobuf.Empty"
}

func (e *encoder) anyMessage(a *anypb.Any) error {
	if err := e.enter(); err != nil {
		return err
	}
	url := a.GetTypeUrl()
	if url == "" && len(a.GetValue()) == 0 {
		e.b = AppendMapHeader(e.b, 0)
		e.depth--
		return nil
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil {
		return at(anyTypeKey, errorf("no message type is known for %q", short(url)))
	}
	m := mt.New()
	if err := proto.Unmarshal(a.GetValue(), m.Interface()); err != nil {
		return at(anyValueKey, errorf("%v", err))
	}
	p := protoPlanOf(m.Descriptor())
	special := inValue(m.Descriptor(), p)
	n, set := 1, []*protoField(nil)
	if !special {
		set = p.set(m)
		n = len(set)
	}
	e.b = AppendMapHeader(e.b, 1+n)
	e.b = AppendString(e.b, anyTypeKey)
	if err := e.str(url); err != nil {
		return at(anyTypeKey, err)
	}
	if special {
		e.b = AppendString(e.b, anyValueKey)
		if err := e.proto(m); err != nil {
			return at(anyValueKey, err)
		}
	} else if err := e.protoFields(set, m); err != nil {
		return err
	}
	e.depth--
	return nil
}

func (d *decoder) anyMessage(a *anypb.Any) error {
	start := d.pos
	url, err := d.anyType()
	if err != nil {
		return err
	}
	if url == "" { // {}: an Any that holds nothing
		return nil
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil {
		d.pos = start
		return at(anyTypeKey, d.errorf("no message type is known for %q", short(url)))
	}
	// The type may be the last key, so the map is read again, now that its
	// type is known.
	ahead := d.pos - start
	d.pos = start
	if err := d.moreOfAny(ahead); err != nil {
		return err
	}
	m := mt.New()
	p := protoPlanOf(m.Descriptor())
	if inValue(m.Descriptor(), p) {
		err = d.anyValue(m)
	} else {
		err = d.protoFields(p, m, anyTypeKey)
	}
	if err != nil {
		return err
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	if err != nil {
		return err
	}
	a.TypeUrl, a.Value = url, data
	return d.moreOfAny(len(data))
}

// moreOfAny counts bytes that are read again to find an Any's @type, or copied
// to be its value. An Any inside another has that done once more for each level,
// which would be quadratic: it is bounded.
func (d *decoder) moreOfAny(n int) error {
	if d.reread += n; d.reread > 16*len(d.data) {
		return d.errorf("too many google.protobuf.Any inside each other")
	}
	return nil
}

// anyType reads a map up to its @type and returns that, or "" for an empty
// map.
func (d *decoder) anyType() (string, error) {
	start := d.pos
	n, err := d.MapHeader()
	if err != nil || n == 0 {
		return "", err
	}
	for range n {
		key, _, err := d.key()
		if err != nil {
			return "", err
		}
		if string(key) != anyTypeKey {
			if err := d.Skip(); err != nil {
				return "", err
			}
			continue
		}
		url, err := d.Str()
		if err == nil && len(url) == 0 {
			err = d.errorf("an empty type URL")
		}
		if err != nil {
			return "", at(anyTypeKey, err)
		}
		return string(url), nil
	}
	d.pos = start
	return "", d.errorf("a google.protobuf.Any without the key %s", anyTypeKey)
}

// anyValue reads a map whose key "value" holds the special form of m.
func (d *decoder) anyValue(m protoreflect.Message) error {
	start := d.pos
	n, err := d.object()
	if err != nil {
		return err
	}
	var seen members.Names
	found := m.Descriptor().FullName() == "google.protobuf.Empty"
	for range n {
		key, keyStart, err := d.key()
		if err != nil {
			return err
		}
		if !seen.Add(key) {
			return d.duplicate(keyStart)
		}
		if string(key) != anyValueKey {
			err = d.Skip()
		} else {
			found = true
			err = d.proto(m)
		}
		if err != nil {
			return at(short(string(key)), err)
		}
	}
	if !found {
		d.pos = start
		return d.errorf("a google.protobuf.Any of %s without the key %s", m.Descriptor().FullName(), anyValueKey)
	}
	d.depth--
	return nil
}
