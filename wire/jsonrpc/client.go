package jsonrpc

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// An encoder writes requests and reads replies, whatever carries them.
type encoder struct {
	cfg   *rpc.ClientConfig
	forms sync.Map // *everywire.Method -> *clientForm
}

type clientForm struct {
	*form
	err error
}

// fullForm is that of calls by the full name.
var fullForm = new(form)

// formOf returns the form that a call is made in: [fullForm] without a
// description, or if it declares no short name.
func (e *encoder) formOf(m *everywire.Method) (*form, error) {
	if m == nil || m.JSONRPC == nil || m.JSONRPC.Name == "" {
		return fullForm, nil
	}
	cached, ok := e.forms.Load(m)
	if !ok {
		f, err := formOf(m)
		cached, _ = e.forms.LoadOrStore(m, &clientForm{f, err})
	}
	f := cached.(*clientForm)
	if f.err != nil {
		return nil, status.Error(codes.Internal, f.err.Error())
	}
	return f.form, nil
}

// appendRequest appends a request up to its params; the members that follow
// are the transport's.
func (e *encoder) appendRequest(dst []byte, call *rpc.Outgoing, args any) ([]byte, error) {
	f, err := e.formOf(call.Method)
	if err != nil {
		return nil, err
	}
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	switch name := call.Path[1:]; {
	case f != fullForm:
		dst = appendQuoted(dst, f.name)
	case reserved(name):
		dst = appendQuoted(dst, call.Path)
	default:
		dst = appendQuoted(dst, name)
	}
	dst = append(dst, `,"params":`...)
	start := len(dst)
	if dst, err = codec.Append(dst, args); err != nil {
		return nil, status.Errorf(codes.Internal, "request of %s: %v", call.Path[1:], err)
	}
	switch {
	case isObject(args):
		dst = f.shorten(dst, start)
	case dst[start] != '{': // params is an object or an array (section 4.2), nothing else
		dst = append(slices.Insert(dst, start, '['), ']')
	}
	return dst, call.Sent(len(dst) - start)
}

// isObject reports whether a message is an object in JSON.
func isObject(msg any) bool {
	m, err := schema.For(msg)
	return err != nil || m.IsObject()
}

// readReply reads a response into reply. The error is a status.
func (e *encoder) readReply(r *response, call *rpc.Outgoing, reply any) error {
	if r.meta != nil {
		var err error
		if call.Header, call.Trailer, err = parseReplyMeta(r.meta); err != nil {
			return status.Errorf(codes.Internal, `reply of %s: member "meta" %v`, call.Path[1:], err)
		}
	}
	if r.err != nil {
		return statusOf(r.err).Err()
	}
	if err := call.CheckReceived(len(r.result)); err != nil {
		return err
	}
	f, err := e.formOf(call.Method)
	if err != nil {
		return err
	}
	result := r.result
	switch {
	case f.result.key != "":
		result = f.reply(result)
	case string(result) == "null" && isObject(reply):
		result = emptyObject // how other servers say that there is nothing to say
	}
	if err := codec.Decode(result, reply); err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", call.Path[1:], err)
	}
	call.Received(len(r.result))
	return nil
}

// appendNumericID appends the id member and closes the request.
func appendNumericID(dst []byte, id uint32) []byte {
	dst = append(dst, `,"id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	return append(dst, '}')
}

// checkOption returns the value of an option that takes one of the known
// values; the first is the default.
func checkOption(options rpc.Options, name string, known ...string) (string, error) {
	v := options[name]
	if v == "" {
		return known[0], nil
	}
	for _, k := range known {
		if v == k {
			return v, nil
		}
	}
	return "", fmt.Errorf("%s: unknown value %q of option %s; known: %q", wireName, v, name, known)
}

// maxReply is the longest reply of a call: the result, and room for metadata
// and envelope.
func (e *encoder) maxReply(call *rpc.Outgoing) int {
	return stream.MaxFrame(call.MaxReceive(), e.cfg.Limits)
}
