package rest

import (
	"net/http"
	"strconv"

	"google.golang.org/grpc/status"
)

var jsonHeader, problemHeader = []string{jsonType}, []string{problemType}

func writeProblem(w http.ResponseWriter, r *http.Request, httpStatus int, s *status.Status) {
	write(w, r, httpStatus, problemHeader, encodeProblem(httpStatus, s))
}

// sniffed is the length up to which net/http buffers a body and sets its length
// itself, which is cheaper.
const sniffed = 2 << 10

func write(w http.ResponseWriter, r *http.Request, httpStatus int, contentType []string, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentType
	if len(body) > sniffed || r.Method == http.MethodHead {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(httpStatus)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only if the client is gone, whom nothing can be told
	}
}
