package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire/wire/internal/httpbody"
)

// Conditional requests, RFC 9110, sections 8.8.3 and 13. A reply's entity tag
// is the handler's, or for GET and HEAD a weak one made from its bytes. What a
// request that changes something must match only the handler can know, so its
// preconditions must have fields in the request's message; else the call is
// refused, for a condition that nobody looks at must not count as true.

// conditions are the headers that this wire evaluates or hands to a handler.
// There are no dates, so the others never hold (section 13.1.3).
var conditions = [...]string{"If-Match", "If-None-Match"}

// preconditions returns the request's headers, with entity tags as handlers
// know them, or refuses a condition that cannot be evaluated.
func (x *exchange) preconditions(r *http.Request) (http.Header, *refusal) {
	x.conditional = false
	header, cloned := r.Header, false
	for _, name := range conditions {
		lines := r.Header[name]
		if len(lines) == 0 {
			continue
		}
		if bound := x.endpoint.bindsHeader(name); bound {
			x.conditional = true
		} else if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return nil, refuse(http.StatusPreconditionFailed, codes.FailedPrecondition, "%s: %s has no field for the header %s, so the condition cannot be checked",
				name, x.endpoint.method.FullName(), name)
		}
		if plain, changed := x.h.formats.withoutSuffixes(lines); changed {
			if !cloned {
				header, cloned = maps.Clone(header), true // the request is not ours to change
			}
			header[name] = plain
		}
	}
	return header, nil
}

// entityTag returns the tag of a successful reply, "" if it has none: that of
// the reply's field, or the one that the handler set as metadata, or for reads
// a weak one made from the reply's bytes. What is no entity tag is ignored.
func (x *exchange) entityTag(reads bool) string {
	if tag := x.head.etag; tag != "" {
		return tag
	}
	if md := x.outcome.Header["etag"]; len(md) > 0 && isEntityTag(md[0]) {
		return md[0]
	}
	if !reads || len(x.body) == 0 {
		return ""
	}
	sum := sha256.Sum256(x.body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

// entityTagOf makes an entity tag of a field's text, which may be one already;
// "" if it cannot be made.
func entityTagOf(text string) string {
	if text == "" || isEntityTag(text) {
		return text
	}
	if text = `"` + text + `"`; isEntityTag(text) {
		return text
	}
	return ""
}

// isEntityTag obeys RFC 9110, section 8.8.3, without the bytes above ASCII.
func isEntityTag(s string) bool {
	s = strings.TrimPrefix(s, "W/")
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	for i := range s[1 : len(s)-1] {
		if c := s[1+i]; c <= ' ' || c == '"' || c >= 0x7f {
			return false
		}
	}
	return true
}

// evaluate returns 0 if a read whose reply has the tag is to be answered with
// it, or the status to answer with (section 13.2.2). If-Match asks for the
// state, which is one in all formats; If-None-Match for a body that the client
// has, which must be in the format that it would get.
func (x *exchange) evaluate(r *http.Request, tag string) int {
	if lines := r.Header["If-Match"]; len(lines) > 0 && !x.endpoint.bindsHeader("If-Match") && !matches(lines, tag, x.h.formats.strong) {
		return http.StatusPreconditionFailed
	}
	if lines := r.Header["If-None-Match"]; len(lines) > 0 && matches(lines, x.formatTag(tag), weak) {
		return http.StatusNotModified
	}
	return 0
}

// strong is the comparison of a client's entity tag for If-Match: a weak one is
// equal to none (section 8.8.3.2).
func (fs *formats) strong(theirs, ours string) bool {
	return fs.withoutSuffix(theirs) == ours && !strings.HasPrefix(theirs, "W/")
}

// weak is the comparison for If-None-Match.
func weak(theirs, ours string) bool {
	return strings.TrimPrefix(withoutCoding(theirs), "W/") == strings.TrimPrefix(ours, "W/")
}

// matches reports whether the lines of a header are * or name the tag.
func matches(lines []string, tag string, equal func(theirs, ours string) bool) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) == "*" {
			return true
		}
		for t := range entityTags(line) {
			if equal(t, tag) {
				return true
			}
		}
	}
	return false
}

// entityTags yields the tags of a list. Commas within quotes are part of a tag.
// What is no tag is passed over.
func entityTags(line string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line != "" {
			line = strings.TrimLeft(line, " \t,")
			open := strings.IndexByte(line, '"')
			if open < 0 {
				return
			}
			n := strings.IndexByte(line[open+1:], '"')
			if n < 0 {
				return
			}
			tag := line[:open+n+2]
			line = line[len(tag):]
			if isEntityTag(tag) && !yield(tag) {
				return
			}
		}
	}
}

// A strong tag must differ between representations: between formats (section
// 8.8.1), and between a representation and its encoded form (section 8.8.3.3).
// So that of a format other than JSON gets the format's name at its end, and
// that of an encoded one the coding's, as in "7;cbor;gzip". On the way in they
// are taken off again: to a handler, and to If-Match, they are one.

// formatTag marks a tag as that of a representation in x's format. A weak one
// is good for all, or made from the bytes.
func (x *exchange) formatTag(tag string) string {
	if x.format.isJSON {
		return tag
	}
	return withSuffix(tag, x.format.codec.Name())
}

// suffixTag marks the tag in a header as that of an encoded representation.
func (x *exchange) suffixTag(h http.Header, encoded bool) {
	if tags := h["Etag"]; encoded && x.prefers.Coding != httpbody.Identity && len(tags) > 0 {
		h["Etag"] = []string{withSuffix(tags[0], x.prefers.Coding.String())}
	}
}

func withSuffix(tag, name string) string {
	if tag == "" || strings.HasPrefix(tag, "W/") {
		return tag
	}
	return tag[:len(tag)-1] + ";" + name + `"`
}

// withoutSuffix returns the tag as it was before formatTag and suffixTag.
func (fs *formats) withoutSuffix(tag string) string {
	plain := withoutCoding(tag)
	if rest, name := cutSuffix(plain); name != "" && name != fs.json.codec.Name() && fs.ofCodec(name) != nil {
		return rest
	}
	return plain
}

// withoutCoding returns the tag as it was before suffixTag.
func withoutCoding(tag string) string {
	rest, name := cutSuffix(tag)
	if c, ok := httpbody.ParseCoding(name); ok && c != httpbody.Identity && c.String() == name {
		return rest
	}
	return tag
}

// cutSuffix splits a strong tag before its last semicolon; the name is empty if
// there is none.
func cutSuffix(tag string) (rest, name string) {
	i := strings.LastIndexByte(tag, ';')
	if i < 0 || strings.HasPrefix(tag, "W/") || !strings.HasSuffix(tag, `"`) {
		return tag, ""
	}
	return tag[:i] + `"`, tag[i+1 : len(tag)-1]
}

// withoutSuffixes returns the lines of a header with every tag as a handler
// knows it. Lines without suffixes stay as they are, to the byte.
func (fs *formats) withoutSuffixes(lines []string) (plain []string, changed bool) {
	for i, line := range lines {
		var tags []string
		suffixed := false
		for tag := range entityTags(line) {
			bare := fs.withoutSuffix(tag)
			suffixed = suffixed || bare != tag
			tags = append(tags, bare)
		}
		if !suffixed {
			continue
		}
		if !changed {
			plain, changed = append([]string(nil), lines...), true
		}
		plain[i] = strings.Join(tags, ", ")
	}
	return plain, changed
}
