package jsonrpc

import (
	"net/http"
	"strings"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// Bare replies: a request of JSON-RPC is posted to the path that is its method's name,
// and what comes back is {"result":…} or {"error":"…"} with a status of HTTP, as some
// clients want it that never look at an id.

const (
	bareErrorHead = `{"error":`
	bareNotFound  = "method not found"
)

// isBare reports whether the target asks for bare replies.
func isBare(options rpc.Options) (bool, error) {
	v, err := checkOption(options, "replies", "envelope", "bare")
	return v == "bare", err
}

// appendBareError writes an error alone.
func appendBareError(dst []byte, message string) []byte {
	if message == "" {
		message = "unknown error"
	}
	return append(appendQuoted(append(dst, bareErrorHead...), message), '}')
}

// barePath is what the paths of methods begin with.
func barePath(path string) string { return strings.TrimSuffix(path, "/") + "/" }

// bare answers what is in x.text, which is one request.
func (h *handler) bareAnswer(w http.ResponseWriter, r *http.Request, who *caller, x *exchange, dst []byte) ([]byte, *rpc.Outcome) {
	if x.text.batch {
		return appendBareError(dst, "a batch has no path: requests are posted one by one, each to the path of its method"), nil
	}
	req := &x.text.requests[0]
	req.bare = true
	if req.invalid != "" {
		return appendBareError(dst, req.invalid), nil
	}
	name, found := strings.CutPrefix(r.URL.Path, barePath(h.path))
	if string(req.method) != discoverMethod || name != discoverMethod {
		entry, unknown := h.service.names.Lookup([]byte(name))
		h.service.resolve(req)
		switch {
		case !found || unknown != nil || req.unknown != nil:
			return appendBareError(dst, bareNotFound), nil
		case entry.Form.Method != req.entry.Form.Method:
			return appendBareError(dst, "the path names "+string(appendQuoted(nil, name))+", the request "+string(appendQuoted(nil, string(req.method)))), nil
		}
	}
	return h.single(w, r, who, req, dst)
}

// unnamed reports whether a request may do without a content type: no page in a browser
// has sent it, which says so.
func unnamed(r *http.Request) bool {
	return len(r.Header["Content-Type"]) == 0 && len(r.Header["Origin"]) == 0 && len(r.Header["Sec-Fetch-Site"]) == 0
}
