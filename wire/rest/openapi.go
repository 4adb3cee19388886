package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/describe/page"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// documents are what the server says of itself: the OpenAPI document and the
// page that shows it. They answer where no route matches, so that they are
// never in the way of one.
type documents struct {
	cfg     *rpc.ServerConfig
	prefix  string            // of the server's target
	openAPI string            // the document's path below it, "" if it is not served
	docs    string            // the page's
	files   map[string]*asset // the page and what it loads, by path below the prefix

	mu      sync.Mutex
	methods int // how many the documents were made from
	made    map[variant]*asset
}

// A variant tells apart the documents that one server makes.
type variant struct{ version, server string }

// maxVariants bounds what is kept: whoever mounts the handler below paths that
// vary has a document for each.
const maxVariants = 16

// documentsOf reads the target's options openapi and docs. Without the document
// there is nothing that the page could show.
func documentsOf(cfg *rpc.ServerConfig) (*documents, error) {
	d := &documents{cfg: cfg, prefix: strings.TrimSuffix(cfg.Path, "/"), files: map[string]*asset{}, made: map[variant]*asset{}}
	var err error
	if d.openAPI, err = documentPath(cfg.Options, "openapi", "/openapi.json"); err != nil {
		return nil, err
	}
	docs, err := documentPath(cfg.Options, "docs", "/docs")
	switch {
	case err != nil:
		return nil, err
	case docs == "", d.openAPI == "" && cfg.Options["docs"] == "":
		return d, nil
	case d.openAPI == "":
		return nil, fmt.Errorf("the option docs=%s needs the OpenAPI document, which openapi=off turns off", cfg.Options["docs"])
	case docs == d.openAPI || strings.HasPrefix(d.openAPI, docs+"/"):
		return nil, fmt.Errorf("the OpenAPI document cannot be at %s, where the page and its files are", d.openAPI)
	}
	d.docs = docs
	// Relative references hold also where the handler is mounted below a path
	// that it does not know.
	toDocument := strings.Repeat("../", strings.Count(docs, "/")-1) + d.openAPI[1:]
	index := page.Index(toDocument, path.Base(docs)+"/")
	d.files[docs] = newAsset(index.ContentType, index.Content)
	for _, f := range page.Files() {
		d.files[docs+"/"+f.Name] = newAsset(f.ContentType, f.Content)
	}
	return d, nil
}

// documentPath reads an option that is on, off or a path.
func documentPath(options rpc.Options, name, byDefault string) (string, error) {
	switch v := options[name]; {
	case v == "" || v == "on":
		return byDefault, nil
	case v == "off":
		return "", nil
	case v[0] == '/' && v != "/" && path.Clean(v) == v && (&url.URL{Path: v}).EscapedPath() == v:
		return v, nil
	default:
		return "", fmt.Errorf("the option %q cannot be %q: it is on, off, or a path such as %s", name, v, byDefault)
	}
}

// serve answers a request for one of the documents. It reports whether it is
// one.
func (d *documents) serve(w http.ResponseWriter, r *http.Request) bool {
	below, ok := strings.CutPrefix(r.URL.EscapedPath(), d.prefix)
	if !ok || below == "" {
		return false
	}
	a, isDocument := d.files[below], below == d.openAPI
	if d.docs != "" && below == d.docs+"/" {
		w.Header().Set("Location", "../"+path.Base(d.docs))
		w.WriteHeader(http.StatusPermanentRedirect)
		return true
	}
	if a == nil && !isDocument {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusNoContent)
		return true
	default:
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		writeProblem(w, r, http.StatusMethodNotAllowed, status.Newf(codes.Unimplemented, "%s is not allowed on %s: use GET", r.Method, r.URL.EscapedPath()))
		return true
	}
	if isDocument {
		var err error
		if a, err = d.document(r, below); err != nil {
			writeProblem(w, r, http.StatusBadRequest, status.New(codes.InvalidArgument, err.Error()))
			return true
		}
	}
	a.serve(w, r)
	return true
}

// document returns the OpenAPI document as the request asks for it. It is made
// once, and anew when methods were added.
func (d *documents) document(r *http.Request, below string) (*asset, error) {
	key := variant{r.URL.Query().Get("version"), d.server(r, below)}
	methods := d.cfg.Registry.Methods()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(methods) > d.methods || len(d.made) >= maxVariants {
		clear(d.made)
		d.methods = len(methods)
	}
	if a := d.made[key]; a != nil {
		return a, nil
	}
	// Routes that are in error are left out, as the router leaves them out and
	// logs.
	text, err := describe.OpenAPI(methods, describe.Options{OpenAPI: key.version, Server: key.server})
	if text == nil {
		return nil, err
	}
	a := newAsset(jsonType, text)
	d.made[key] = a
	return a, nil
}

// server is the path that all routes are below, as the client sees it: a handler
// that is mounted by http.StripPrefix gets less of the path in the URL than the
// request line had.
func (d *documents) server(r *http.Request, below string) string {
	full := r.URL.Path
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		full = u.Path
	}
	base, ok := strings.CutSuffix(full, below)
	if !ok || strings.HasPrefix(base, "//") { // that would name another host
		base = d.prefix
	}
	return (&url.URL{Path: base}).EscapedPath()
}
