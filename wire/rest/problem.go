package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/wire/internal/code"
)

// A problem is an error's body: a problem document of RFC 9457 with the
// members code, details and errors of our own.
type problem struct {
	Type    string        `json:"type"`
	Title   string        `json:"title"`
	Status  int           `json:"status"`
	Detail  string        `json:"detail"`
	Code    string        `json:"code"`
	Details []code.Detail `json:"details,omitempty"`
	// Errors are the google.rpc.BadRequest among the details, for those who do
	// not read protobuf.
	Errors []fieldError `json:"errors,omitempty"`
}

// A fieldError is one thing that is wrong with a request.
type fieldError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// badRequestName is the detail's type.
var badRequestName = string((&errdetails.BadRequest{}).ProtoReflect().Descriptor().FullName())

// fieldErrors reads the details that say what is wrong with a request.
func fieldErrors(details []code.Detail) (errs []fieldError) {
	for _, d := range details {
		var bad errdetails.BadRequest
		if d.Type != badRequestName || proto.Unmarshal(d.Value, &bad) != nil {
			continue
		}
		for _, v := range bad.GetFieldViolations() {
			errs = append(errs, fieldError{v.GetField(), v.GetDescription()})
		}
	}
	return errs
}

// detailsOf is the inverse of fieldErrors.
func detailsOf(errs []fieldError) ([]code.Detail, error) {
	bad := &errdetails.BadRequest{}
	for _, e := range errs {
		bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: e.Field, Description: e.Detail})
	}
	value, err := proto.Marshal(bad)
	return []code.Detail{{Type: badRequestName, Value: value}}, err
}

// statusClientClosed is what a cancelled call is answered with; HTTP has no
// number for it, and this one is the custom of proxies.
const statusClientClosed = 499

func encodeProblem(httpStatus int, s *status.Status) []byte {
	p := problem{
		Type: "about:blank", Title: http.StatusText(httpStatus), Status: httpStatus,
		Detail: s.Message(), Code: code.Name(s.Code()), Details: code.Details(s),
	}
	p.Errors = fieldErrors(p.Details)
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
// status from a problem document of ours, or else the HTTP status, what can be
// quoted of the body, and the errors of a problem document that has some.
func statusOf(httpStatus int, contentType string, body []byte) *status.Status {
	typ, _, err := mime.ParseMediaType(contentType)
	var details []code.Detail
	if err == nil && (typ == problemType || typ == jsonType) {
		var p problem
		if json.Unmarshal(body, &p) == nil {
			if len(p.Details) == 0 && len(p.Errors) > 0 {
				if ds, err := detailsOf(p.Errors); err == nil { // strings that are not UTF-8
					p.Details = ds
				}
			}
			if c, ok := code.Parse(p.Code); ok && p.Code != "" {
				return code.Status(c, p.Detail, p.Details)
			}
			details = p.Details
		}
	}
	msg := fmt.Sprintf("HTTP status %d %s", httpStatus, http.StatusText(httpStatus))
	if q := quote(body); q != "" {
		msg += ": " + q
	}
	c := code.FromHTTP(httpStatus)
	if httpStatus == http.StatusNotModified {
		// Only a caller that sets If-None-Match gets it.
		c = codes.FailedPrecondition
	}
	return code.Status(c, msg, details)
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
