package msgpackrpc

import (
	"fmt"

	"github.com/everywire/everywire/codec/msgpack"
)

// An object is a message of JSON-RPC 2.0 as a MessagePack map. Its members are
// as they were written, parts of the frame; those that are absent are nil.
type object struct {
	version, id, method, params, meta, timeout []byte
	result, failure                            []byte
	twice                                      string // a member that appears twice
}

// isObject reports whether a frame is a JSON-RPC object and not an array. The
// first byte tells: fixmap, map 16 or map 32.
func isObject(frame []byte) bool {
	if len(frame) == 0 {
		return false
	}
	c := frame[0]
	return c&0xf0 == 0x80 || c == 0xde || c == 0xdf
}

// isBatch reports whether a frame is a batch of JSON-RPC: an array that begins
// with a map. The specification's arrays begin with an integer.
func isBatch(frame []byte) bool {
	r := msgpack.NewReader(frame)
	if n, err := r.ArrayHeader(); err != nil || n == 0 {
		return false
	}
	return isObject(frame[r.Pos():])
}

// read reads a map. Members that it does not know are skipped, also those whose
// keys are no strings, which JSON has not.
func (o *object) read(r *msgpack.Reader) error {
	n, err := r.MapHeader()
	if err != nil {
		return err
	}
	for range n {
		typ, err := r.Type()
		if err != nil {
			return err
		}
		var name []byte
		if typ == msgpack.Str || typ == msgpack.Bin {
			name, err = r.Binary()
		} else {
			err = r.Skip()
		}
		if err != nil {
			return err
		}
		v, err := r.Raw()
		if err != nil {
			return err
		}
		if member := o.member(name); member != nil {
			if *member != nil {
				o.twice = string(name)
			}
			*member = v
		}
	}
	return nil
}

func (o *object) member(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &o.version
	case "id":
		return &o.id
	case "method":
		return &o.method
	case "params":
		return &o.params
	case metaMember:
		return &o.meta
	case timeoutMember:
		return &o.timeout
	case "result":
		return &o.result
	case "error":
		return &o.failure
	}
	return nil
}

// isResponse reports whether the object answers a request: it has no method,
// and a result or an error.
func (o *object) isResponse() bool {
	return o.method == nil && (o.result != nil || o.failure != nil)
}

// request checks that the object is a request or a notification and returns its
// method's name. why says what is wrong, or is empty. An id that is none becomes
// nil, and params that are nil are absent.
func (o *object) request() (method []byte, why string) {
	switch typeOf(o.id) {
	case msgpack.Invalid, msgpack.Nil, msgpack.Int, msgpack.Float, msgpack.Str, msgpack.Bin:
	default:
		why = fmt.Sprintf(`member "id" must be a string, a number or nil, not %v`, typeOf(o.id))
		o.id = nil
	}
	name, err := msgpack.NewReader(o.method).Str()
	switch typ := typeOf(o.params); {
	case why != "":
	case o.twice != "":
		why = fmt.Sprintf("member %q appears twice", o.twice)
	case o.version == nil:
		why = `member "jsonrpc" is missing; it must be "2.0"`
	case string(o.version) != version && string(o.version) != versionBin:
		why = `member "jsonrpc" is not "2.0"`
	case o.method == nil:
		why = `member "method" is missing`
	case err != nil:
		why = fmt.Sprintf(`member "method" must be a string: %v`, err)
	case typ == msgpack.Nil:
		o.params = nil
	case typ != msgpack.Invalid && typ != msgpack.Array && typ != msgpack.Map:
		why = fmt.Sprintf(`member "params" must be a map or an array, not %v`, typ)
	}
	return name, why
}

// typeOf returns the type of a value, Invalid for nil.
func typeOf(raw []byte) msgpack.Type {
	typ, err := msgpack.NewReader(raw).Type()
	if err != nil {
		return msgpack.Invalid
	}
	return typ
}

// The members and values that all objects have, encoded.
const (
	version       = "\xa32.0"
	versionBin    = "\xc4\x032.0"
	versionMember = "\xa7jsonrpc" + version

	requestHead = "\x82" + versionMember + "\xa6method" // and what appendMember adds
	resultHead  = "\x83" + versionMember + "\xa6result" // and the id
	errorHead   = "\x83" + versionMember + "\xa5error"  // and the id
	idKey       = "\xa2id"

	metaMember    = "meta"
	timeoutMember = "timeout_ms"
)

// appendMember appends one more member to the map that begins at start, which
// has fewer than fifteen. The value follows.
func appendMember(dst []byte, start int, name string) []byte {
	dst[start]++ // a fixmap has its number of members in the head
	return msgpack.AppendString(dst, name)
}

// appendReplyID completes a response. A request without a readable id gets nil.
func appendReplyID(dst, id []byte) []byte {
	dst = append(dst, idKey...)
	if id == nil {
		return msgpack.AppendNil(dst)
	}
	return append(dst, id...)
}
