package target

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/everywire/everywire/lab/data"
	"github.com/everywire/everywire/lab/scenario"
)

// A Request is what an HTTP connection's Invoke takes.
type Request struct {
	Method string
	// Path is the request's target: path and query.
	Path   []byte
	Header []HeaderField
	Body   []byte
	// HasBody is set if there is one, which may be empty.
	HasBody bool
	// KeepBody is set if the reply's body is looked at.
	KeepBody bool
	// Statuses are those that are right. With another the call fails with a [BadStatus].
	Statuses Statuses
}

// A HeaderField is one line of a header.
type HeaderField struct {
	Name  string
	Value []byte
}

// A Response is what comes back.
type Response struct {
	Status int
	// Body is the beginning of the body, all of it if the request said KeepBody.
	Body []byte
}

// check is the error of a reply that is not right by its status.
func (r *Response) check(want Statuses) error {
	if want.has(r.Status) {
		return nil
	}
	return &BadStatus{Status: r.Status, Excerpt: string(r.Body[:min(len(r.Body), excerpt)]), Want: want.String()}
}

// A BadStatus is the error of a reply with a status that is not right. It is an error
// of its own kind in reports, such as "HTTP 503".
type BadStatus struct {
	Status int
	// Excerpt is the beginning of the reply's body.
	Excerpt string
	Want    string
}

func (e *BadStatus) Error() string {
	text := fmt.Sprintf("HTTP %d, want %s", e.Status, e.Want)
	if e.Excerpt != "" {
		text += ": " + strconv.Quote(e.Excerpt)
	}
	return text
}

// Kind is what reports count the error under.
func (e *BadStatus) Kind() string { return "HTTP " + strconv.Itoa(e.Status) }

// An HTTPTarget is a URL, taken apart.
type HTTPTarget struct {
	TLS bool
	// Host is host:port, for the socket; Authority is what the header Host says.
	Host, Authority string
	// Path is the rest, a template.
	Path string
	// at is where it begins in the URL.
	at int
}

// IsHTTP reports whether a target is a URL of HTTP.
func IsHTTP(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// ParseHTTP takes a URL apart. Its path and query may have placeholders.
func ParseHTTP(target string) (*HTTPTarget, error) {
	scheme, rest, _ := strings.Cut(target, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	t := &HTTPTarget{TLS: strings.EqualFold(scheme, "https"), Authority: authority, Path: path, at: len(target) - len(path)}
	switch {
	case strings.Contains(authority, "{{"):
		return nil, fmt.Errorf("%s: the host must be the same for all calls: placeholders stand in the path and the query", target)
	case strings.Contains(authority, "@"):
		// The URL stands in records and reports.
		return nil, fmt.Errorf("a URL must not hold a password: give it as a header, such as -H 'Authorization: Basic {{env \"CREDENTIALS\"}}'")
	case strings.Contains(path, "#"):
		return nil, fmt.Errorf("%s: what follows # is not sent: write it as %%23 if it is meant", target)
	}
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%s: it has no host, as http://localhost:8080/path has", target)
	}
	port := u.Port()
	if port == "" {
		port = "80"
		if t.TLS {
			port = "443"
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("%s: the port is a number up to 65535", target)
	}
	t.Host = u.Hostname() + ":" + port
	if strings.Contains(u.Hostname(), ":") {
		t.Host = "[" + u.Hostname() + "]:" + port
	}
	if t.Path == "" || t.Path[0] == '?' {
		t.Path = "/" + t.Path
	}
	return t, nil
}

// Text is the target's own path, for a scenario's operation.
func (t *HTTPTarget) Text() scenario.Text {
	return scenario.Text{Text: t.Path, From: data.Origin{Name: "the URL", Line: 1, Column: 1 + t.at}}
}

// bodyPlace is what a body is, by its media type.
func bodyPlace(contentType string) data.Place {
	media, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	media = strings.TrimSpace(media)
	switch {
	case media == "application/x-www-form-urlencoded":
		return data.InURL
	case media == "application/json", strings.HasSuffix(media, "+json"), media == "application/json-rpc", media == "application/jsonrequest":
		return data.InJSON
	}
	return data.InText
}

// guessType is the media type of a body of which nobody has said what it is.
func guessType(body string) string {
	if text := strings.TrimLeft(body, " \t\r\n"); text != "" && (text[0] == '{' && !strings.HasPrefix(text, "{{") || text[0] == '[') {
		return "application/json"
	}
	return "text/plain; charset=utf-8"
}

// isToken reports whether a text is a token of HTTP (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}
