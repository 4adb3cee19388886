package http1

import (
	"math"
	"net/http"
	"strings"
)

// framing is what the fields of a request say about the connection and the
// body, which must be said once and clearly (RFC 9112, section 6).
type framing struct {
	host, length, coding    string
	hosts, lengths, codings int
	expect                  string
	closing, keepAlive      bool // of Connection
	trailersOK              bool // of TE
}

// field takes note of a field. It reports whether the handler does not see it
// among the others.
func (f *framing) field(name, value string) bool {
	switch name {
	case "Host":
		f.host = value
		f.hosts++
		return true
	case "Transfer-Encoding":
		f.coding = value
		f.codings++
		return true
	case "Content-Length":
		f.length = value
		f.lengths++
	case "Connection":
		f.closing = f.closing || hasElement(value, "close")
		f.keepAlive = f.keepAlive || hasElement(value, "keep-alive")
	case "Expect":
		if f.expect != "" {
			value = f.expect + ", " + value
		}
		f.expect = value
	case "Te":
		f.trailersOK = f.trailersOK || hasElement(value, "trailers")
	}
	return false
}

// apply checks what the fields said together and sets the request's framing.
func (x *exchange) apply() *refusal {
	f, r := &x.framing, &x.req
	http11 := r.ProtoMinor >= 1
	switch {
	case f.hosts > 1:
		return malformed("the request has %d Host fields", f.hosts)
	case f.hosts == 0 && http11:
		return malformed("the request has no Host field, which HTTP/1.1 requires")
	case !all(f.host, hostByte):
		return malformed("the Host field is no host: %s", show(f.host))
	}
	// RFC 9112, section 3.2.2: of two hosts the target's counts.
	if r.Host = r.URL.Host; r.Host == "" {
		r.Host = f.host
	}
	r.Close = f.closing || !http11 && !f.keepAlive
	if err := x.applyLength(http11); err != nil {
		return err
	}
	if f.expect != "" && http11 {
		if !strings.EqualFold(f.expect, "100-continue") {
			return refuse(http.StatusExpectationFailed, "the expectation %s cannot be met, only 100-continue", show(f.expect))
		}
		x.body.unasked.Store(r.ContentLength != 0)
	}
	return nil
}

func (x *exchange) applyLength(http11 bool) *refusal {
	f, r := &x.framing, &x.req
	switch {
	case f.codings > 0 && f.lengths > 0:
		return malformed("the request has both Content-Length and Transfer-Encoding")
	case f.codings > 0:
		if err := f.checkCoding(http11); err != nil {
			return err
		}
		r.TransferEncoding, r.ContentLength = chunkedOnly(), -1
	case f.lengths > 1:
		return malformed("the request has %d Content-Length fields", f.lengths)
	case f.lengths == 1:
		n, ok := parseLength(f.length)
		if !ok {
			return malformed("the Content-Length is not a number of bytes: %s", show(f.length))
		}
		r.ContentLength = n
	}
	return nil
}

// chunkedOnly is made anew, for a handler may change it.
func chunkedOnly() []string { return []string{"chunked"} }

func (f *framing) checkCoding(http11 bool) *refusal {
	switch {
	case !http11:
		// RFC 9112, section 6.1: who says so may have passed on what it did not
		// understand.
		return malformed("the request has a Transfer-Encoding, which HTTP/1.0 does not have")
	case f.codings == 1 && strings.EqualFold(f.coding, "chunked"):
		return nil
	}
	if f.codings == 1 {
		unknown := ""
		eachElement(f.coding, func(e string) bool {
			if isToken(e) && !strings.EqualFold(e, "chunked") {
				unknown = e
			}
			return unknown == ""
		})
		if unknown != "" {
			return refuse(http.StatusNotImplemented, "the transfer coding %s is not supported, only chunked is", show(unknown))
		}
	}
	return malformed("the Transfer-Encoding is not just chunked, once")
}

// parseLength reads a length: digits and nothing else.
func parseLength(s string) (n int64, ok bool) {
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		if !isDigit(s[i]) || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = 10*n + int64(s[i]-'0')
	}
	return n, true
}

// declareTrailers reads the Trailer field as net/http does: its names are the
// keys of the request's Trailer, and the values come behind the body.
func (x *exchange) declareTrailers() *refusal {
	lines, ok := x.req.Header["Trailer"]
	if !ok || x.req.ContentLength >= 0 {
		return nil
	}
	delete(x.req.Header, "Trailer")
	x.req.Trailer = http.Header{}
	for _, line := range lines {
		var bad string
		eachElement(line, func(e string) bool {
			if !isToken(e) || !mayTrail(canonicalName(e)) {
				bad = e
				return false
			}
			x.req.Trailer[canonicalName(e)] = nil
			return true
		})
		if bad != "" {
			return malformed("the Trailer field announces %s, which cannot be a trailer", show(bad))
		}
	}
	return nil
}

// mayTrail reports whether a field may come behind a body: one that says how to
// read the message must come before (RFC 9110, section 6.5.1).
func mayTrail(name string) bool {
	switch name {
	case "Transfer-Encoding", "Content-Length", "Trailer", "Host", "Connection", "Expect", "Te", "Upgrade",
		"Content-Encoding", "Content-Type", "Content-Range", "Authorization", "Cookie", "Cache-Control", "Max-Forwards":
		return false
	}
	return true
}
