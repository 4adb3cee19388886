package http1

import (
	"net/url"
	"strings"
)

// parseTarget reads the target of a request into its URL (RFC 9112, section
// 3.2): a path, an absolute URL, for CONNECT an authority, for OPTIONS "*".
func (x *exchange) parseTarget(method, target string) *refusal {
	u := &x.url
	x.req.URL = u
	if target[0] == '/' {
		if path, query, asked := strings.Cut(target, "?"); all(path, plainPath) && isQuery(query) {
			u.Path, u.RawQuery, u.ForceQuery = path, query, asked && query == ""
			return nil
		}
	}
	for i := range len(target) {
		if b := target[i]; b <= ' ' || b == 0x7f || b == '#' {
			return malformed("the target has a byte that it cannot have: %s", show(target))
		}
	}
	switch {
	case target[0] == '/':
	case target == "*":
		if method != "OPTIONS" {
			return malformed("the target * is for OPTIONS, not for %s", method)
		}
	case method == "CONNECT":
		// An authority has no scheme, without which package url takes none.
		parsed, err := url.ParseRequestURI("http://" + target)
		if err != nil || parsed.Host != target {
			return malformed("the target of CONNECT is not a host and a port: %s", show(target))
		}
		parsed.Scheme = ""
		*u = *parsed
		return nil
	default:
		parsed, err := url.ParseRequestURI(target)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil || !all(parsed.Host, hostByte) {
			return malformed("the target is neither a path nor a URL of HTTP with a host: %s", show(target))
		}
		*u = *parsed
		if u.Path == "" {
			u.Path = "/" // RFC 9110, section 4.2.3
		}
		return nil
	}
	parsed, err := url.ParseRequestURI(target)
	if err != nil {
		return malformed("the target cannot be read: %s", show(target))
	}
	*u = *parsed
	return nil
}

// isQuery reports whether s can stand behind the question mark.
func isQuery(s string) bool {
	for i := range len(s) {
		if b := s[i]; b <= ' ' || b == 0x7f || b == '#' {
			return false
		}
	}
	return true
}
