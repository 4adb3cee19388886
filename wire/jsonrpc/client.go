package jsonrpc

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// An encoder writes requests and reads replies, whatever carries them.
type encoder struct {
	cfg   *rpc.ClientConfig
	codec json.Codec
	v1    bool // write JSON-RPC 1.0
	forms *form.Called
}

func newEncoder(cfg *rpc.ClientConfig) (*encoder, error) {
	v1, err := isVersion1(cfg.Options)
	if err != nil {
		return nil, err
	}
	codec, err := codecOf(cfg.Options)
	if err != nil {
		return nil, err
	}
	return &encoder{cfg: cfg, codec: codec, v1: v1, forms: new(form.Called)}, nil
}

// speaking is the encoder in version 1.0, or not.
func (e *encoder) speaking(v1 bool) *encoder {
	if e.v1 == v1 {
		return e
	}
	other := *e
	other.v1 = v1
	return &other
}

// fullForm is that of calls by the full name.
var fullForm = (*textForm)(form.Full)

// formOf returns the form that a call is made in.
func (e *encoder) formOf(m *everywire.Method) (*textForm, error) {
	f, err := e.forms.Of(m)
	return (*textForm)(f), err
}

// appendRequest appends a request up to its params; the members that follow
// are the transport's.
func (e *encoder) appendRequest(dst []byte, call *rpc.Outgoing, args any) ([]byte, error) {
	f, err := e.formOf(call.Method)
	if err != nil {
		return nil, err
	}
	if e.v1 {
		dst = append(dst, `{"method":`...)
	} else {
		dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	}
	if f != fullForm {
		dst = appendQuoted(dst, f.Name)
	} else {
		dst = appendFullName(dst, call.Path)
	}
	m, err := schema.For(args)
	object := err != nil || m.IsObject()
	if object && err == nil && !m.HasFields() && !e.v1 {
		// Some servers refuse params, even {}, for methods that take none.
		return dst, call.Sent(0)
	}
	dst = append(dst, `,"params":`...)
	start := len(dst)
	if dst, err = e.codec.Append(dst, args); err != nil {
		return nil, status.Errorf(codes.Internal, "request of %s: %v", call.Path[1:], err)
	}
	if object {
		dst = f.shorten(dst, start)
	}
	// Params are an object or an array (section 4.2), nothing else; in version
	// 1.0 an array. There an array that the message itself is, as a list value,
	// stands in another, as everywhere.
	if f.Params == everywire.ParamsNamed && (dst[start] != '{' || e.v1) {
		dst = inArray(dst, start)
	}
	return dst, call.Sent(len(dst) - start)
}

// appendFullName appends a method's full name, by its path if the name alone
// would be the protocol's own.
func appendFullName(dst []byte, path string) []byte {
	if form.Reserved(path[1:]) {
		return appendQuoted(dst, path)
	}
	return appendQuoted(dst, path[1:])
}

// inArray makes the text that begins at start the one element of an array.
func inArray(dst []byte, start int) []byte {
	return append(insert(dst, start, []byte{'['}), ']')
}

// appendTimeout appends the time until ctx's deadline, if it has one.
func appendTimeout(ctx context.Context, dst []byte) []byte {
	deadline, ok := ctx.Deadline()
	if !ok {
		return dst
	}
	dst = append(dst, `,"timeout_ms":`...)
	return strconv.AppendInt(dst, timeoutMS(time.Until(deadline)), 10)
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
	case f.Result.Key != "":
		scratch := scratches.Get().(*[]byte)
		defer keepScratch(scratch)
		*scratch = f.reply(result, *scratch)
		result = *scratch
	case string(result) == "null" && isObject(reply):
		result = emptyObject // how other servers say that there is nothing to say
	}
	if err := e.codec.Decode(result, reply); err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", call.Path[1:], err)
	}
	call.Received(len(r.result))
	return nil
}

// appendNoID closes a notification.
func (e *encoder) appendNoID(dst []byte) []byte {
	if e.v1 {
		dst = append(dst, `,"id":null`...)
	}
	return append(dst, '}')
}

// appendNumericID appends the id member and closes the request.
func appendNumericID(dst []byte, id uint32) []byte {
	dst = append(dst, `,"id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	return append(dst, '}')
}

// maxReply is the longest reply of a call: the result, and room for metadata
// and envelope.
func (e *encoder) maxReply(call *rpc.Outgoing) int {
	return stream.MaxFrame(call.MaxReceive(), e.cfg.Limits)
}
