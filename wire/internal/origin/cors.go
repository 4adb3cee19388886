package origin

import (
	"errors"
	"net/http"
	"strings"
)

// A Policy answers by CORS for a server: it tells browsers which pages of other
// origins may read the responses, and what they may send. It keeps nobody out
// who is no browser. Access to private networks from public pages is not
// granted. The zero value is off: it does nothing.
type Policy struct {
	on      bool
	origins List
	// credentials lets pages send cookies and the like, and read what comes
	// back. Then every origin is named, with its scheme.
	credentials bool
}

// FromOptions makes the policy of a target's options: origins, as [Parse] reads
// it, and credentials, which is "on" or absent. Without origins it is off.
func FromOptions(options map[string]string) (*Policy, error) {
	v, ok := options["origins"]
	credentials := options["credentials"] == "on"
	if !ok {
		if credentials {
			return nil, errors.New("the option credentials needs origins")
		}
		return &Policy{}, nil
	}
	origins, err := Parse(v)
	if err != nil {
		return nil, err
	}
	if credentials && (origins.any || len(origins.hosts) > 0) {
		return nil, errors.New("with the option credentials every one of origins must be named with its scheme, such as https://a.example")
	}
	return &Policy{true, origins, credentials}, nil
}

const (
	// maxAge is how many seconds a browser need not ask again. Chromium takes no
	// more.
	maxAge = "7200"
	// exposed are the headers that a page with credentials may read, beside those
	// that it always may. Without credentials it may read all.
	exposed = "Etag, Location, Allow, Accept, Retry-After, Www-Authenticate, Idempotency-Replayed, " +
		"Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"
)

// Answer sets what a response says to browsers. It answers a preflight request
// of an allowed origin, and then returns true.
func (p *Policy) Answer(w http.ResponseWriter, r *http.Request) bool {
	if !p.on {
		return false
	}
	h := w.Header()
	if !p.origins.any {
		h["Vary"] = append(h["Vary"], "Origin") // also for those who sent none
	}
	origin := r.Header["Origin"]
	if len(origin) != 1 || !p.origins.has(origin[0]) {
		return false
	}
	allow := origin[0]
	if p.origins.any {
		allow = "*" // and so the response is the same for all, and no credentials count
	}
	h["Access-Control-Allow-Origin"] = []string{allow}
	if p.credentials {
		h["Access-Control-Allow-Credentials"] = []string{"true"}
	}
	verb := r.Header["Access-Control-Request-Method"]
	if r.Method != http.MethodOptions || len(verb) != 1 {
		expose := "*"
		if p.credentials {
			expose = exposed // there * would be a header's name
		}
		h["Access-Control-Expose-Headers"] = []string{expose}
		return false
	}
	// Which verbs and headers there are is answered by the request itself.
	h["Access-Control-Allow-Methods"] = verb
	if names := r.Header["Access-Control-Request-Headers"]; len(names) > 0 {
		h["Access-Control-Allow-Headers"] = []string{strings.Join(names, ", ")}
	}
	h["Access-Control-Max-Age"] = []string{maxAge}
	h["Vary"] = append(h["Vary"], "Access-Control-Request-Method, Access-Control-Request-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// Handler puts the policy before another handler. With a policy that is off it
// is the other handler itself.
func (p *Policy) Handler(next http.Handler) http.Handler {
	if !p.on {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.Answer(w, r) {
			next.ServeHTTP(w, r)
		}
	})
}
