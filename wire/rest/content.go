package rest

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// checkContentType reports what is wrong with the type of a request's body;
// "" is nothing. JSON is UTF-8 (RFC 8259, section 8.1): another charset is
// another type.
func checkContentType(h http.Header) string {
	for _, enc := range h["Content-Encoding"] {
		if enc != "" && !strings.EqualFold(enc, "identity") {
			return "content coding " + strconv.Quote(enc) + " is not supported"
		}
	}
	ct := h["Content-Type"]
	switch {
	case len(ct) == 0:
		return "the body has no Content-Type: want " + jsonType
	case len(ct) > 1:
		return "more than one Content-Type"
	case ct[0] == jsonType:
		return ""
	}
	typ, params, err := mime.ParseMediaType(ct[0])
	if err != nil || typ != jsonType {
		return "Content-Type " + strconv.Quote(ct[0]) + " is not " + jsonType
	}
	if cs, ok := params["charset"]; ok && !strings.EqualFold(cs, "utf-8") {
		return "charset " + strconv.Quote(cs) + " is not utf-8"
	}
	return ""
}

// acceptsJSON reports whether the Accept header allows application/json: the
// most specific range that matches decides (RFC 9110, section 12.5.1).
// Parameters other than q are ignored.
func acceptsJSON(h http.Header) bool {
	lines := h["Accept"]
	if len(lines) == 0 {
		return true
	}
	best, ok, given := 0, false, false
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			rng, params, _ := strings.Cut(item, ";")
			rng = strings.TrimSpace(rng)
			given = given || rng != ""
			specific := 0
			switch {
			case strings.EqualFold(rng, jsonType):
				specific = 3
			case strings.EqualFold(rng, "application/*"):
				specific = 2
			case rng == "*/*":
				specific = 1
			}
			if specific >= best && specific > 0 {
				allowed := !refused(params)
				ok = allowed || ok && specific == best
				best = specific
			}
		}
	}
	return ok || !given
}

// refused reports whether the parameters say q=0.
func refused(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		return err == nil && q == 0
	}
	return false
}
