package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/everywire/everywire/describe/page"
	"github.com/everywire/everywire/wire/internal/httpbody"
)

// An asset is a document or a file that the server has of its own.
type asset struct {
	contentType string
	tag         string // the entity tag without quotes
	body        []byte

	mu      sync.Mutex
	encoded map[httpbody.Coding][]byte // the body in the codings that were asked for
}

func newAsset(contentType string, body []byte) *asset {
	sum := sha256.Sum256(body)
	return &asset{contentType: contentType, tag: hex.EncodeToString(sum[:12]), body: body, encoded: map[httpbody.Coding][]byte{}}
}

// as returns the body in a coding, which is made once.
func (a *asset) as(c httpbody.Coding) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.encoded[c]; !ok {
		a.encoded[c] = c.Append(nil, a.body)
	}
	return a.encoded[c]
}

// serve answers a GET or HEAD with the asset. net/http does the rest: it compares
// entity tags and cuts out ranges.
func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	header, body, tag := w.Header(), a.body, a.tag
	if accept := r.Header["Accept-Encoding"]; len(accept) > 0 && len(body) >= httpbody.MinSize {
		if coding := httpbody.Accepted(accept).Coding; coding != httpbody.Identity {
			body, tag = a.as(coding), tag+";"+coding.String()
			header["Content-Encoding"] = coding.Header()
			header.Set("Content-Length", strconv.Itoa(len(body)))
		}
	}
	header.Set("Content-Type", a.contentType)
	header.Set("Etag", `"`+tag+`"`)
	header.Add("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache") // ask each time, by the entity tag
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Security-Policy", page.Policy)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
