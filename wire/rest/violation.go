package rest

import (
	"bytes"
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
	what  string // names the parameter, too
}

// maxViolations is how many of a request's faults its error lists.
const maxViolations = 64

// refuse notes what is wrong with a value outside the body.
func (b *builder) refuse(p *pair, why string) {
	b.add(p.field(), p.String()+": "+why)
}

func (b *builder) add(field, what string) {
	b.bad = append(b.bad, violation{field, what})
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
	message := fmt.Sprintf("request of %s: %s", e.method.FullName(), bad[0].what)
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
// together for v. It asks decode about the fields of path, query, headers and
// cookies one by one, and then about the parts of the message, so that all that
// are wrong are named, each in the codec's words.
func (b *builder) explain(e *endpoint, refused error, message []byte, v any, decode func([]byte, any) error) error {
	whole := asJSONError(refused)
	if whole == nil {
		return refused
	}
	b.bad = b.bad[:0]
	message = bytes.Clone(message) // it may be in b.buf
	refuses := func(text []byte) *json.Error { return asJSONError(decode(text, newLike(v))) }
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
		err := refuses(b.buf)
		if err == nil || err.Path == "" { // without a path it is about the message, such as a field that is required
			continue
		}
		b.add(err.Path, at(group, err.Path).String()+": "+err.Reason)
	}
	if whole.Path != "" && !b.names(whole.Path) {
		b.add(whole.Path, whole.Error())
	}
	faults(message, refuses, func(path, reason string) {
		if !b.names(path) {
			b.add(path, path+": "+reason)
		}
	})
	if len(b.bad) == 0 {
		return refused
	}
	return e.badRequest(b.bad)
}

// names reports whether a fault of the field is noted already.
func (b *builder) names(path string) bool {
	return slices.ContainsFunc(b.bad, func(v violation) bool { return v.field == path })
}

// at is the value of a group that a path in an error leads to.
func at(group []pair, path string) *pair {
	if open := strings.LastIndexByte(path, '['); open >= 0 && len(group) > 1 {
		for i := range group {
			if p := &group[i]; path[open:] == fmt.Sprintf("[%d]", i) || path[open:] == fmt.Sprintf("[%q]", p.key) {
				return p
			}
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
