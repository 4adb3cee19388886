package http1

import (
	"net/textproto"
	"strings"
)

// The classes of bytes.
const (
	tokenByte = 1 << iota // RFC 9110, section 5.6.2
	valueByte             // of a field's value, section 5.5; HTAB and SP too
	plainPath             // of a path that is the same with and without escapes
	hostByte              // of a Host field, RFC 3986, section 3.2.2
)

var classes = func() (t [256]byte) {
	for c := range 256 {
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if alnum || c < 0x80 && strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0 {
			t[c] |= tokenByte
		}
		if c >= ' ' && c != 0x7f || c == '\t' {
			t[c] |= valueByte
		}
		if alnum || c < 0x80 && strings.IndexByte("-_.~$&+,/:;=@", byte(c)) >= 0 {
			t[c] |= plainPath
		}
		if alnum || c < 0x80 && strings.IndexByte("-_.~!$&'()*+,;=:[]%", byte(c)) >= 0 {
			t[c] |= hostByte
		}
	}
	return t
}()

// all reports whether all bytes of s are of a class.
func all(s string, class byte) bool {
	for i := range len(s) {
		if classes[s[i]]&class == 0 {
			return false
		}
	}
	return true
}

func isToken(s string) bool { return s != "" && all(s, tokenByte) }

// trim removes the white space that may stand around a value.
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// parseField splits a line into a field's canonical name and its value (RFC
// 9112, section 5).
func parseField(line string) (name, value string, err *refusal) {
	if line[0] == ' ' || line[0] == '\t' {
		return "", "", malformed("a line of the head begins with white space: folded fields are not accepted")
	}
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return "", "", malformed("a line of the head has no colon: %s", show(line))
	}
	name, value = line[:colon], trim(line[colon+1:])
	canonical := true
	upper := true
	for i := range len(name) {
		b := name[i]
		if classes[b]&tokenByte == 0 {
			return "", "", malformed("a field's name has a byte that it cannot have: %s", show(name))
		}
		if upper && b >= 'a' && b <= 'z' || !upper && b >= 'A' && b <= 'Z' {
			canonical = false
		}
		upper = b == '-'
	}
	if name == "" {
		return "", "", malformed("a field has no name: %s", show(line))
	}
	if !all(value, valueByte) {
		return "", "", malformed("the value of the field %s has a control character", show(name))
	}
	if !canonical {
		name = canonicalName(name)
	}
	return name, value, nil
}

// canonicalName makes a name canonical; those that clients send most often, in
// lower case, without an allocation.
func canonicalName(name string) string {
	if c, ok := lowerNames[name]; ok {
		return c
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

var lowerNames = func() map[string]string {
	names := map[string]string{}
	for _, n := range []string{
		"Accept", "Accept-Charset", "Accept-Encoding", "Accept-Language", "Access-Control-Request-Headers", "Access-Control-Request-Method",
		"Authorization", "Cache-Control", "Connect-Protocol-Version", "Connect-Timeout-Ms", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
		"Cookie", "Date", "Dnt", "Expect", "Forwarded", "Grpc-Timeout", "Host", "Idempotency-Key", "If-Match", "If-Modified-Since", "If-None-Match",
		"If-Unmodified-Since", "Keep-Alive", "Last-Event-Id", "Origin", "Pragma", "Range", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode",
		"Sec-Fetch-Site", "Sec-Fetch-User", "Sec-Websocket-Extensions", "Sec-Websocket-Key", "Sec-Websocket-Protocol", "Sec-Websocket-Version",
		"Te", "Traceparent", "Tracestate", "Trailer", "Transfer-Encoding", "Upgrade", "Upgrade-Insecure-Requests", "User-Agent", "Via",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Grpc-Web", "X-Requested-With", "X-User-Agent",
	} {
		names[strings.ToLower(n)] = n
	}
	return names
}()

// eachElement calls f with the elements of a comma-separated list that are not
// empty, until it returns false.
func eachElement(list string, f func(string) bool) {
	for list != "" {
		var e string
		e, list, _ = strings.Cut(list, ",")
		if e = trim(e); e != "" && !f(e) {
			return
		}
	}
}

// hasElement reports whether a list has an element, in any letter case.
func hasElement(list, element string) bool {
	found := false
	eachElement(list, func(e string) bool {
		found = strings.EqualFold(e, element)
		return !found
	})
	return found
}
