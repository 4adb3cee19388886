package web

import (
	"net/http"
	"strconv"
)

// An answerer is the ResponseWriter of package http1.
type answerer interface {
	Answer(status int, contentType string, body []byte)
}

// held is the length up to which net/http holds a body back and sets its length
// itself, which is cheaper.
const held = 2 << 10

// Answer writes a whole response to r: the fields that are in w.Header, this
// content type if there is a body, the length, and the body, unless r is HEAD.
// A Content-Length that is there already must be that of body. contentType has
// one value, which is shared.
func Answer(w http.ResponseWriter, r *http.Request, status int, contentType []string, body []byte) {
	if a, ok := w.(answerer); ok {
		a.Answer(status, contentType[0], body)
		return
	}
	h := w.Header()
	if len(body) > 0 {
		h["Content-Type"] = contentType
	}
	if len(body) > held || r.Method == http.MethodHead {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client is gone, whom nothing can be told
	}
}

// CloseAfter ends a connection of HTTP/1.1 after the response: what is left of the
// request is not read. Later versions have no such field (RFC 9113, section
// 8.2.2), and each request its stream.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header()["Connection"] = []string{"close"}
	}
}

// CloseIfUnclear is for handlers on another's server: a request with both a length
// and chunks must close its connection (RFC 9112, section 6.1), but net/http has
// dropped the length by now, so each with chunks does.
func CloseIfUnclear(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 && !IsOwn(r) {
		CloseAfter(w, r)
	}
}
