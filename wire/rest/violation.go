package rest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/codec/json"
)

// A violation is one thing that is wrong with a request.
type violation struct {
	field string // its path in the request; for an unknown one the name as written
	what  string // names the parameter or the field, too
	where string // the codec's own words, which say where in the text; may be empty
}

// maxViolations is how many of a request's faults its error lists.
const maxViolations = 64

// refuse notes what is wrong with a value outside the body.
func (b *builder) refuse(p *pair, why string) {
	b.add(p.field(), p.String()+": "+why)
}

func (b *builder) add(field, what string) {
	b.bad = append(b.bad, violation{field: field, what: what})
}

func (p *pair) field() string {
	if len(p.chain) == 0 {
		return strings.ToValidUTF8(p.name, "\uFFFD")
	}
	return pathOf(p.chain)
}

// badRequest is the status that says what is wrong: the first fault in its
// message, all in its details.
func (e *endpoint) badRequest(bad []violation) error {
	message := fmt.Sprintf("request of %s: %s", e.method.FullName(), cmp.Or(bad[0].where, bad[0].what))
	if len(bad) > 1 {
		message += fmt.Sprintf(" (and %d more)", len(bad)-1)
	}
	details := &errdetails.BadRequest{}
	for _, v := range bad[:min(len(bad), maxViolations)] {
		details.FieldViolations = append(details.FieldViolations,
			&errdetails.BadRequest_FieldViolation{Field: v.field, Description: strings.ToValidUTF8(v.what, "\uFFFD")})
	}
	s := status.New(codes.InvalidArgument, message)
	if with, err := s.WithDetails(details); err == nil { // fails only for a status that is OK
		s = with
	}
	return s.Err()
}

// explain is called when decode has refused message, the request that was put
// together for v, or when b.bad has faults already, which message is then
// without. It asks decode about the fields of path, query, headers and cookies
// one by one, and then about the parts of the message, so that all that are
// wrong are named, each in the codec's words.
func (b *builder) explain(e *endpoint, refused error, message []byte, v any, decode func([]byte, any) error) error {
	whole := asJSONError(refused)
	if whole == nil && len(b.bad) == 0 {
		return refused
	}
	if whole == nil { // nothing else is wrong
		return e.badRequest(b.bad)
	}
	message = bytes.Clone(message) // it may be in b.buf
	refuses := func(text []byte) *json.Error { return asJSONError(decode(text, newLike(v))) }
	told := len(b.bad)
	for rest := b.pairs; len(rest) > 0; {
		n := run(rest, len(rest[0].chain))
		group := rest[:n]
		rest = rest[n:]
		for i := range group {
			group[i].merged = false
		}
		b.buf = append(b.buf[:0], '{')
		b.object(group, 0)
		b.buf = append(b.buf, '}')
		// Without a path it is about the message, such as a field that is required.
		if err := refuses(b.buf); err != nil && err.Path != "" {
			b.add(err.Path, b.describe(err))
		}
	}
	if whole.Path != "" && !b.names(whole.Path) {
		b.bad = append(b.bad, violation{whole.Path, b.describe(whole), whole.Error()})
	}
	faults(message, refuses, func(err *json.Error) {
		if !b.names(err.Path) {
			b.add(err.Path, b.describe(err))
		}
	})
	if len(b.bad) == told && whole.Path == "" && told > 0 {
		// A fault of the message as a whole, such as one that is no JSON.
		b.add("", whole.Reason)
	}
	if len(b.bad) == 0 {
		return refused
	}
	return e.badRequest(b.bad)
}

// names reports whether a fault of the field is noted already.
func (b *builder) names(path string) bool {
	return slices.ContainsFunc(b.bad, func(v violation) bool { return v.field == path })
}

// describe says what is wrong with a field, by the parameter's name if it is
// one.
func (b *builder) describe(err *json.Error) string {
	for rest := b.pairs; len(rest) > 0; {
		n := run(rest, len(rest[0].chain))
		group := rest[:n]
		rest = rest[n:]
		if inner, ok := strings.CutPrefix(err.Path, pathOf(group[0].chain)); ok && (inner == "" || inner[0] == '[') {
			return at(group, inner).String() + ": " + err.Reason
		}
	}
	return err.Path + ": " + err.Reason
}

// at is the value of a group that an index or key leads to.
func at(group []pair, inner string) *pair {
	for i := range group {
		p := &group[i]
		if p.leaf().isMap && inner == fmt.Sprintf("[%q]", p.key) || p.leaf().list && inner == fmt.Sprintf("[%d]", i) {
			return p
		}
	}
	return &group[0]
}

func asJSONError(err error) *json.Error {
	var e *json.Error
	errors.As(err, &e)
	return e
}

// newLike makes an empty message of the type of v.
func newLike(v any) any {
	if m, ok := v.(proto.Message); ok {
		return m.ProtoReflect().New().Interface()
	}
	return reflect.New(reflect.TypeOf(v).Elem()).Interface()
}
