package msgpackrpc

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/form"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// fullForm is that of calls by the full name.
var fullForm = (*binForm)(form.Full)

// formOf returns the form that the call is made in.
func (x *exchange) formOf() (*binForm, error) {
	f, err := x.conn.forms.Of(x.call.Method)
	return (*binForm)(f), err
}

// appendObject appends the call as a request of JSON-RPC, or without an id as a
// notification.
func (x *exchange) appendObject(dst []byte, id uint32, hasID bool) ([]byte, error) {
	f, err := x.formOf()
	if err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, requestHead...)
	switch name := x.method(); {
	case f != fullForm:
		dst = msgpack.AppendString(dst, f.Name)
	case form.Reserved(name):
		dst = msgpack.AppendString(dst, x.call.Path)
	default:
		dst = msgpack.AppendString(dst, name)
	}
	if dst, err = x.appendObjectParams(dst, start, f); err != nil {
		return dst, err
	}
	if hasID {
		dst = appendMember(dst, start, "id")
		dst = msgpack.AppendUint(dst, uint64(id))
	}
	if !x.conn.meta {
		return dst, nil
	}
	if len(x.call.Metadata) > 0 || x.call.WantMeta {
		dst = appendMember(dst, start, metaMember)
		dst = appendMDMap(dst, x.call.Metadata)
	}
	if deadline, ok := x.ctx.Deadline(); ok {
		dst = appendMember(dst, start, timeoutMember)
		dst = msgpack.AppendInt(dst, milliseconds(time.Until(deadline)))
	}
	return dst, nil
}

func (x *exchange) appendObjectParams(dst []byte, start int, f *binForm) ([]byte, error) {
	m, err := schema.For(x.args)
	object := err != nil || m.IsObject()
	if object && err == nil && !m.HasFields() {
		// Some servers refuse params, even an empty map, for methods that take none.
		return dst, x.call.Sent(0)
	}
	dst = appendMember(dst, start, "params")
	params := len(dst)
	if dst, err = codec.Append(dst, x.args); err != nil {
		return dst, status.Errorf(codes.Internal, "request of %s: %v", x.method(), err)
	}
	if object {
		dst = f.shorten(dst, params)
	}
	// Params are a map or an array (section 4.2), nothing else.
	if f.Params == everywire.ParamsNamed && typeOf(dst[params:]) != msgpack.Map {
		dst = inArray(dst, params)
	}
	return dst, x.call.Sent(len(dst) - params)
}

// readObject reads a response of JSON-RPC.
func (x *exchange) readObject(frame []byte) error {
	var o object
	err := o.read(msgpack.NewReader(frame))
	switch {
	case err != nil:
	case o.twice != "":
		err = fmt.Errorf("member %q appears twice", o.twice)
	case o.failure == nil && o.result == nil:
		err = fmt.Errorf("it has neither a result nor an error")
	case failed(o.failure) && o.result != nil && typeOf(o.result) != msgpack.Nil:
		err = fmt.Errorf("it has both a result and an error")
	case o.meta != nil:
		r := msgpack.NewReader(o.meta)
		m := new(meta)
		if err = m.members(r); err == nil {
			x.call.Header, x.call.Trailer = m.header, m.trailer
		}
	}
	if err != nil {
		return status.Errorf(codes.Internal, "reply of %s: %v", x.method(), err)
	}
	if failed(o.failure) {
		return objectStatus(o.failure).Err()
	}
	return x.readResult(o.result)
}

// failed reports whether a member "error" says that a call failed. Some servers
// write nil beside a result.
func failed(failure []byte) bool { return failure != nil && typeOf(failure) != msgpack.Nil }

// isObjectMessage reports whether a message is a map in MessagePack.
func isObjectMessage(msg any) bool {
	m, err := schema.For(msg)
	return err != nil || m.IsObject()
}

// appendCancelObject tells the server that nobody waits for a call.
func appendCancelObject(dst []byte, id uint32) []byte {
	start := len(dst)
	dst = append(dst, requestHead...)
	dst = msgpack.AppendString(dst, cancelName)
	dst = appendMember(dst, start, "params")
	dst = msgpack.AppendMapHeader(dst, 1)
	dst = append(dst, idKey...)
	return msgpack.AppendUint(dst, uint64(id))
}

// A replyKind says whose an object is.
type replyKind uint8

const (
	noReply replyKind = iota // it is a request
	ours                     // the reply of a call of this end
	nobodys                  // a reply that nobody waits for
)

// replyID returns the id of a response of JSON-RPC, if it is one that this end
// gave. An error with the id nil says that the server could not tell which
// request it is about; as no call can be left waiting for a reply that never
// comes, it ends the connection and all that is pending. last says that the server
// closes the connection behind the response.
func replyID(frame []byte) (id uint32, kind replyKind, last bool, err error) {
	var o object
	if err := o.read(msgpack.NewReader(frame)); err != nil {
		return 0, noReply, false, err
	}
	if !o.isResponse() {
		return 0, noReply, false, nil
	}
	if id, ok := idOf(o.id); ok {
		last = failed(o.failure) && rpc.MayPart(o.failure) && rpc.IsParting(objectStatus(o.failure))
		return id, ours, last, nil
	}
	if failed(o.failure) && (o.id == nil || typeOf(o.id) == msgpack.Nil) {
		return 0, nobodys, false, objectStatus(o.failure).Err()
	}
	return 0, nobodys, false, nil
}

// idOf reads an id as this end gives it.
func idOf(id []byte) (uint32, bool) {
	n, err := msgpack.NewReader(id).Uint64()
	return uint32(n), err == nil && n <= math.MaxUint32
}
