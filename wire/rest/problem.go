package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
)

// A problem is an error's body: a problem document of RFC 9457 with the
// members code and details of our own.
type problem struct {
	Type    string        `json:"type"`
	Title   string        `json:"title"`
	Status  int           `json:"status"`
	Detail  string        `json:"detail"`
	Code    string        `json:"code"`
	Details []code.Detail `json:"details,omitempty"`
}

// statusClientClosed is what a cancelled call is answered with; HTTP has no
// number for it, and this one is the custom of proxies.
const statusClientClosed = 499

func encodeProblem(httpStatus int, s *status.Status) []byte {
	p := problem{
		Type: "about:blank", Title: http.StatusText(httpStatus), Status: httpStatus,
		Detail: s.Message(), Code: code.Name(s.Code()), Details: code.Details(s),
	}
	if httpStatus == statusClientClosed {
		p.Title = "Client Closed Request"
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		// Strings, numbers and bytes can always be encoded.
		panic(fmt.Sprintf("rest: encoding a problem: %v", err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// statusOf reads what a server answered that was not a success: the exact
// status from a problem document of ours, or else the HTTP status and what can
// be quoted of the body.
func statusOf(httpStatus int, contentType string, body []byte) *status.Status {
	typ, _, err := mime.ParseMediaType(contentType)
	if err == nil && (typ == problemType || typ == jsonType) {
		var p problem
		if json.Unmarshal(body, &p) == nil && p.Code != "" {
			if c, ok := code.Parse(p.Code); ok {
				return code.Status(c, p.Detail, p.Details)
			}
		}
	}
	msg := fmt.Sprintf("HTTP status %d %s", httpStatus, http.StatusText(httpStatus))
	if q := quote(body); q != "" {
		msg += ": " + q
	}
	c := code.FromHTTP(httpStatus)
	if c == codes.OK {
		c = codes.Unknown // the caller says that it was no success
	}
	return status.New(c, msg)
}

// maxQuote is how many bytes of a foreign body an error quotes.
const maxQuote = 200

// quote returns the beginning of a body on one line of printable text.
func quote(body []byte) string {
	n := min(len(body), maxQuote)
	cut := n < len(body)
	for cut && n > 0 && !utf8.RuneStart(body[n]) {
		n-- // not within a character
	}
	body = body[:n]
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(body), "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if cut {
		s += "…"
	}
	return s
}
