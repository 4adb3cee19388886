package jsonrpc

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
)

// appendQuoted appends s as a JSON string. Bytes that are no UTF-8 become
// U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // it fails on invalid UTF-8 only
		panic(err)
	}
	return out
}

// appendError appends an error object.
func appendError(dst []byte, number int, message string) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(number), 10)
	dst = append(dst, `,"message":`...)
	dst = appendQuoted(dst, message)
	return append(dst, '}')
}

// appendStatus appends the error object of a status. It has data only for what
// code and message cannot say.
func appendStatus(dst []byte, s *status.Status) []byte {
	dst = appendError(dst, code.JSONRPC(s.Code()), s.Message())
	details := code.Details(s)
	if code.Known(s.Code()) && len(details) == 0 {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"data":{`...)
	if !code.Known(s.Code()) {
		dst = append(dst, `"code":`...)
		dst = strconv.AppendUint(dst, uint64(s.Code()), 10)
		if len(details) > 0 {
			dst = append(dst, ',')
		}
	}
	for i, d := range details {
		if i == 0 {
			dst = append(dst, `"details":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":`...)
		dst = appendQuoted(dst, d.Type)
		dst = append(dst, `,"value":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, d.Value)
		dst = append(dst, `"}`...)
	}
	if len(details) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}

// statusOf reads an error object, of a server like this one or of any other.
func statusOf(raw []byte) *status.Status {
	var e struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		// Servers of JSON-RPC 1.0 send a string, or whatever they like.
		var text string
		if json.Unmarshal(raw, &text) == nil {
			return status.New(codes.Unknown, text)
		}
		return status.New(codes.Unknown, "the server answered with the error "+excerptData(raw))
	}
	var data struct {
		Code    uint32        `json:"code"`
		Details []code.Detail `json:"details"`
	}
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &data) != nil {
		data.Code, data.Details = 0, nil // the data of another server
	}
	number, err := e.Code.Int64()
	c := codes.Unknown
	if err == nil {
		c = code.FromJSONRPC(number)
	}
	if number == code.ServerError && data.Code != 0 {
		return code.Status(codes.Code(data.Code), e.Message, data.Details)
	}
	if c == codes.Unknown && number != int64(code.JSONRPC(codes.Unknown)) {
		// No code of gRPC stands for it: keep what the server said as text.
		note := "code " + e.Code.String()
		if len(e.Data) > 0 {
			note += ", data " + excerptData(e.Data)
		}
		e.Message = strings.TrimLeft(fmt.Sprintf("%s (%s)", e.Message, note), " ")
	}
	return code.Status(c, e.Message, data.Details)
}

// excerptData is excerpt for what a server sent for somebody to read.
func excerptData(v []byte) string {
	const most = 1024
	if len(v) <= most {
		return string(v)
	}
	return strings.ToValidUTF8(string(v[:most]), "") + "…"
}
