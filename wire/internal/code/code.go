// Package code is the one table of status codes: how a gRPC code looks in HTTP
// and in JSON-RPC, and back. docs/spec/status.md is the same table in prose.
//
// A wire whose error bodies are ours always carries the gRPC code itself (see
// [Name] and [Parse]); the numbers of HTTP and JSON-RPC are for peers that
// know nothing of gRPC, and the way back is for errors that such peers made.
package code

import (
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
)

type row struct {
	code    codes.Code
	name    string
	http    int
	jsonrpc int
}

// The names and HTTP statuses are those of google.rpc.Code. JSON-RPC reserves
// -32000 to -32099 for servers; the three codes that the specification itself
// names keep its numbers.
var table = [...]row{
	{codes.OK, "OK", 200, 0},
	{codes.Canceled, "CANCELLED", 499, -32001},
	{codes.Unknown, "UNKNOWN", 500, -32002},
	{codes.InvalidArgument, "INVALID_ARGUMENT", 400, InvalidParams},
	{codes.DeadlineExceeded, "DEADLINE_EXCEEDED", 504, -32004},
	{codes.NotFound, "NOT_FOUND", 404, -32005},
	{codes.AlreadyExists, "ALREADY_EXISTS", 409, -32006},
	{codes.PermissionDenied, "PERMISSION_DENIED", 403, -32007},
	{codes.ResourceExhausted, "RESOURCE_EXHAUSTED", 429, -32008},
	{codes.FailedPrecondition, "FAILED_PRECONDITION", 400, -32009},
	{codes.Aborted, "ABORTED", 409, -32010},
	{codes.OutOfRange, "OUT_OF_RANGE", 400, -32011},
	{codes.Unimplemented, "UNIMPLEMENTED", 501, MethodNotFound},
	{codes.Internal, "INTERNAL", 500, InternalError},
	{codes.Unavailable, "UNAVAILABLE", 503, -32014},
	{codes.DataLoss, "DATA_LOSS", 500, -32015},
	{codes.Unauthenticated, "UNAUTHENTICATED", 401, -32016},
}

// The codes that the JSON-RPC 2.0 specification defines in section 5.1.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	MethodNotFound = -32601
	InvalidParams  = -32602
	InternalError  = -32603
	// ServerError stands for a gRPC code outside 0 to 16; the error's data
	// carries the code itself.
	ServerError = -32000
)

// Known reports whether c is one of gRPC's seventeen codes.
func Known(c codes.Code) bool { return int64(c) < int64(len(table)) }

// Name returns the code's name in google.rpc.Code, such as NOT_FOUND; for a
// code outside gRPC's seventeen it returns the number in decimal.
func Name(c codes.Code) string {
	if Known(c) {
		return table[c].name
	}
	return strconv.FormatUint(uint64(c), 10)
}

// Parse is the inverse of [Name].
func Parse(s string) (codes.Code, bool) {
	for _, r := range table {
		if r.name == s {
			return r.code, true
		}
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return codes.Code(n), err == nil
}

// HTTP returns the HTTP status for c: 500 for a code outside gRPC's seventeen.
func HTTP(c codes.Code) int {
	if Known(c) {
		return table[c].http
	}
	return http.StatusInternalServerError
}

// FromHTTP returns the code for an HTTP status whose body does not say it.
func FromHTTP(status int) codes.Code {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusNotAcceptable:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return codes.Unimplemented
	case http.StatusConflict:
		return codes.Aborted
	case http.StatusPreconditionFailed:
		return codes.FailedPrecondition
	case http.StatusRequestedRangeNotSatisfiable:
		return codes.OutOfRange
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge:
		return codes.ResourceExhausted
	case 499:
		return codes.Canceled
	case http.StatusInternalServerError:
		return codes.Internal
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return codes.Unavailable
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return codes.DeadlineExceeded
	}
	if status >= 200 && status < 300 {
		return codes.OK
	}
	return codes.Unknown
}

// JSONRPC returns the JSON-RPC error code for c; [ServerError] for a code
// outside gRPC's seventeen.
func JSONRPC(c codes.Code) int {
	if Known(c) {
		return table[c].jsonrpc
	}
	return ServerError
}

// FromJSONRPC returns the gRPC code for a JSON-RPC error code whose data does
// not say it: a peer's own codes are Unknown.
func FromJSONRPC(n int64) codes.Code {
	switch n {
	case ParseError, InvalidRequest:
		// The peer could not read what we sent; not the caller's argument.
		return codes.Internal
	}
	for _, r := range table[1:] {
		if int64(r.jsonrpc) == n {
			return r.code
		}
	}
	return codes.Unknown
}
