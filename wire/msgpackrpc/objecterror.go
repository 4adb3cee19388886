package msgpackrpc

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/code"
)

// appendFailure appends a response of JSON-RPC with an error of the protocol
// itself.
func appendFailure(dst, id []byte, number int, message string) []byte {
	dst = append(dst, errorHead...)
	dst = appendErrorObject(dst, 2, number, message)
	return appendReplyID(dst, id)
}

// appendErrorObject appends an error up to its data.
func appendErrorObject(dst []byte, members, number int, message string) []byte {
	dst = msgpack.AppendMapHeader(dst, members)
	dst = msgpack.AppendString(dst, "code")
	dst = msgpack.AppendInt(dst, int64(number))
	dst = msgpack.AppendString(dst, "message")
	return msgpack.AppendString(dst, strings.ToValidUTF8(message, "\uFFFD"))
}

// appendStatus appends a response of JSON-RPC that says s. The error has data
// only for what code and message cannot say, as on the JSON-RPC wire.
func appendStatus(dst, id []byte, s *status.Status) []byte {
	details := code.Details(s)
	members := 0
	if !code.Known(s.Code()) {
		members++
	}
	if len(details) > 0 {
		members++
	}
	dst = append(dst, errorHead...)
	if members == 0 {
		dst = appendErrorObject(dst, 2, code.JSONRPC(s.Code()), s.Message())
		return appendReplyID(dst, id)
	}
	dst = appendErrorObject(dst, 3, code.JSONRPC(s.Code()), s.Message())
	dst = msgpack.AppendString(dst, "data")
	dst = msgpack.AppendMapHeader(dst, members)
	if !code.Known(s.Code()) {
		dst = msgpack.AppendString(dst, "code")
		dst = msgpack.AppendUint(dst, uint64(s.Code()))
	}
	if len(details) > 0 {
		dst = appendDetails(dst, details)
	}
	return appendReplyID(dst, id)
}

// objectStatus makes a status of the error of a response of JSON-RPC, of a
// server like this one or of any other.
func objectStatus(raw []byte) *status.Status {
	number, message, data, err := readErrorObject(msgpack.NewReader(raw))
	if err != nil {
		return status.New(codes.Unknown, foreignText(raw))
	}
	var c uint64
	var details []code.Detail
	if typeOf(data) == msgpack.Map {
		r := msgpack.NewReader(data)
		if c, _, details, _, err = readErrorMembers(r); err != nil {
			c, details = 0, nil // the data of another server
		}
	}
	if number == code.ServerError && c > 0 && c <= math.MaxUint32 {
		return code.Status(codes.Code(c), message, details)
	}
	is := code.FromJSONRPC(number)
	if is == codes.Unknown && number != int64(code.JSONRPC(codes.Unknown)) {
		// No code of gRPC stands for it: keep what the server said as text.
		note := fmt.Sprintf("code %d", number)
		if data != nil {
			note += ", data " + shown(data)
		}
		message = strings.TrimLeft(fmt.Sprintf("%s (%s)", message, note), " ")
	}
	return code.Status(is, message, details)
}

func readErrorObject(r *msgpack.Reader) (number int64, message string, data []byte, err error) {
	members, err := r.MapHeader()
	if err != nil {
		return 0, "", nil, err
	}
	for range members {
		name, err := r.Str()
		if err != nil {
			return 0, "", nil, err
		}
		var text []byte
		switch string(name) {
		case "code":
			number, err = r.Int64()
		case "message":
			text, err = r.Str()
			message = string(text)
		case "data":
			data, err = r.Raw()
		default:
			err = r.Skip()
		}
		if err != nil {
			return 0, "", nil, err
		}
	}
	return number, message, data, nil
}
