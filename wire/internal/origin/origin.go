// Package origin says which web pages may call a server: by the origin that a
// browser sends (RFC 6454, section 7), for WebSockets (RFC 6455, section 10.2),
// and for requests from script by CORS (Fetch Standard, section 3.2).
package origin

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A List has the origins of pages from elsewhere that are let in.
type List struct {
	// exact are origins such as https://a.example, hosts those that may come by
	// http and https alike. Both are in lower case, with a port if it is not the
	// scheme's own.
	exact, hosts []string
	any          bool
}

// Parse reads the value of an option origins: origins or hosts with commas
// between, or *.
func Parse(v string) (List, error) {
	var l List
	for _, o := range strings.Split(strings.ToLower(v), ",") {
		scheme, host, ok := strings.Cut(o, "://")
		if !ok {
			scheme, host = "", o
		}
		u, err := url.Parse("//" + host)
		switch {
		case o == "*":
			l.any = true
		case err != nil || u.Host != host || host == "" || ok && scheme != "http" && scheme != "https":
			return List{}, fmt.Errorf("option origins: %q is not an origin such as https://a.example, nor a host such as a.example:8080, nor *", o)
		case ok:
			l.exact = append(l.exact, o)
		default:
			l.hosts = append(l.hosts, host)
		}
	}
	return l, nil
}

// has reports whether an Origin header's value is of the list. "null", that of
// files and sandboxes, is of none that names its members.
func (l *List) has(origin string) bool {
	if l.any {
		return true
	}
	origin = strings.ToLower(origin)
	_, host, ok := strings.Cut(origin, "://")
	return ok && (slices.Contains(l.exact, origin) || slices.Contains(l.hosts, host))
}

// AllowUpgrade checks a request for a WebSocket. A browser lets every page open
// WebSockets to every host, and sends the user's cookies along. Pages of the
// server's own host are let in, and so are programs that are no browsers, which
// send no origin.
func (l *List) AllowUpgrade(r *http.Request) bool {
	origin := r.Header["Origin"]
	if len(origin) == 0 || l.any {
		return true
	}
	u, err := url.Parse(origin[0])
	if len(origin) > 1 || err != nil || u.Host == "" {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || l.has(origin[0])
}

// AllowPost checks a POST without a body, the one request with effects that
// every page may have a browser send, cookies included, without being asked by
// CORS before: a form without fields is enough. (Those with a body have a
// content type, which tells forms.) A browser says by Sec-Fetch-Site whether
// the page is the server's own; those that do not send it send an Origin.
// Programs send neither.
func (l *List) AllowPost(r *http.Request) bool {
	switch site := r.Header["Sec-Fetch-Site"]; {
	case len(site) == 0:
		return l.AllowUpgrade(r)
	case len(site) == 1 && (site[0] == "same-origin" || site[0] == "none"):
		return true
	}
	origin := r.Header["Origin"]
	return l.any || len(origin) == 1 && l.has(origin[0])
}
