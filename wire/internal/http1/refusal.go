package http1

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A refusal is why the server answers a request by itself, after which it
// closes the connection: what follows cannot be trusted to be a request.
type refusal struct {
	status int
	detail string
}

func (r *refusal) Error() string { return r.detail }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// malformed is a refusal of what is no request.
func malformed(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, format, args...)
}

// shown is how much of what a client sent an answer repeats.
const shown = 80

// show quotes what a client sent, its beginning if it is long.
func show(s string) string {
	if len(s) > shown {
		return strconv.Quote(s[:shown]) + "…"
	}
	return strconv.Quote(s)
}

// appendRefusal appends the response: a problem document (RFC 9457).
func appendRefusal(dst []byte, r *refusal, method string, now time.Time) []byte {
	body, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(r.status), r.status, r.detail})
	if err != nil {
		body = nil // strings and a number: it cannot fail
	}
	dst = appendStatusLine(dst, r.status)
	dst = appendDate(dst, now)
	dst = append(dst, "Content-Type: application/problem+json\r\nConnection: close\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	if method != http.MethodHead {
		dst = append(dst, body...)
	}
	return dst
}
