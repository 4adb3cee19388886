package rest

import (
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpbody"
	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/web"
)

// respond writes the response that x.result makes.
func (x *exchange) respond(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	outcome := x.outcome
	httpmeta.Put(header, "", outcome.Header)
	httpmeta.Put(header, httpmeta.TrailerPrefix, outcome.Trailer)
	if c := outcome.Status.Code(); c != codes.OK {
		writeProblem(w, r, x.errorStatus(c), outcome.Status)
		return
	}
	httpStatus := x.endpoint.successStatus()
	switch httpStatus {
	case http.StatusCreated:
		if header["Location"] == nil { // the handler may know better
			header["Location"] = []string{x.h.prefix + x.head.location}
		}
	case http.StatusNoContent:
		w.WriteHeader(httpStatus)
		return
	case http.StatusOK:
		if x.endpoint.noReply {
			header["Content-Length"] = []string{"0"}
			w.WriteHeader(httpStatus)
			return
		}
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if tag := x.entityTag(reads); tag != "" {
		header["Etag"] = []string{x.formatTag(tag)}
		if reads {
			if no := x.evaluate(r, tag); no == http.StatusNotModified {
				x.vary(header, reads)
				x.suffixTag(header, len(x.body) >= httpbody.MinSize)
				w.WriteHeader(no)
				return
			} else if no != 0 {
				delete(header, "Etag")
				writeProblem(w, r, no, status.New(codes.FailedPrecondition, "If-Match names no entity tag of what is there"))
				return
			}
		}
	}
	x.vary(header, reads)
	if len(x.body) == 0 && !x.format.isDocument { // then that is the message, which its codec reads
		header["Content-Type"] = x.format.header
	}
	web.Answer(w, r, httpStatus, x.format.header, x.compressed(header))
}

// vary says what the representation was chosen by, where a cache could keep it
// or it is long enough to be compressed (RFC 9110, section 12.5.5).
func (x *exchange) vary(h http.Header, cacheable bool) {
	if cacheable || len(x.body) >= httpbody.MinSize {
		h["Vary"] = append(h["Vary"], "Accept, Accept-Encoding")
	}
}

// compressed returns the body in the coding that the client prefers, if that
// is worth it or nothing else is accepted, and says so in the header.
func (x *exchange) compressed(h http.Header) []byte {
	if len(x.body) == 0 {
		return nil
	}
	coded, ok := x.prefers.Encode(x.scratch[:0], x.body)
	x.scratch = coded
	if !ok {
		return x.body
	}
	h["Content-Encoding"] = x.prefers.Coding.Header()
	x.suffixTag(h, true)
	return coded
}

var problemHeader = []string{problemType}

func writeProblem(w http.ResponseWriter, r *http.Request, httpStatus int, s *status.Status) {
	web.Answer(w, r, httpStatus, problemHeader, encodeProblem(httpStatus, s))
}

// errorStatus is HTTP's status for a call that failed. If the handler had
// preconditions to evaluate, what it says about the state is about them (RFC
// 9110, section 13.1).
func (x *exchange) errorStatus(c codes.Code) int {
	if x.conditional {
		switch c {
		case codes.FailedPrecondition, codes.Aborted, codes.AlreadyExists:
			return http.StatusPreconditionFailed
		}
	}
	return code.HTTP(c)
}
