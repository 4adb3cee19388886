package jsonrpc

import (
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
)

// How replies begin.
const (
	replyHead = `{"jsonrpc":"2.0","result":`
	errorHead = `{"jsonrpc":"2.0","error":`

	replyHeadV1 = `{"result":`
	errorHeadV1 = `{"result":null,"error":`
)

// appendResultHead begins a reply with a result, which follows.
func (r *request) appendResultHead(dst []byte) []byte {
	if r.v1 || r.bare {
		return append(dst, replyHeadV1...)
	}
	return append(dst, replyHead...)
}

// appendResultEnd completes what appendResultHead began.
func (r *request) appendResultEnd(dst []byte) []byte {
	if r.bare {
		return append(dst, '}')
	}
	if r.v1 {
		dst = append(dst, `,"error":null`...)
	}
	return r.appendID(dst)
}

// appendStatus appends a reply with an error.
func (r *request) appendStatus(dst []byte, s *status.Status) []byte {
	if r.bare {
		return appendBareError(dst, s.Message())
	}
	if r.v1 {
		return r.appendErrorV1(dst, s.Message())
	}
	return r.appendID(appendStatus(append(dst, errorHead...), s))
}

// appendFailure appends a reply with an error of the protocol itself.
func (r *request) appendFailure(dst []byte, number int, message string) []byte {
	if r.bare {
		return appendBareError(dst, message)
	}
	if r.v1 {
		return r.appendErrorV1(dst, message)
	}
	return r.appendID(appendError(append(dst, errorHead...), number, message))
}

// appendErrorV1 writes the error as a string. Version 1.0 calls it an object
// without saying what is in it; servers of its time sent strings, and Go's
// net/rpc/jsonrpc takes nothing else.
func (r *request) appendErrorV1(dst []byte, message string) []byte {
	if message == "" {
		message = "unknown error" // "" and null would be taken for success
	}
	return r.appendID(appendQuoted(append(dst, errorHeadV1...), message))
}

func (r *request) appendID(dst []byte) []byte {
	id := r.id
	if id == nil {
		id = null
	}
	dst = append(dst, `,"id":`...)
	dst = append(dst, id...)
	return append(dst, '}')
}

// appendTextError answers a text that could not be read as a whole.
func (s *service) appendTextError(dst []byte, err error) []byte {
	if _, ok := err.(*batchError); ok { //nolint:errorlint // parse returns it as it is
		return s.nobody.appendFailure(dst, code.InvalidRequest, err.Error())
	}
	return s.nobody.appendFailure(dst, code.ParseError, "the text is not JSON: "+err.Error())
}
