package msgpackrpc

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/msgpack"
	"github.com/everywire/everywire/wire/internal/code"
)

// appendError appends a whole response that says s.
func appendError(dst []byte, id uint32, s *status.Status) []byte {
	dst = appendResponse(dst, id)
	details := code.Details(s)
	members := 2
	if len(details) > 0 {
		members = 3
	}
	dst = msgpack.AppendMapHeader(dst, members)
	dst = msgpack.AppendString(dst, "code")
	dst = msgpack.AppendUint(dst, uint64(s.Code()))
	dst = msgpack.AppendString(dst, "message")
	dst = msgpack.AppendString(dst, strings.ToValidUTF8(s.Message(), "\uFFFD"))
	if len(details) > 0 {
		dst = appendDetails(dst, details)
	}
	return msgpack.AppendNil(dst)
}

// appendDetails appends the member that has a status's details.
func appendDetails(dst []byte, details []code.Detail) []byte {
	dst = msgpack.AppendString(dst, "details")
	dst = msgpack.AppendArrayHeader(dst, len(details))
	for _, d := range details {
		dst = msgpack.AppendMapHeader(dst, 2)
		dst = msgpack.AppendString(dst, "type")
		dst = msgpack.AppendString(dst, d.Type)
		dst = msgpack.AppendString(dst, "value")
		dst = msgpack.AppendBinary(dst, d.Value)
	}
	return dst
}

// statusOf makes a status of a response's error, which is not nil. Errors that
// do not look like ours are Unknown, with the text that is in them.
func statusOf(raw []byte) *status.Status {
	if s, ok := readError(msgpack.NewReader(raw)); ok {
		return s
	}
	return status.New(codes.Unknown, foreignText(raw))
}

// readError reads an error in our form. ok is false if it is in another one.
func readError(r *msgpack.Reader) (s *status.Status, ok bool) {
	c, message, details, hasCode, err := readErrorMembers(r)
	if err != nil || !hasCode || c > math.MaxUint32 {
		return nil, false
	}
	return code.Status(codes.Code(c), message, details), true
}

// readErrorMembers reads a map of gRPC's code, a message and details, any of
// which may be absent.
func readErrorMembers(r *msgpack.Reader) (c uint64, message string, details []code.Detail, hasCode bool, err error) {
	members, err := r.MapHeader()
	for ; err == nil && members > 0; members-- {
		var name, text []byte
		if name, err = r.Str(); err != nil {
			break
		}
		switch string(name) {
		case "code":
			hasCode = true
			c, err = r.Uint64()
		case "message":
			text, err = r.Str()
			message = string(text)
		case "details":
			details, err = readDetails(r)
		default:
			err = r.Skip()
		}
	}
	return c, message, details, hasCode, err
}

func readDetails(r *msgpack.Reader) ([]code.Detail, error) {
	n, err := r.ArrayHeader()
	if err != nil {
		return nil, err
	}
	var details []code.Detail
	for range n {
		members, err := r.MapHeader()
		if err != nil {
			return nil, err
		}
		var d code.Detail
		for range members {
			name, err := r.Str()
			if err != nil {
				return nil, err
			}
			var v []byte
			switch string(name) {
			case "type":
				v, err = r.Str()
				d.Type = string(v)
			case "value":
				v, err = r.Binary()
				d.Value = append([]byte{}, v...)
			default:
				err = r.Skip()
			}
			if err != nil {
				return nil, err
			}
		}
		details = append(details, d)
	}
	return details, nil
}

// foreignText finds the words in a peer's own error value: a string; an array
// of a code and a message, as Neovim sends it; a map with a message.
func foreignText(raw []byte) string {
	var doc everywire.Document
	if err := codec.Decode(raw, &doc); err != nil {
		return fmt.Sprintf("the server sent an error that cannot be read: %v", err)
	}
	switch v := doc.Value.(type) {
	case string:
		return v
	case []any:
		if len(v) == 2 {
			if text, ok := v[1].(string); ok {
				return text
			}
		}
	case map[string]any:
		if text, ok := v["message"].(string); ok {
			return text
		}
	}
	return "the server sent the error " + excerpt(fmt.Sprint(doc.Value))
}

// shown is a value as an error shows it.
func shown(raw []byte) string {
	var doc everywire.Document
	if err := codec.Decode(raw, &doc); err != nil {
		return fmt.Sprintf("that cannot be read: %v", err)
	}
	return excerpt(fmt.Sprint(doc.Value))
}

// excerpt shortens what a server sent for somebody to read.
func excerpt(s string) string {
	const most = 1024
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
